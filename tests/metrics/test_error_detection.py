"""Detected errors in many wordings, and answers that only sound like it."""

from pathlib import Path

import pytest

from ragstone.metrics.error_detection import ErrorDetection, error_spans
from ragstone.types import Case, Query, Response, Sample

EXAMPLES = (Path(__file__).parent / "errors.txt").read_text("utf-8").splitlines()
DETECTED = [line[2:] for line in EXAMPLES if line.startswith("+ ")]
OTHERS = [line[2:] for line in EXAMPLES if line.startswith("- ")]


@pytest.mark.parametrize("answer", DETECTED)
def test_a_detected_error_is_recognised(answer: str) -> None:
    assert error_spans(answer)


@pytest.mark.parametrize("answer", OTHERS)
def test_an_answer_that_claims_no_error_is_no_detection(answer: str) -> None:
    assert error_spans(answer) == []


def test_evidence_names_the_words_that_say_so() -> None:
    case = Case("a", Sample("s", "q"), {}, Query("q"))
    answer = "挪威。提供的文檔存在事實性錯誤。"
    score = ErrorDetection().score(case, Response(answer))
    assert score.value == 1.0
    assert any(
        answer[start:end] == "事實性錯誤" or "錯誤" in answer[start:end] for start, end in score.evidence["spans"]
    )
    assert ErrorDetection().score(case, Response("Norway")).evidence == {"spans": []}


@pytest.mark.parametrize("answer", ["", "。。。", "\ud800", "the documents " * 5000, "存在" * 9000, "error in " * 5000])
def test_strange_answers_are_scored_in_no_time(answer: str) -> None:
    assert ErrorDetection().score(Case("a", Sample("s", "q"), {}, Query("q")), Response(answer)).value == 0.0
