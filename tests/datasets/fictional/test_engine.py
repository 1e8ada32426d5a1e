"""What every generated data set promises, in every language: the invariants that scoring rests on, the same bytes for
the same seed anywhere, streaming, and passages that differ."""

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.fictional.engine import flaw, language
from ragstone.datasets.fictional.parts import Document, GeneratedItem
from ragstone.errors import UnknownName, UsageError
from ragstone.text import estimate_tokens, find_answer, words

LANGUAGES = ["en", "zh"]
INVENTED = ["en", "en_int", "zh", "zh_int"]
KINDS = {"plain", "brief", "far", "rumour", "other_year", "other_category", "related"}
Row = dict[str, Any]


def slots(row: Row) -> list[list[str]]:
    """The row's slots of aliases, as any reader of the official format takes them."""
    answer = row["answer"]
    found = [answer] if isinstance(answer, str) else answer
    return [[slot] if isinstance(slot, str) else slot for slot in found]


def positives(row: Row) -> list[list[str]]:
    groups = row["positive"]
    return groups if isinstance(groups[0], list) else [groups]


def passages(row: Row) -> list[str]:
    return [*itertools.chain(*positives(row)), *row["negative"]]


def states(text: str, alias: str, code: str) -> bool:
    """By the official rule or by ragstone's."""
    return alias.lower() in text.lower() or bool(find_answer(alias, text, code))


def rows(name: str, size: int, seed: int = 0) -> list[Row]:
    return list(fictional_rgb(name, seed=seed, size=size, difficulty="easy"))


@cache
def many(name: str) -> list[Row]:
    """Four hundred rows, which several tests read."""
    return rows(name, 400)


@pytest.fixture(scope="module", params=INVENTED)
def invented(request: pytest.FixtureRequest) -> tuple[str, list[Row]]:
    """Rows of several seeds of one invented set."""
    name = request.param
    return name, [row for seed in (0, 1, 2333) for row in rows(name, 40, seed)]


def test_every_positive_states_its_answer_by_both_rules(invented: tuple[str, list[Row]]) -> None:
    name, found = invented
    for row in found:
        groups, wanted = positives(row), slots(row)
        for number, group in enumerate(groups):
            for text, slot in itertools.product(group, wanted if len(groups) == 1 else [wanted[number]]):
                assert any(a.lower() in text.lower() and find_answer(a, text, name[:2]) for a in slot), (slot, text)


def test_no_negative_states_any_answer_by_either_rule(invented: tuple[str, list[Row]]) -> None:
    name, found = invented
    for row in found:
        for text, slot in itertools.product([row["query"], *row["negative"]], slots(row)):
            assert not any(states(text, alias, name[:2]) for alias in slot), (slot, text)


@pytest.mark.parametrize("name", ["en_int", "zh_int"])
def test_a_passage_of_one_group_never_states_the_answer_of_another(name: str) -> None:
    for row in many(name)[:60]:
        wanted = slots(row)
        assert len(wanted) == len(row["positive"]) == 2
        for number, group in enumerate(row["positive"]):
            for text in group:
                assert not any(states(text, alias, name[:2]) for alias in wanted[1 - number]), (wanted, text)


def test_a_row_has_enough_documents_for_any_noise_ratio(invented: tuple[str, list[Row]]) -> None:
    name, found = invented
    for row in found:
        if name.endswith("_int"):
            assert min(map(len, row["positive"])) >= 3
            assert len(row["negative"]) >= 5
            assert [row["answer1"], row["answer2"]] == row["answer"]
        else:
            assert len(row["positive"]) >= 5
            assert len(row["negative"]) >= 8


def test_every_passage_carries_its_kind(invented: tuple[str, list[Row]]) -> None:
    name, found = invented
    counts: Counter[str] = Counter()
    for row in found:
        keys = [f"negative:{number}" for number in range(len(row["negative"]))]
        if name.endswith("_int"):
            keys += [
                f"positive:{at}:{number}" for at, group in enumerate(row["positive"]) for number in range(len(group))
            ]
        else:
            keys += [f"positive:{number}" for number in range(len(row["positive"]))]
        assert set(row["kinds"]) == set(keys)
        counts.update(row["kinds"].values())
    assert set(counts) <= KINDS
    total = sum(counts.values())
    for kind in ("plain", "brief", "far", "rumour", "other_year", "related"):
        assert counts[kind] / total > 0.05, (kind, counts)
    assert name.endswith("_int") or counts["other_category"] / total > 0.05


@pytest.mark.parametrize("name", ["en", "zh"])
def test_a_far_passage_gives_its_answer_late(name: str) -> None:
    places = []
    for row in many(name)[:80]:
        for number, text in enumerate(row["positive"]):
            if row["kinds"][f"positive:{number}"] == "far":
                at = [text.lower().find(alias.lower()) for slot in slots(row) for alias in slot]
                places.append(min(place for place in at if place >= 0) / len(text))
    assert sum(place > 0.4 for place in places) / len(places) > 0.9


@pytest.mark.parametrize("name", INVENTED)
def test_the_domains_are_many_and_all_occur(name: str) -> None:
    domains = language(name[:2]).names
    assert len(domains) >= 8
    assert {row["domain"] for row in many(name)[:200]} == set(domains)


