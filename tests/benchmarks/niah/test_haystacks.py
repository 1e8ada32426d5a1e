"""Haystacks as they are counted: as far as a grid needs them, and the same contexts in whatever grid and source."""

from typing import Any

import pytest
from tests.benchmarks.factory import make
from tests.benchmarks.niah.test_tables import SyntheticRun, by_id, record

from ragstone.benchmarks.niah.benchmark import NIAH, expand_query
from ragstone.text import estimate_tokens, sentences

FAR: dict[str, Any] = {"depths": "0,37,100"}


def recipes(made: NIAH) -> dict[str, dict[str, Any]]:
    """By case: everything of its context except the hash of the haystack."""
    found = {}
    for case in made.cases():
        assert case.query.passages
        found[case.id] = {**case.query.passages[0].meta["recipe"], "haystack": "", "reached": case.condition}
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_contexts_that_the_essays_cover_are_the_same_without_the_novels(language: str) -> None:
    grid = {"lengths": "500,4k,13k", "data_languages": [language], "repeat": 3, **FAR}
    assert recipes(make("niah", **grid)) == recipes(make("niah", **grid, haystack_source="essays"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_context_does_not_depend_on_the_longest_of_its_grid(language: str) -> None:
    few = recipes(make("niah", lengths="13k,40k", data_languages=[language], repeat=2, **FAR))
    many = recipes(make("niah", lengths="13k,40k,90k", data_languages=[language], repeat=2, **FAR))
    assert few == {name: recipe for name, recipe in many.items() if name in few}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_at_150_000_tokens_nothing_is_said_twice_and_the_context_keeps_to_its_length(language: str) -> None:
    made = make("niah", lengths="150k", depths="50", data_languages=[language])
    assert made.warnings == ()
    for case in made.cases():
        passages = expand_query(case.query, made.haystacks).passages or ()
        text = passages[0].text
        parts = [part.strip() for part in sentences(text, language)]
        assert 140_000 < estimate_tokens(text) <= int(case.condition["length_reached"]) < 150_000
        assert len(parts) - len(set(parts)) <= 4  # short questions of the essays
        assert "passes" not in case.condition


@pytest.mark.parametrize(("source", "length", "passes"), [("prose", "300k", 2), ("essays", "40k", 3)])
def test_a_context_beyond_the_end_says_that_it_repeats_its_haystack(source: str, length: str, passes: int) -> None:
    made = make("niah", lengths=f"10k,{length}", depths="50", haystack_source=source)
    assert [case.condition.get("passes") for case in made.cases()].count(passes) == 2
    assert [case.condition.get("passes") for case in made.cases()].count(None) == 2
    (warning,) = made.warnings
    assert warning.startswith("2 contexts repeat their haystack of ")


def test_only_what_the_grid_needs_is_counted() -> None:
    few, many = (make("niah", lengths=length, depths="50").haystacks["en", 0] for length in ("2k", "60k"))
    assert few.text == many.text[: len(few.text)]
    assert few.tokens[-1] < 20_000
    assert 60_000 <= many.tokens[-1] < 66_000


@pytest.mark.parametrize(
    ("language", "told"), [("en", "2 contexts are longer than"), ("zh", "有 2 个上下文比文本库更长")]
)
def test_the_report_says_how_many_contexts_repeat_their_haystack(language: str, told: str) -> None:
    within, beyond = record(1000, 50.0, 1.0), [record(4000, depth, 1.0, passes=2) for depth in (0.0, 50.0)]
    assert any(note.startswith(told) for note in by_id(SyntheticRun(within, *beyond), language)["niah-summary"].notes)
    assert not any(told[2:] in note for note in by_id(SyntheticRun(within), language)["niah-summary"].notes)
