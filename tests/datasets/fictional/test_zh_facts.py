"""The real facts in Chinese: each answer is where it should be, and nowhere else."""

import re

import pytest

from ragstone.datasets.fictional.parts import Fact
from ragstone.datasets.fictional.zh import LANGUAGE
from ragstone.text import estimate_tokens


def identity(fact: Fact) -> str:
    return fact.query


def test_there_are_more_than_a_hundred_different_facts() -> None:
    assert len(LANGUAGE.facts) >= 110
    assert len({fact.query for fact in LANGUAGE.facts}) == len(LANGUAGE.facts)
    assert len({fact.domain for fact in LANGUAGE.facts}) >= 8


@pytest.mark.parametrize("fact", LANGUAGE.facts, ids=identity)
def test_passages_hold_the_answer_exactly_where_they_should(fact: Fact) -> None:
    assert len(fact.positive) >= 5
    assert len(fact.negative) >= 5
    for text in fact.positive:
        assert any(alias in text for alias in fact.answer), text
        assert fact.fake not in text, text
    for text in fact.negative:
        assert not any(word in text for word in (*fact.answer, fact.fake)), text
    assert not any(word in fact.query for word in (*fact.answer, fact.fake))


@pytest.mark.parametrize("fact", LANGUAGE.facts, ids=identity)
def test_the_false_answer_neither_holds_nor_is_held_by_the_true_one(fact: Fact) -> None:
    assert fact.fake
    for alias in fact.answer:
        assert alias not in fact.fake
        assert fact.fake not in alias


def test_every_alias_can_be_replaced() -> None:
    for fact in LANGUAGE.facts:
        for text in fact.positive:
            wrong = text
            for alias in sorted(fact.answer, key=len, reverse=True):
                wrong = wrong.replace(alias, fact.fake)
            assert fact.fake in wrong
            assert not any(alias in wrong for alias in fact.answer)


def test_fact_passages_are_short_texts_that_differ() -> None:
    for fact in LANGUAGE.facts:
        texts = [*fact.positive, *fact.negative]
        assert all(45 <= len(text) <= 420 for text in texts), fact.query
        grams = [{text[i : i + 5] for i in range(len(text) - 4)} for text in texts]
        for i, one in enumerate(grams):
            for other in grams[:i]:
                assert len(one & other) / min(len(one), len(other)) < 0.6, fact.query


def test_fact_passages_are_punctuated_the_chinese_way() -> None:
    for fact in LANGUAGE.facts:
        for text in [fact.query, *fact.positive, *fact.negative]:
            assert not re.search(r"[{},;!?()\"\n]|[。，、；：！]{2}", text), text
            assert text.count("“") == text.count("”"), text


def test_fact_passages_vary_from_60_tokens_upwards() -> None:
    lengths = [estimate_tokens(text) for fact in LANGUAGE.facts for text in (*fact.positive, *fact.negative)]
    assert sum(60 <= length <= 300 for length in lengths) >= 0.95 * len(lengths)
    assert sum(length >= 100 for length in lengths) >= 0.1 * len(lengths)


def test_no_passage_quotes_its_question() -> None:
    assert not [fact.query for fact in LANGUAGE.facts if any(fact.query.rstrip("？") in text for text in fact.positive)]
