"""That the intervals cover what `docs/what-the-numbers-mean.md` says they do, coarsely."""

import numpy as np
import pytest
from bench.calibration import accurate
from bench.coverage import differences, false_failures, means

pytestmark = pytest.mark.slow


def test_every_interval_of_a_mean_covers_it_and_is_no_wider_than_it_must() -> None:
    cells = list(means(400))
    assert len(cells) == 288
    assert not {cell.name: cell.share for cell in cells if cell.share < 0.91}
    # Against one who knows how much the mean varies; near an end few scores do not show what is rare.
    wide = {cell.name: cell.width / cell.oracle for cell in cells if cell.width > 1.3 * cell.oracle}
    assert all("n=10 " in name or "n=30 " in name or "mean 0.02" in name or "mean 0.98" in name for name in wide)
    assert np.median([cell.width / cell.oracle for cell in cells]) < 1.1


def test_every_interval_of_a_difference_covers_it() -> None:
    cells = list(differences(1000))
    assert not {cell.name: cell.share for cell in cells if cell.share < 0.915}


def test_gates_fail_few_good_systems_from_eight_samples_on() -> None:
    assert false_failures(1000, 8) <= 0.045
    assert false_failures(1000, 30) <= 0.045


def test_a_judge_who_is_nearly_always_right_does_not_hide_that_it_errs() -> None:
    for accuracy in (0.95, 0.99):
        for rate in (0.05, 0.8):
            found = accurate(accuracy, rate, 50, 300)
            assert np.mean([one.low <= rate <= one.high for one in found]) >= 0.91
            assert np.mean([one.high - one.low for one in found]) < np.mean(
                [one.labels_only[2] - one.labels_only[1] for one in found]
            )
