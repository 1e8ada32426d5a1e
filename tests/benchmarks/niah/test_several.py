"""Several needles: no reader gets far who does not know which value belongs to what, and nothing wraps around."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from tests.benchmarks.factory import make

from ragstone.benchmarks.niah.benchmark import expand_query, rng_for
from ragstone.benchmarks.niah.needles import make_needle
from ragstone.errors import UsageError
from ragstone.metrics.needle import NeedleFound
from ragstone.types import Case, Response

GRID: dict[str, Any] = {"lengths": "1500,3000", "depths": "0:100:5", "control": "none"}
KINDS: dict[str, dict[str, Any]] = {
    "multi": {"needles": ["multi"]},
    "multi, all asked for": {"needles": ["multi"], "keys": 3, "queries": 3},
    "multi, one asked for": {"needles": ["multi"], "queries": 1, "values": 2},
    "distractor": {"needles": ["distractor"]},
    "chain": {"needles": ["chain"], "hops": (2, 4)},
}


def contexts(language: str, **options: Any) -> list[tuple[Case, str]]:
    made = make("niah", data_languages=[language], **{**GRID, **options})
    found = []
    for case in made.cases():
        passages = expand_query(case.query, made.haystacks or {}).passages or ()
        found.append((case, passages[0].text))
    return found


def mean(language: str, reader: Callable[[Case, str], str], **options: Any) -> float:
    scores = [
        NeedleFound().score(case, Response(reader(case, text))).value or 0.0
        for case, text in contexts(language, **options)
    ]
    return sum(scores) / len(scores)


def every_number(_: Case, text: str) -> str:
    return ", ".join(re.findall(r"\d{7}", text))


def every_sentence(_: Case, text: str) -> str:
    return "\n".join(re.findall(r"[^.。\n]*\d{7}[^.。\n]*", text))


def first_number(_: Case, text: str) -> str:
    return str(re.findall(r"\d{7}", text)[0])


def careful(case: Case, text: str) -> str:
    keys = case.sample.meta["keys"]
    return "\n".join(f"{key}: {slot[0]}" for key, slot in zip(keys, case.sample.references, strict=True))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_that_prints_every_number_scores_no_more_than_a_guess(language: str, kind: str) -> None:
    chance = {"multi": 0.0, "multi, all asked for": 0.0, "multi, one asked for": 0.25}.get(kind, 0.25)
    assert mean(language, every_number, **KINDS[kind]) <= chance
    assert mean(language, careful, **KINDS[kind]) == 1.0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_reader_that_copies_every_sentence_with_a_number_does_not_score_either(language: str) -> None:
    assert mean(language, every_sentence, **KINDS["multi"]) <= 0.5
    assert mean(language, every_sentence, **KINDS["distractor"]) <= 0.25
    assert mean(language, every_sentence, **KINDS["chain"]) <= 0.25


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_number_of_a_context_is_no_better_than_another(language: str) -> None:
    more = {"depths": "0:100:21", "lengths": "2000"}
    assert mean(language, first_number, **KINDS["chain"], **more) < 0.6
    assert mean(language, first_number, **KINDS["multi, one asked for"], **more) <= 0.5


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_links_of_a_chain_keep_their_order_and_their_distance(language: str) -> None:
    options = {"needles": ["chain"], "hops": (2, 5), "hop": (0.05, 0.2), "distractors": 1, "lengths": "6000"}
    seen = set()
    for case, text in contexts(language, **options):
        hops, hop = re.findall(r"=([\d.]+)", str(case.condition["variant"]))[:2]
        links = [needle for needle in _recipe(case)["needles"] if needle in _links(case)]
        assert len(links) == int(hops)
        places = [text.index(link) for link in links]
        assert places == sorted(places)
        assert links == _links(case)
        gaps = [(after - before) / len(text) for before, after in pairwise(places)]
        assert gaps == pytest.approx([float(hop)] * len(gaps), abs=0.05)
        seen.add((hops, hop))
    assert seen == {("2", "0.05"), ("2", "0.2"), ("5", "0.05"), ("5", "0.2")}


def _recipe(case: Case) -> dict[str, Any]:
    return dict((case.query.passages or ())[0].meta["recipe"])


def _links(case: Case) -> list[str]:
    """The chain of the city that is asked for, link by link, by the names that it passes."""
    needles, city = list(_recipe(case)["needles"]), case.sample.meta["keys"][0]
    link = next(needle for needle in needles if city in needle)
    chain = [link]
    while not re.search(r"\d{7}", link):
        name = re.search(r"(?:letter to|on to|交给了) ?(.+?)[.。]", link)
        assert name is not None
        link = next(needle for needle in needles if needle != link and name[1] in needle)
        chain.append(link)
    return chain


@pytest.mark.parametrize("kind", ["multi", "chain"])
def test_nothing_wraps_around_the_depth_axis(kind: str) -> None:
    """The further down the axis, the further down each needle; 0 begins with the context, and 100 ends with it."""
    by_depth = {}
    more = {"distractors": 0} if kind == "chain" else {}
    for case, text in contexts("en", needles=[kind], lengths="4000", depths="0:100:11", **more):
        places = sorted(text.index(needle) / len(text) for needle in _recipe(case)["needles"])
        by_depth[case.condition["depth"]] = places
    depths = sorted(by_depth)
    for before, after in pairwise(depths):
        assert all(first < second for first, second in zip(by_depth[before], by_depth[after], strict=True))
    assert by_depth[0.0][0] == 0.0
    assert by_depth[100.0][-1] > 0.95


def test_the_order_of_several_needles_says_nothing_of_the_questions_order() -> None:
    in_order = [
        [str(_recipe(case)["needles"]).index(slot[0]) for slot in case.sample.references]
        for case, _ in contexts("en", needles=["multi"], keys=2, depths="0:100:21")
    ]
    assert 0.25 < sum(places == sorted(places) for places in in_order) / len(in_order) < 0.75


def test_more_than_can_be_placed_is_refused_with_the_number_that_can() -> None:
    with pytest.raises(UsageError, match=r"--distractors 100: .* at most 63"):
        make_needle("distractor", "en", rng_for(0), distractors=100)
    with pytest.raises(UsageError, match="at most 64 keys"):
        make_needle("multi", "zh", rng_for(0), keys=65)
    with pytest.raises(UsageError, match=r"Length 600.* at most [0-9]+ of the 64 needles"):
        make("niah", lengths="600", depths="50", needles=["distractor"], distractors=63)
    with pytest.raises(UsageError, match=r"--hop 0\.2: a chain of 8 hops .* at most 0\.14"):
        make("niah", lengths="6000", depths="50", needles=["chain"], hops=(8,), hop=(0.2,))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("hops", range(2, 9))
def test_a_chain_of_2_to_8_hops_has_one_way_through(language: str, hops: int) -> None:
    (case, _), *_ = contexts(language, needles=["chain"], hops=(hops,), lengths="6000", depths="50")
    chain = _links(case)
    assert len(chain) == hops
    assert case.sample.references[0][0] in chain[-1]
    assert len(_recipe(case)["needles"]) == 4 * hops
