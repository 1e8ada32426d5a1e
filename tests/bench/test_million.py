"""The bench of very large runs takes all its steps, and prints each figure that has a goal."""

from pathlib import Path

import pytest

from bench import million


@pytest.mark.slow
def test_a_small_run_goes_through_all_steps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = million.measure(60, tmp_path, [])
    figures = million.conclude(found)
    printed = capsys.readouterr().out
    whole, tenth = found["whole"], found["tenth"]
    for step in (
        "alone",
        "run",
        "again",
        "report",
        "show",
        "compare",
        "csv",
        "jsonl",
        "parquet",
        "trend",
        "annotate",
        "agreement",
        *million.PAGES,
    ):
        assert whole[step]["peak_mb"] > 0
        assert tenth[step]["cpu"] > 0
        assert printed.count(f"\n{step} ") >= 2
    assert figures.keys() >= million.GOALS.keys()
    assert whole["again"]["cpu"] < whole["run"]["cpu"] + 1
    assert set(whole["view"]["pages"]) == set(million.FIRST_PAGES)
    assert set(whole["indexed"]["pages"]) == set(million.LATER_PAGES)
