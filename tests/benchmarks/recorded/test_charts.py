"""The chart of means."""

import pytest
from tests.benchmarks.recorded.memory_run import MemoryRun, record

from ragstone.benchmarks.recorded.benchmark import RecordedAnswers
from ragstone.display import Chart
from ragstone.types import Score


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
