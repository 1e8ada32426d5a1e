"""That `trend` raises few false alarms and finds changes, as `docs/what-the-numbers-mean.md` says, coarsely."""

import numpy as np
import pytest
from bench.trend import Cell, series

from ragstone.comparison.change_points import LEVEL, scan_scores
from ragstone.stats import wilson

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["same", "own", "between"])
def test_false_alarms_are_rare_without_a_change(kind: str) -> None:
    rng, count = np.random.default_rng(11), 60
    for mean in (0.6, 0.95):
        alarms = sum(scan_scores(series(rng, kind, mean, 10, 20)).p <= LEVEL for _ in range(count))
        cell = Cell(f"{kind} {mean}", alarms, count)
        assert wilson(alarms, count)[0] <= LEVEL, cell.line()


def test_a_fall_is_found_more_often_in_runs_of_the_same_questions() -> None:
    rng, count = np.random.default_rng(12), 15
    found = {
        kind: sum(scan_scores(series(rng, kind, 0.86, 14, 80, fall=0.07, at=9)).p <= LEVEL for _ in range(count))
        for kind in ("same", "own")
    }
    assert found["same"] >= 0.6 * count
    assert 0.2 * count <= found["own"] <= found["same"]
