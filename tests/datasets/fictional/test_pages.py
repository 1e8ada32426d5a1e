"""Passages cut from pages: answers stand where they should and nowhere else, and at all depths."""

from typing import Any

import pytest

from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.fictional.engine import language
from ragstone.datasets.fictional.parts import seeded
from ragstone.errors import UnknownName
from ragstone.text import find_answer

HARD = ("news", "adversarial")
LANGUAGES = ("en", "zh")


def aliases(answer: Any) -> list[list[str]]:
    """The aliases of each slot of a row's answer."""
    if isinstance(answer, str):
        return [[answer]]
    return [slot if isinstance(slot, list) else [slot] for slot in answer]


def holds(slot: list[str], text: str, code: str) -> bool:
    return any(alias.lower() in text.lower() or find_answer(alias, text, code) for alias in slot)


@pytest.mark.parametrize("difficulty", HARD)
@pytest.mark.parametrize("code", LANGUAGES)
def test_the_answer_stands_in_every_positive_and_in_no_negative(code: str, difficulty: str) -> None:
    for row in fictional_rgb(code, seed=4, size=12, difficulty=difficulty):
        slots = aliases(row["answer"])
        for slot in slots:
            assert all(holds(slot, text, code) for text in row["positive"])
            assert not any(holds(slot, text, code) for text in row["negative"])
            assert not holds(slot, row["query"], code)


@pytest.mark.parametrize("difficulty", HARD)
@pytest.mark.parametrize("code", LANGUAGES)
def test_a_part_of_an_integration_question_is_answered_by_its_own_group_alone(code: str, difficulty: str) -> None:
    for row in fictional_rgb(f"{code}_int", seed=4, size=8, difficulty=difficulty):
        first, second = aliases(row["answer"])
        for own, other, group in ((first, second, row["positive"][0]), (second, first, row["positive"][1])):
            assert all(holds(own, text, code) and not holds(other, text, code) for text in group)
        assert not any(holds(first, text, code) or holds(second, text, code) for text in row["negative"])


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_parts_of_a_page_stand_in_any_order_and_no_passage_comes_twice(code: str) -> None:
    row = next(fictional_rgb(code, seed=1, size=1, difficulty="news"))
    texts = [*row["positive"], *row["negative"]]
    assert all(len(text.split("\n\n")) == 3 for text in texts)
    assert len(set(texts)) == len(texts)


def test_an_easy_question_has_nothing_beside_its_reports() -> None:
    for code in LANGUAGES:
        item = language(code).base(seeded("ragstone", 0, code, 0, 0), "easy")
        assert not any(document.beside for document in (*item.positive[0], *item.negative))


@pytest.mark.parametrize("code", LANGUAGES)
def test_more_questions_go_on_where_fewer_ended_and_the_worlds_of_two_difficulties_differ(code: str) -> None:
    short = list(fictional_rgb(code, seed=2, size=2, difficulty="news"))
    assert list(fictional_rgb(code, seed=2, size=4, difficulty="news"))[:2] == short
    assert [row["query"] for row in fictional_rgb(code, seed=2, size=2, difficulty="adversarial")] != [
        row["query"] for row in short
    ]


def test_the_facts_are_the_same_at_every_difficulty() -> None:
    assert list(fictional_rgb("en_fact", size=3, difficulty="news")) == list(fictional_rgb("en_fact", size=3))


def test_another_difficulty_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="adversarial"):
        fictional_rgb("en", difficulty="hard")
