"""The chart of means, and why a record is among the worst."""

from typing import Any

import pytest
from tests.benchmarks.recorded.memory_run import MemoryRun, record

from ragstone.benchmarks.recorded.benchmark import RecordedAnswers
from ragstone.types import Chart, Diagnosis, Score


def charts(*values: float, name: str = "faithfulness", language: str = "en") -> list[Chart]:
    held = [record(f"q{at}", {name: value}) for at, value in enumerate(values)]
    return RecordedAnswers().charts(MemoryRun(held), language=language)


def test_one_chart_has_the_mean_of_every_metric_with_its_interval() -> None:
    (chart,) = charts(0.0, 0.5, 1.0)
    assert chart.categories == ("faithfulness",)
    (point,) = chart.series[0].points
    assert point.y == pytest.approx(0.5)
    assert point.low is not None
    assert point.high is not None
    assert point.low < 0.5 < point.high


def test_a_metric_that_leaves_0_to_1_is_in_the_table_alone() -> None:
    assert charts(-1.0, 4.0, name="mine") == []


def test_a_chart_says_in_words_what_it_shows_in_both_languages() -> None:
    for language in ("en", "zh"):
        (chart,) = charts(0.25, 0.75, language=language)
        assert "faithfulness" in chart.alt
        assert "0.50" in chart.alt


def test_a_metric_without_scores_has_no_chart() -> None:
    held = MemoryRun([record("q", {"m": Score.failed("no")})])
    assert RecordedAnswers().charts(held) == []


def explain(language: str = "en", **scores: Any) -> Diagnosis:
    named = {name.replace("__", "."): value for name, value in scores.items()}
    return RecordedAnswers().explain(record("q", named), language=language)


@pytest.mark.parametrize(
    ("scores", "cause"),
    [
        ({"context_recall": 0.1, "answer_correctness": 0.1}, "retrieval"),
        ({"context_recall": 1.0, "faithfulness": 0.1, "answer_correctness": 0.1}, "unfaithful"),
        ({"faithfulness": 1.0, "answer_relevancy": 0.0, "answer_correctness": 0.1}, "evasive"),
        ({"faithfulness": 1.0, "answer_correctness": 0.1}, "incorrect"),
        ({"rubric__empathy": 0.0}, "other"),
    ],
)
def test_the_cause_is_where_a_reader_should_look_first(scores: dict[str, float], cause: str) -> None:
    for language in ("en", "zh"):
        found = explain(language, **scores)
        assert (found.right, found.cause) == (False, cause)
        assert found.label
        assert all(name.replace("__", ".") in found.reason for name, value in scores.items() if value < 0.5)


def test_what_is_good_has_no_cause_and_what_could_not_be_scored_no_verdict() -> None:
    assert (explain(faithfulness=0.9).right, explain(faithfulness=0.9).cause) == (True, "")
    assert explain(faithfulness=Score.failed("no")).right is None
    assert explain().right is None


def test_low_values_of_what_should_be_low_are_good() -> None:
    assert explain(ragchecker__hallucination=0.1).right
    assert explain(ragchecker__hallucination=0.9).right is False


def test_the_lower_the_scores_the_worse() -> None:
    assert explain(faithfulness=0.0).weight > explain(faithfulness=0.4).weight > explain(faithfulness=0.9).weight
