"""The bench of very large runs takes all its steps, and prints each figure that has a goal."""

from pathlib import Path

import pytest

from bench import million


@pytest.mark.slow
def test_a_small_run_goes_through_all_steps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = million.measure(60, tmp_path, [])
    figures = million.conclude(found)
    printed = capsys.readouterr().out
    for step in ("alone", "run", "again", "report", "compare", "csv", "jsonl", "parquet", "view"):
        assert found[step]["peak_mb"] > 0
        assert f"\n{step} " in printed
    assert figures.keys() >= million.GOALS.keys()
    assert found["again"]["cpu"] < found["run"]["cpu"] + 1
    assert set(found["view"]["pages"]) == {"/", "/run", "/cases"}
