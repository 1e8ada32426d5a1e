"""That `trend` raises few false alarms and finds changes, as `docs/what-the-numbers-mean.md` says, coarsely."""

import numpy as np
import pytest
from bench.trend import DROP, Cell, rerun_pair, series

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


def test_reruns_of_a_noisy_system_are_no_change_and_a_real_one_is_found() -> None:
    rng, count = np.random.default_rng(13), 40
    ps = np.array([rerun_pair(rng, 0.06, size=60) for _ in range(count)])
    counted, ignored = (int((column <= LEVEL).sum()) for column in ps.T)
    assert wilson(counted, count)[0] <= LEVEL, Cell("reruns", counted, count).line()
    assert ignored > counted
    found = sum(rerun_pair(rng, 0.0, drop=2 * DROP, size=60)[0] <= LEVEL for _ in range(15))
    assert found >= 9
