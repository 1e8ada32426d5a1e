"""Refusals in many wordings, and answers that only sound like one."""

from pathlib import Path

import pytest

from ragstone.metrics.refusal import Refusal, refusal_spans
from ragstone.types import Case, Query, Response, Sample

TABLES = [Path(__file__).parent / name for name in ("refusals_en.txt", "refusals_zh.txt")]
EXAMPLES = [line for table in TABLES for line in table.read_text("utf-8").splitlines()]
REFUSALS = [line[2:] for line in EXAMPLES if line.startswith("+ ")]
ANSWERS = [line[2:] for line in EXAMPLES if line.startswith("- ")]


def test_the_tables_hold_sixty_of_each_kind_in_each_language() -> None:
    for table in TABLES:
        signs = [line[:2] for line in table.read_text("utf-8").splitlines()]
        assert signs.count("+ ") >= 60
        assert signs.count("- ") >= 60
        assert set(signs) == {"+ ", "- "}


@pytest.mark.parametrize("answer", REFUSALS)
def test_a_refusal_is_recognised(answer: str) -> None:
    assert refusal_spans(answer)


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_no_refusal(answer: str) -> None:
    assert refusal_spans(answer) == []


def test_evidence_names_the_words_that_decline() -> None:
    case = Case("a", Sample("s", "q"), {}, Query("q"))
    answer = "The documents discuss the final.  They DO NOT mention\u00a0the winner."
    score = Refusal().score(case, Response(answer))
    assert score.value == 1.0
    assert [answer[start:end] for start, end in score.evidence["spans"]] == ["They DO NOT mention"]
    assert Refusal().score(case, Response("Norway")).evidence == {"spans": []}


@pytest.mark.parametrize(
    "answer", ["", "   ", "。。。", "\ud800", "\x00", "提供的信息" * 5000, "the documents " * 5000, "没有" * 9000]
)
def test_strange_answers_are_scored_in_no_time(answer: str) -> None:
    assert Refusal().score(Case("a", Sample("s", "q"), {}, Query("q")), Response(answer)).value in (0.0, 1.0)
