"""What makes a recorded answer right or wrong, and why."""

import io
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.benchmarks.recorded.memory_run import MemoryRun, record

from ragstone.benchmarks.recorded.benchmark import RecordedAnswers
from ragstone.display import Diagnosis
from ragstone.report.junit import write_junit
from ragstone.types import Record, Score


def explain(language: str = "en", gates: Any = None, **scores: Any) -> Diagnosis:
    named = {name.replace("__", "."): value for name, value in scores.items()}
    return RecordedAnswers(gates=gates or {}).explain(record("q", named), language=language)


def asked(answer: str, possible: bool | None, **scores: Any) -> Record:
    """A record with this answer to a question that can or cannot be answered."""
    meta = {} if possible is None else {"answerable": possible}
    return record("q", scores, answer=answer, meta=meta)


@pytest.mark.parametrize(
    ("scores", "cause"),
    [
        ({"context_recall": 0.1, "answer_correctness": 0.1}, "retrieval"),
        ({"context_recall": 1.0, "faithfulness": 0.1, "answer_correctness": 0.1}, "unfaithful"),
        ({"faithfulness": 1.0, "answer_relevancy": 0.0, "answer_correctness": 0.1}, "evasive"),
        ({"faithfulness": 1.0, "answer_correctness": 0.1}, "incorrect"),
    ],
)
def test_the_cause_is_where_a_reader_should_look_first(scores: Any, cause: str) -> None:
    for language in ("en", "zh"):
        found = explain(language, **scores)
        assert (found.right, found.cause) == (False, cause)
        assert found.label
        assert "answer_correctness 0.10" in found.reason


@pytest.mark.parametrize(
    "scores",
    [
        {"answer_correctness": 1.0, "context_precision": 0.33, "ragchecker__self_knowledge": 0.0},
        {"answer_match": 1.0, "faithfulness": 0.0, "ragchecker__hallucination": 1.0, "rouge_l": 0.1},
        {"answer_correctness": 0.5, "answer_match": 0.0},
    ],
)
def test_only_correctness_makes_an_answer_right(scores: Any) -> None:
    assert explain(**scores).right is True


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scores", [{"context_precision": 0.33}, {"faithfulness": 0.9}, {"rubric__empathy": 0.0}, {}])
def test_without_a_metric_of_correctness_nothing_is_right_or_wrong(scores: Any, language: str) -> None:
    found = explain(language, **scores)
    assert (found.right, found.cause) == (None, "")
    assert "answer_correctness" in found.reason


def test_a_metric_of_correctness_that_failed_is_not_replaced_by_another() -> None:
    found = explain(answer_correctness=Score.failed("timed_out: late"), answer_match=1.0)
    assert found.right is None
    assert "timed out: late" in found.reason
    assert explain(answer_correctness=Score.not_applicable("no reference"), answer_match=0.0).right is False


def test_a_gate_moves_the_line_between_right_and_wrong() -> None:
    assert explain(answer_correctness=0.7).right is True
    assert explain(gates={"answer_correctness": 0.8}, answer_correctness=0.7).right is False
    assert explain(gates={"faithfulness": 0.8}, answer_correctness=0.7, faithfulness=0.1).right is True
    assert explain(gates={"rubric.policy": 0.8}, answer_correctness=0.7, rubric__policy=0.5).right is False
    assert explain(gates={"answer_match": 1.0, "answer_correctness": 0.9}, answer_match=1.0).right is True
    assert explain(gates={"ragchecker.hallucination": 0.1}, ragchecker__hallucination=0.9).right is None


def test_a_gated_rubric_of_a_flaw_is_right_below_its_threshold() -> None:
    flaw = Score.of(0.4, evidence={"rubric": {"better": "lower"}})
    assert explain(gates={"rubric.bias": 0.5}, rubric__bias=flaw).right is True
    assert explain(gates={"rubric.bias": 0.3}, rubric__bias=flaw).right is False


def test_the_gates_of_a_run_file_are_those_of_its_reader() -> None:
    benchmark = RecordedAnswers.from_meta({"gates": {"answer_correctness": 0.9, "odd": "x"}})
    assert benchmark.gates == {"answer_correctness": 0.9}


def test_the_further_below_the_threshold_the_worse() -> None:
    assert explain(answer_correctness=0.0).weight > explain(answer_correctness=0.4).weight > 0


REFUSALS = ["I cannot answer this question from the documents.", "根据现有资料无法回答这个问题。"]
ANSWERS = ["It costs 40 euros.", "票价为四十元。"]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_of_what_cannot_be_answered_is_right_whatever_the_metrics_say(refusal: str) -> None:
    for scores in ({}, {"context_precision": 0.0}, {"answer_correctness": 0.1}):
        assert RecordedAnswers().explain(asked(refusal, False, **scores)).right is True


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_to_what_cannot_be_answered_is_a_false_acceptance(answer: str) -> None:
    found = RecordedAnswers().explain(asked(answer, False))
    assert (found.right, found.cause) == (False, "false_acceptance")
    correct = RecordedAnswers().explain(asked(answer, False, answer_correctness=0.9))
    assert correct.right is True  # the reference states what is wrong with the question, and so does the answer


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_of_what_can_be_answered_is_a_wrong_refusal(refusal: str) -> None:
    found = RecordedAnswers().explain(asked(refusal, True))
    assert (found.right, found.cause) == (False, "wrong_refusal")
    assert RecordedAnswers().explain(asked(refusal, None)).right is None
    assert RecordedAnswers().explain(asked(refusal, None, answer_match=0.0)).cause == "wrong_refusal"


def test_the_claims_of_an_answer_decide_before_its_wording() -> None:
    evasive = Score.of(0.0, evidence={"noncommittal": True})
    assert RecordedAnswers().explain(asked("Ask the museum.", False, answer_relevance=evasive)).right is True


def junit(*records: Record) -> ElementTree.Element:
    stream = io.StringIO()
    write_junit(MemoryRun(records), RecordedAnswers(), stream, "en")
    return ElementTree.fromstring(stream.getvalue())


def test_perfect_answers_are_no_junit_failures_and_undecided_ones_are_skipped_with_the_reason() -> None:
    perfect = {"answer_correctness": 1.0, "ragchecker.self_knowledge": 0.0, "context_precision": 0.33}
    (suite,) = junit(record("a", perfect), record("b", {"context_precision": 0.33}))
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    (skipped,) = suite.iter("skipped")
    assert "No metric of correctness was scored" in (skipped.get("message") or "")
