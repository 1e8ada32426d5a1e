"""The tables of a suite: a row for each task, and a mean in which each task counts the same."""

from typing import Any

import pytest
from tests.benchmarks.factory import make

from ragstone.benchmarks.niah.aggregate import ANYWHERE, CellScores, NeedleKey, NeedleTally
from ragstone.benchmarks.niah.comparison import paired_cells
from ragstone.benchmarks.niah.effective import effective, ruler_bar
from ragstone.benchmarks.niah.suite_scores import SuiteScores, by_suite, with_suites
from ragstone.benchmarks.niah.suite_tables import suite_charts, suite_tables
from ragstone.errors import UsageError


def scores(**by_length: list[float]) -> CellScores:
    found = CellScores()
    for length, values in by_length.items():
        found.values[int(length.removeprefix("n")), 0.0] += values
    return found


def tally(found: CellScores) -> NeedleTally:
    return NeedleTally(found=found, matched=scores(n4096=[1.0, 1.0]))


def groups(**tasks: CellScores) -> dict[NeedleKey, NeedleTally]:
    return {
        NeedleKey("m", "en", name, f"ruler-{name}", "full", suite="ruler"): tally(found)
        for name, found in tasks.items()
    }


def test_each_task_counts_the_same_however_many_cases_it_has() -> None:
    mean = SuiteScores(tasks=[scores(n4096=[1.0] * 9), scores(n4096=[0.0])]).mean(lengths=[4096])
    assert mean.value == 0.5
    assert mean.n == 2


def test_a_length_at_which_a_task_has_no_answer_has_no_mean() -> None:
    both = SuiteScores(tasks=[scores(n4096=[1.0, 1.0], n8192=[1.0, 1.0]), scores(n4096=[1.0, 0.8])])
    assert both.mean(lengths=[8192]).value is None
    assert both.at_length(8192) == []
    assert effective(both, ruler_bar()).reached == 4096


def test_the_effective_length_is_that_of_the_mean() -> None:
    good, bad = scores(n4096=[1.0] * 4, n8192=[1.0] * 4), scores(n4096=[0.8] * 4, n8192=[0.7] * 4)
    assert effective(SuiteScores(tasks=[good, bad]), ruler_bar()).reached == 4096
    assert effective(bad, ruler_bar()).reached == 0


def test_the_interval_of_the_mean_is_narrower_than_those_of_its_tasks() -> None:
    tasks = [scores(n4096=[1.0, 0.0, 1.0, 1.0]) for _ in range(13)]
    whole, one = SuiteScores(tasks=tasks).mean(), tasks[0].mean()
    assert whole.value == one.value == 0.75
    assert whole.low is not None
    assert one.low is not None
    assert one.low < whole.low < 0.75


def test_tables_list_the_tasks_in_the_suites_order_and_their_mean_last() -> None:
    made = groups(fwe=scores(n4096=[0.5, 0.5]), vt=scores(n4096=[1.0, 1.0]), niah_single_2=scores(n4096=[1.0, 0.0]))
    ours, official = suite_tables(made, "en")
    assert [row.cells[1].text for row in ours.rows] == ["niah_single_2", "vt", "fwe", "mean of 3 tasks"]
    assert [row.cells[2].value for row in ours.rows] == pytest.approx([0.5, 1.0, 0.5, 2 / 3])
    assert [row.cells[2].value for row in official.rows] == [1.0] * 4
    assert [row.cells[1].text for row in suite_tables(made, "zh")[0].rows][-1] == "3 项任务的平均"
    (chart,) = suite_charts(made, "en")
    assert [series.name for series in chart.series] == ["single_2", "vt", "fwe", "mean"]


def test_the_verdict_has_one_figure_for_a_suite_and_those_of_other_needles() -> None:
    other = {NeedleKey("m", "en", "number", "simple", "full"): tally(scores(n4096=[1.0]))}
    made = groups(vt=scores(n4096=[1.0]), fwe=scores(n4096=[0.0])) | other
    assert [key.needle for key in with_suites(made)] == ["ruler", "number"]
    assert len(by_suite(made)) == 1


def test_a_run_of_needles_has_no_table_of_a_suite() -> None:
    assert suite_tables({NeedleKey("m", "en", "number", "simple", "full"): tally(scores(n4096=[1.0]))}, "en") == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"needles": ["cwe"], "retrievers": ("bm25",)}, "nothing to find for cwe"),
        ({"lengths": "1000", "needles": ["qa_2"]}, "room for at most"),
        ({"lengths": "400", "needles": ["cwe"]}, "greater --lengths"),
        ({"lengths": "100", "needles": ["fwe"]}, "greater --lengths"),
    ],
)
def test_what_a_task_cannot_do_is_one_clear_line(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told) as caught:
        make("niah", suite="ruler", **{"lengths": "4096", "depths": "50"} | options)
    assert "\n" not in str(caught.value)


def test_without_depths_each_repeat_is_a_context_of_its_own() -> None:
    placed, anywhere = CellScores(), CellScores()
    for length in (4096, 8192, 16384, 32768):
        for place in range(100):
            placed.values[length, float(place)].append(1.0)
            anywhere.values[length, ANYWHERE].append(1.0)
    assert anywhere.mean() == placed.mean()
    assert effective(anywhere, ruler_bar()).low == effective(placed, ruler_bar()).low == 32768
    first, second = NeedleTally(found=anywhere), NeedleTally(found=anywhere)
    assert {length: len(pairs) for length, pairs in paired_cells(first, second).items()} == dict.fromkeys(
        (4096, 8192, 16384, 32768), 100
    )
