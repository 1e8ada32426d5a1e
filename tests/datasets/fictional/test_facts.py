"""The real facts of the counterfactual testbed: enough of them, told without slips, false twins that read well."""

import re

import pytest

from ragstone.datasets.fictional import fictional_rgb
from ragstone.datasets.fictional.engine import language, swap
from ragstone.datasets.fictional.parts import Fact
from ragstone.text import estimate_tokens, find_answer

LANGUAGES = ["en", "zh"]
VOWEL = re.compile(r"(?i)[aeiou]")


def holds(text: str, alias: str, code: str) -> bool:
    return alias.lower() in text.lower() or bool(find_answer(alias, text, code))


def all_facts() -> list[tuple[str, Fact]]:
    return [(code, fact) for code in LANGUAGES for fact in language(code).facts]


@pytest.mark.parametrize("code", LANGUAGES)
def test_there_are_a_hundred_facts_of_several_domains(code: str) -> None:
    found = language(code).facts
    assert len({fact.query for fact in found}) == len(found) >= 100
    assert len({fact.domain for fact in found}) >= 5


def test_each_fact_has_five_passages_for_and_five_beside_it() -> None:
    for _, fact in all_facts():
        assert len(set(fact.positive)) == len(fact.positive) >= 5, fact.query
        assert len(set(fact.negative)) == len(fact.negative) >= 5, fact.query
        assert not set(fact.positive) & set(fact.negative), fact.query


def test_positives_state_the_answer_and_not_the_false_one() -> None:
    for code, fact in all_facts():
        for text in fact.positive:
            assert any(a.lower() in text.lower() and find_answer(a, text, code) for a in fact.answer), text
            assert not holds(text, fact.fake, code), (fact.fake, text)


def test_negatives_and_questions_state_neither() -> None:
    for code, fact in all_facts():
        for text in (*fact.negative, fact.query):
            assert not any(holds(text, alias, code) for alias in (*fact.answer, fact.fake)), (fact.answer, text)


def test_neither_answer_contains_the_other() -> None:
    for code, fact in all_facts():
        for alias in fact.answer:
            assert not holds(alias, fact.fake, code), fact.query
            assert not holds(fact.fake, alias, code), fact.query


def test_the_false_twin_states_the_false_answer_only() -> None:
    for code, fact in all_facts():
        for text in fact.positive:
            wrong = swap(text, fact)
            assert fact.fake.lower() in wrong.lower(), wrong
            assert find_answer(fact.fake, wrong, code), wrong
            assert not any(holds(wrong, alias, code) for alias in fact.answer), wrong


def test_the_false_twin_has_the_right_article() -> None:
    for fact in language("en").facts:
        for text in map(swap, fact.positive, [fact] * len(fact.positive)):
            for article in re.findall(rf"\b([Aa]n?) {re.escape(fact.fake)}", text):
                assert (article.lower() == "an") == bool(VOWEL.match(fact.fake)), text


def test_passages_have_the_length_of_a_snippet_or_more() -> None:
    for _, fact in all_facts():
        for text in (*fact.positive, *fact.negative):
            assert 30 <= estimate_tokens(text) <= 200, text


@pytest.mark.parametrize("code", LANGUAGES)
def test_rows_pair_each_positive_with_its_false_twin(code: str) -> None:
    by_query = {fact.query: fact for fact in language(code).facts}
    for row in fictional_rgb(f"{code}_fact", seed=4):
        fact = by_query[row["query"]]
        assert row["fakeanswer"] == fact.fake
        assert row["positive_wrong"] == [swap(text, fact) for text in row["positive"]]
        assert sorted(row["positive"]) == sorted(fact.positive)
        assert sorted(row["negative"]) == sorted(fact.negative)


def test_a_sentence_that_begins_with_the_answer_still_begins_with_a_capital() -> None:
    fact = Fact("Q?", ("tin", "Tin"), "lead", ("Tin is soft, tin is grey.",), ("Metals conduct.",), "x")
    assert swap(fact.positive[0], fact) == "Lead is soft, lead is grey."
