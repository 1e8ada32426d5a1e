"""Thirty topics in each language: balanced, each with a value of its type that nothing else in the context says."""

import random
import re
import tomllib
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest
from tests.benchmarks.factory import make

from ragstone.benchmarks.niah.benchmark import expand_query
from ragstone.benchmarks.niah.needles import TOPICS, make_needle
from ragstone.datasets.haystack import haystack
from ragstone.text import find_answer

TEXTS: dict[str, Any] = tomllib.loads((files("ragstone.benchmarks.niah") / "topics.toml").read_text(encoding="utf-8"))
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])


@LANGUAGES
def test_there_are_thirty_topics_five_of_each_type(language: str) -> None:
    topics = TEXTS[language]["topics"]
    assert {kind: len(pairs) for kind, pairs in topics.items()} == dict.fromkeys(
        ("person", "place", "colour", "object", "year", "count"), 5
    )
    pairs = [pair for kind in topics.values() for pair in kind]
    assert len({text for pair in pairs for text in pair}) == 2 * TOPICS
    assert all(needle.count("{value}") == 1 and "{" not in question for needle, question in pairs)
    assert {len(values) for values in TEXTS[language]["values"].values()} == {12}


@LANGUAGES
def test_no_question_can_be_answered_by_the_needle_of_another_topic_or_by_the_haystack(language: str) -> None:
    """What a question names is named by its own needle alone."""
    stack = haystack(language)  # type: ignore[arg-type]
    text = "\n".join((*stack.texts, *stack.more))
    for needle, question in (pair for kind in TEXTS[language]["topics"].values() for pair in kind):
        names = _names(question, language)
        assert names
        for name in names:
            assert name in needle
            assert name not in text
            assert [name in pair[0] for kind in TEXTS[language]["topics"].values() for pair in kind].count(True) == 1


def _names(question: str, language: str) -> list[str]:
    """The name of what is asked about: in English words with a capital letter; in Chinese the first four characters
    that follow who did it."""
    if language == "en":
        words = question.rstrip("?").split()[1:]
        return [" ".join(word for word in words if word[0].isupper())]
    head = (
        question.partition("在")[2] if question.startswith(("外婆", "舅公", "摆渡人", "守塔人", "抄碑人")) else question
    )
    return [head.removeprefix("在")[:3]]


@LANGUAGES
def test_no_value_is_in_the_haystack_or_part_of_another(language: str) -> None:
    stack = haystack(language)  # type: ignore[arg-type]
    text = "\n".join((*stack.texts, *stack.more))
    stated = [row[-1] for rows in TEXTS[language]["values"].values() for row in rows]
    edge = r"\b" if language == "en" else ""
    assert not re.findall(rf"{edge}(?:{'|'.join(stated)}){edge}", text, re.IGNORECASE)
    for value in stated:
        assert [value in other for other in stated].count(True) == 1


@LANGUAGES
def test_every_topic_comes_with_every_type_of_value(language: str) -> None:
    rng = random.Random(0)
    made = [make_needle("topic", language, rng, excluded=frozenset({"1805", "500"})) for _ in range(900)]
    questions = Counter(one.question for one in made)
    assert len(questions) == TOPICS
    assert max(questions.values()) < 60
    for one in made:
        ((value,),) = one.answers
        (needle,) = one.needles
        assert needle.count(value) == 1
        assert value not in one.question
        assert value not in ("1805", "500")


@LANGUAGES
def test_an_answer_stands_once_in_its_context_and_not_in_its_control(language: str) -> None:
    made = make(
        "niah", needles=["topic"], lengths="2k,30k", depths="0:100:5", data_languages=[language], control="cell"
    )
    answers = {case.id.partition("/")[2]: case.sample.references for case in made.cases() if case.sample.references}
    for case in made.cases():
        text = (expand_query(case.query, made.haystacks).passages or ())[0].text
        ((value,),) = answers[case.id.partition("/")[2]]
        assert len(find_answer(value, text)) == (1 if case.condition["ability"] == "needle" else 0)
        assert case.condition["variant"] == "topics=30"