def test_passages_are_of_the_length_of_news(invented: tuple[str, list[Row]]) -> None:
    _, found = invented
    lengths = [estimate_tokens(text) for row in found for text in passages(row)]
    assert sum(60 <= length <= 300 for length in lengths) / len(lengths) > 0.95
    assert min(lengths) >= 35
    assert max(lengths) <= 330
    spread = sorted(lengths)
    assert spread[len(spread) * 9 // 10] > 2 * spread[len(spread) // 10]


def test_passages_of_a_row_repeat_little_of_each_other(invented: tuple[str, list[Row]]) -> None:
    name, found = invented
    shares = []
    for row in found[:60]:
        grams = [set(ngrams(text, name[:2], 5)) for text in passages(row)]
        shares += [len(one & two) / max(1, min(len(one), len(two))) for one, two in itertools.combinations(grams, 2)]
    assert sum(share > 0.4 for share in shares) / len(shares) < 0.002
    assert max(shares) < 0.6


def test_rows_do_not_share_a_skeleton(invented: tuple[str, list[Row]]) -> None:
    name, found = invented
    counts = Counter(gram for row in found[:60] for text in passages(row) for gram in set(ngrams(text, name[:2], 4)))
    assert len(counts) / counts.total() > 0.4
    openings = Counter(text[:12] for row in found for text in positives(row)[0])
    assert openings.most_common(1)[0][1] / openings.total() < 0.1


def ngrams(text: str, code: str, size: int) -> Iterator[tuple[str, ...]]:
    found = words(text, code)
    return (tuple(found[at : at + size]) for at in range(len(found) - size + 1))


@pytest.mark.parametrize("name", INVENTED)
def test_no_question_is_asked_twice(name: str) -> None:
    asked = [row["query"] for row in many(name)]
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("name", [*INVENTED, "en_fact", "zh_fact"])
def test_a_larger_set_goes_on_where_the_smaller_ended(name: str) -> None:
    assert list(itertools.islice(fictional_rgb(name, size=10_000, difficulty="easy"), 50)) == rows(name, 50)


@pytest.mark.parametrize("name", ["en", "zh", "en_fact", "zh_fact"])
def test_seeds_give_different_sets(name: str) -> None:
    assert rows(name, 5, 1) != rows(name, 5, 2)


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_refined_set_is_the_plain_one(code: str) -> None:
    assert rows(f"{code}_refine", 5) == rows(code, 5)


@pytest.mark.parametrize("code", LANGUAGES)
def test_default_sizes_are_those_of_the_official_files(code: str) -> None:
    sizes = [sum(1 for _ in fictional_rgb(f"{code}{testbed}")) for testbed in ("_int", "_fact")]
    assert sizes == [100, 100]


PRINT = """
import json, sys
from ragstone.datasets.fictional import fictional_rgb
for name in sys.argv[1:]:
    for row in fictional_rgb(name, seed=11, size=6):
        print(json.dumps(row))
"""


def test_another_process_with_another_hash_seed_makes_the_same_bytes() -> None:
    names = [*INVENTED, "en_fact", "zh_fact"]
    outputs = []
    for hash_seed in ("1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run([sys.executable, "-c", PRINT, *names], env=environment, capture_output=True, check=True)
        outputs.append(run.stdout)
    here = "".join(json.dumps(row) + "\n" for name in names for row in fictional_rgb(name, seed=11, size=6))
    assert outputs[0] == outputs[1] == here.encode()


def test_an_unknown_set_is_named_with_the_nearest_spelling() -> None:
    with pytest.raises(UnknownName, match="en_fact"):
        fictional_rgb("en_facts")


def test_a_negative_size_is_refused_before_the_first_row() -> None:
    with pytest.raises(UsageError, match="-1"):
        fictional_rgb("en", size=-1)


def item(positive: str, negative: str, query: str = "Who won?") -> GeneratedItem:
    return GeneratedItem(
        query, (("Ada Vell", "Vell"),), ((Document(positive, "plain"),),), (Document(negative, "related"),), "x"
    )


@pytest.mark.parametrize(
    ("positive", "negative", "problem"),
    [
        ("Ada Vell won the cup.", "Nobody said who had won.", ""),
        ("Someone won the cup.", "Nobody said who had won.", "without its answer"),
        ("The cup went to Adavellia.", "Nobody said who had won.", "without its answer"),
        ("Ada Vell won the cup.", "The mayor thanked VELL.", "negative that holds"),
        ("Ada Vell won the cup.", "A novella was read aloud.", "negative that holds"),
        ("Ada Vell won the cup.", "Ada Vell won the cup.", "negative that holds"),
    ],
)
def test_a_flawed_item_is_found_out(positive: str, negative: str, problem: str) -> None:
    assert problem in flaw(item(positive, negative), "en")
    assert bool(flaw(item(positive, negative), "en")) == bool(problem)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["en", "zh"])
def test_ten_thousand_questions_are_sound_and_all_different(name: str) -> None:
    asked = set()
    for row in fictional_rgb(name, seed=1, size=10_000):
        asked.add(row["query"])
        assert len(row["positive"]) >= 5
    assert len(asked) == 10_000


@pytest.mark.parametrize("name", ["en_fact", "zh_fact"])
def test_every_counterfactual_passage_carries_its_kind(name: str) -> None:
    for row in fictional_rgb(name, size=5):
        places = {"positive": row["positive"], "wrong": row["positive_wrong"], "negative": row["negative"]}
        expected = {f"{field}:{place}" for field, texts in places.items() for place in range(len(texts))}
        assert row["kinds"].keys() == expected
        assert {row["kinds"][f"{field}:0"] for field in places} == {"plain", "false", "related"}
