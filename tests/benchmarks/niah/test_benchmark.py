"""Cells of a needle run: within their length by a real count, each needle once, the same bytes again, in an order that
shares prompts."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.factory import make

from ragstone.benchmarks.niah.benchmark import NIAH, expand_query, rng_for
from ragstone.benchmarks.niah.make import grid_of
from ragstone.benchmarks.niah.needles import KINDS, cities, make_needle
from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.text import estimate_tokens, words
from ragstone.types import Case

SMALL: dict[str, Any] = {"lengths": "600,1200", "depths": "0:100:5"}


def prompts(made: NIAH) -> list[tuple[Case, str]]:
    found = []
    for case in made.cases():
        turns = made.template.messages(expand_query(case.query, made.haystacks or {}))
        found.append((case, "\n".join(turn.content for turn in turns)))
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "file"])
def test_every_prompt_holds_its_needles_once_and_the_control_none(language: str, kind: str) -> None:
    more = {"distractors": 1} if kind == "chain" else {}
    made = make(
        "niah", data_languages=[language], needles=[kind], templates=["simple", "anthropic-rev2"], **SMALL, **more
    )
    held = prompts(made)
    assert len(held) == 2 * (2 * 5 + 2)
    for case, text in held:
        passages = case.query.passages or ()
        needles = passages[0].meta["recipe"]["needles"]
        assert case.condition["length"] in (600, 1200)
        assert estimate_tokens(text) + 128 <= int(case.condition["length"]) * 1.02
        assert int(case.condition["length_reached"]) + 128 <= int(case.condition["length"])
        for needle in needles:
            assert text.count(needle) == 1
        assert bool(needles) is (case.condition["ability"] == "needle")
        assert bool(case.sample.references) is bool(needles)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_numbers() -> None:
    first, again = (prompts(make("niah", **SMALL)) for _ in range(2))
    other = prompts(make("niah", **SMALL, seed=1))
    assert [text for _, text in first] == [text for _, text in again]
    assert [case.id for case, _ in first] == [case.id for case, _ in other]
    assert {text for _, text in first}.isdisjoint(text for case, text in other if case.condition["ability"] == "needle")


def test_a_cell_does_not_depend_on_the_rest_of_the_grid() -> None:
    few = {case.id: text for case, text in prompts(make("niah", lengths="1200", depths="0,50"))}
    many = {case.id: text for case, text in prompts(make("niah", lengths="600,1200,2400", depths="0:100:5"))}
    assert few.items() <= many.items()


def test_every_cell_has_a_number_of_its_own_that_is_not_in_the_haystack() -> None:
    made = make("niah", **SMALL, repeat=2)
    numbers = Counter(case.sample.references[0][0] for case in made.cases() if case.sample.references)
    assert max(numbers.values()) == 1
    assert all(len(number) == 7 for number in numbers)
    assert made.haystacks is not None
    assert not any(number in hay.text for number in numbers for hay in made.haystacks.values())


def test_repeats_begin_their_haystack_elsewhere() -> None:
    made = make("niah", lengths="1200", depths="100", repeat=2, control="none")
    first, second = (text for _, text in sorted(prompts(made), key=lambda one: one[0].id))
    assert first[300:600] != second[300:600]


def test_each_prompt_shares_what_stands_before_its_needle_with_the_one_before() -> None:
    made = make("niah", lengths="1000,2000,4000", depths="0:100:11", control="none", lanes=1)
    texts = [text for _, text in prompts(made)]
    whole = sum(map(len, texts))
    evaluated = len(texts[0])
    for before, after in pairwise(texts):
        evaluated += len(after) - same_beginning(before, after)
    assert evaluated / whole < 0.60  # 0.56 of tokens is the goal of long contexts; these have a large template


def same_beginning(text: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))


def test_a_dry_run_counts_as_cached_what_prompts_before_begin_with_too() -> None:
    made = make("niah", lengths="1000,2000,4000", depths="0:100:5", templates=["simple", "anthropic-rev2"], lanes=2)
    before: dict[tuple[str, Any], list[str]] = {}
    counted = 0
    for case, text in prompts(made):
        group = before.setdefault((case.lane, case.condition["template"]), [])
        shared = max((same_beginning(text, other) for other in group), default=0)
        tokens = made.cached_tokens(case)
        assert tokens <= 1.1 * estimate_tokens(text[:shared]) + 20
        counted += tokens
        group.append(text)
    assert counted > 0.15 * sum(made.prompt_tokens(case) for case in made.cases())


def test_lanes_are_runs_of_that_order() -> None:
    one = [case.id for case in make("niah", **SMALL, lanes=1).cases()]
    several = list(make("niah", **SMALL, lanes=4).cases())
    assert [case.id for case in several] == one
    lanes = [case.lane for case in several]
    assert len(set(lanes)) == 4
    assert lanes == sorted(lanes)


def test_a_large_grid_is_planned_without_its_texts() -> None:
    made = make("niah", lengths="1k:200k:35", depths="0:100:35")
    assert made.size == 35 * 35 + 35
    case: Case = next(iter(made.cases()))
    passages = case.query.passages or ()
    assert passages[0].text == ""
    assert made.prompt_tokens(case) > 190_000
    assert len(json.dumps(passages[0].meta)) < 1_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1k:4k:4", (1000, 2000, 3000, 4000)), ("500, 1.5k", (500, 1500)), ("0:100:3", (0, 50, 100)), ("7", (7,))],
)
def test_grids_are_ranges_or_lists(text: str, expected: tuple[float, ...]) -> None:
    assert grid_of(text, what="lengths", low=0, high=10_000) == expected


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"depths": "0,101"}, "101 is not between 0 and 100"),
        ({"depths": "-1"}, "-1 is not between 0 and 100"),
        ({"lengths": "many"}, "expected numbers"),
        ({"lengths": "1k:2k:0"}, "the count 0 is not between 1 and 10,000"),
        ({"lengths": "nan"}, "expected numbers"),
        ({"lengths": "10"}, "10 is not between 50"),
        ({"lengths": "200"}, "Length 200, template simple: .* no room for even one sentence"),
        ({"depths": "-5:50:3"}, "-5 is not between 0 and 100"),
        ({"needle_file": Path("needles.jsonl")}, "without --needle file"),
        ({"lengths": "64k", "window": 8192}, "exceeds the window of 8,192"),
        ({"needles": ["nedle"]}, "No needle named"),
        ({"needles": ["file"]}, "--needle-file"),
        ({"templates": ["simpel"]}, "Did you mean 'simple'"),
        ({"data_languages": ["fr"]}, "No language named"),
        ({"haystack_source": "nowhere"}, "no such folder"),
        ({"repeat": 0}, "repeat: 0 is not in the range"),
        ({"needles": ["multi"], "keys": 2, "queries": 3}, "no more queries than keys"),
    ],
)
def test_bad_options_are_one_clear_line(options: dict[str, Any], told: str) -> None:
    with pytest.raises((UsageError, UnknownName), match=told) as caught:
        make("niah", **({"lengths": "1000", "depths": "50"} | options))
    assert "\n" not in str(caught.value)


def test_a_needle_that_is_longer_than_its_context_is_told(tmp_path: Path) -> None:
    row = {"needle": "A very long needle, " * 400, "question": "What?", "answer": "long"}
    (tmp_path / "needles.jsonl").write_text(json.dumps(row))
    with pytest.raises(UsageError, match=r"1,000.*no room for even one sentence .* beside the needle"):
        make("niah", lengths="1000", depths="50", needles=["file"], needle_file=tmp_path / "needles.jsonl")


@pytest.mark.parametrize("name", ["", " ", "a/b", r"a\nb"])
def test_a_template_has_a_name_that_ids_can_hold(name: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(f'name = "{name}"\nuser = "{{context}} {{question}}"\n')
    with pytest.raises(DataError, match="field 'name'"):
        make("niah", lengths="1000", depths="50", templates=[str(tmp_path / "own.toml")])


def test_two_templates_of_one_name_are_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "simple.txt").write_text("{context} {question}")
    with pytest.raises(UsageError, match="another template is also called 'simple'"):
        make("niah", lengths="1000", depths="50", templates=["simple", str(tmp_path / "simple.txt")])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_there_are_cities_enough(language: str) -> None:
    assert len(set(cities(language))) >= 60


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_paraphrase_shares_no_word_with_its_question(language: str) -> None:
    for number in range(30):
        asked = make_needle("paraphrase", language, rng_for(number))
        asked_words, told = set(words(asked.question, language)), set(words(asked.needles[0], language))
        assert not asked_words & told - {
            "the",
            "has",
            "been",
            "to",
            "which",
            "person",
            "in",
            "of",
            "a",
            "去",
            "过",
            "谁",
        }
