"""What every generator of needles keeps to, whatever its settings: counts, and answers where they should be alone."""

import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from ragstone.benchmarks.niah.needles import NeedleQuestion, cities, make_needle

languages = st.sampled_from(["en", "zh"])
seeds = st.integers(0, 10**9)
few = st.integers(1, 6)
EXCLUDED = frozenset(str(number) for number in range(1_000_000, 10_000_000, 7))


def made(kind: str, language: str, seed: int, **settings: Any) -> NeedleQuestion:
    question = make_needle(kind, language, random.Random(seed), excluded=EXCLUDED, **settings)
    assert question == make_needle(kind, language, random.Random(seed), excluded=EXCLUDED, **settings)
    return question


def texts_with(value: str, question: NeedleQuestion) -> list[str]:
    return [text for text in question.texts if value in text]


def check_values(question: NeedleQuestion, expected: int) -> None:
    """`expected` values in all, each in one text of its own, none in the question and none of the haystack's."""
    asked = [value for (value,) in question.answers]
    values = [*asked, *(value for value, _ in question.others)]
    assert len(set(values)) == len(values) == expected
    for value in values:
        assert len(texts_with(value, question)) == 1
        assert value not in question.question
        assert value not in EXCLUDED
    assert len(set(question.texts)) == len(question.texts)
    assert {texts_with(value, question)[0] for value in asked} <= set(question.needles)


@given(languages, seeds, few, few, few)
def test_several_needles_are_as_many_as_asked_for_and_each_value_stands_with_its_key(
    language: str, seed: int, keys: int, values: int, queries: int
) -> None:
    assume(queries <= keys)
    question = made("multi", language, seed, keys=keys, values=values, queries=queries)
    assert len(question.needles) == keys * values
    assert len(question.answers) == len(question.keys) == queries * values
    check_values(question, keys * values)
    pairs = [*zip([value for (value,) in question.answers], question.keys, strict=True), *question.others]
    for value, key in pairs:
        assert key in cities(language)
        assert key in texts_with(value, question)[0]
    assert all(key in question.question for key in question.keys)
    assert not any(key in question.question for _, key in question.others)
    assert set(question.wanted) == {texts_with(value, question)[0] for (value,) in question.answers}


@given(languages, seeds, st.integers(0, 8))
def test_distractors_are_as_many_as_asked_for_and_of_other_cities(language: str, seed: int, distractors: int) -> None:
    question = made("distractor", language, seed, distractors=distractors)
    assert (len(question.needles), len(question.distractors)) == (1, distractors)
    check_values(question, 1 + distractors)
    named = [city for city in cities(language) if city in question.question]
    assert len(named) == 1
    assert all(key != named[0] and key in texts_with(value, question)[0] for value, key in question.others)


@given(languages, seeds, st.integers(2, 8), st.integers(0, 3))
def test_a_chain_leads_from_its_city_to_its_number_and_no_other_does(
    language: str, seed: int, hops: int, distractors: int
) -> None:
    question = made("chain", language, seed, hops=hops, distractors=distractors)
    rows = [question.needles, *question.decoys]
    assert [len(row) for row in rows] == [hops] * (1 + distractors)
    check_values(question, 1 + distractors)
    values = [question.answers[0][0], *(value for value, _ in question.others)]
    for row, value in zip(rows, values, strict=True):
        assert texts_with(value, question) == [row[-1]]
    (city,) = (city for city in cities(language) if city in question.question)
    assert texts_with(city, question) == [question.needles[0]]


@given(languages, seeds, st.sampled_from(["number", "topic", "paraphrase", "sandwich"]))
def test_a_single_needle_states_its_answers_and_its_question_does_not(language: str, seed: int, kind: str) -> None:
    question = made(kind, language, seed)
    (needle,) = question.needles
    assert question.texts == (needle,)
    for aliases in question.answers:
        assert sum(alias in needle for alias in aliases) >= 1
        assert not any(alias in question.question for alias in aliases)
    assert not {value for (value, *_) in question.answers} & EXCLUDED
