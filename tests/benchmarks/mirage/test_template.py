"""The prompts of MIRAGE's program, to the character."""

import pytest

from ragstone.benchmarks.mirage.template import ALONE, MirageTemplate, mirage_template
from ragstone.errors import UnknownName
from ragstone.types import Passage, Query, Turn

SYSTEM = Turn("system", "You are a helpful assistant.\n")
ONE, TWO = Passage("a", "Ada is an engineer."), Passage("b", "Ada has {query} boats.")


def said(query: Query) -> tuple[Turn, ...]:
    return MirageTemplate().messages(query)


def test_without_context_the_question_stands_alone() -> None:
    asked = Query("What is John Mayne's occupation?", ())
    assert said(asked) == (SYSTEM, Turn("user", "Question: What is John Mayne's occupation?\n\nAnswer : \n"))


def test_chunks_are_numbered_with_nothing_between_them_even_one() -> None:
    two = said(Query("Who?", (ONE, TWO)))[1].content
    assert two == "Question : Who?\n\nContext : 1. Ada is an engineer.2. Ada has {query} boats.\n\nAnswer :\n"
    one = said(Query("Who?", (ONE,)))[1].content
    assert one == "Question : Who?\n\nContext : 1. Ada is an engineer.\n\nAnswer :\n"


def test_the_oracle_s_one_chunk_has_no_number() -> None:
    oracle = Passage("a", "Ada is an engineer.", meta={ALONE: True})
    assert said(Query("Who?", (oracle,)))[1].content == "Question : Who?\n\nContext : Ada is an engineer.\n\nAnswer :\n"


def test_a_question_that_looks_like_the_form_stays_as_it_is() -> None:
    assert said(Query("{context}?", (ONE,)))[1].content.startswith("Question : {context}?\n\nContext : 1. Ada")


def test_chinese_questions_are_asked_in_chinese() -> None:
    system, user = said(Query("谁赢了？", (ONE,)))
    assert "助手" in system.content
    assert user.content == "问题：谁赢了？\n\n上下文：1. Ada is an engineer.\n\n答案：\n"


def test_the_sampling_is_the_published_one() -> None:
    sampling = mirage_template("official").sampling
    assert (sampling.temperature, sampling.top_p, sampling.max_tokens) == (0.1, 0.1, 256)
    with pytest.raises(UnknownName, match="template"):
        mirage_template("mine")
