"""That the intervals cover what `docs/what-the-numbers-mean.md` says they do, coarsely."""

import numpy as np
import pytest
from bench.coverage import differences, false_failures, means

pytestmark = pytest.mark.slow


def test_every_interval_of_a_mean_covers_it() -> None:
    cells = list(means(1000))
    assert len(cells) == 108
    low = {cell.name: cell.share for cell in cells if cell.share < 0.915}
    assert not low
    assert np.mean([cell.share for cell in cells]) >= 0.94
    assert min(cell.bootstrap_share for cell in cells) < 0.5  # what it replaces


def test_every_interval_of_a_difference_covers_it() -> None:
    cells = list(differences(1000))
    assert not {cell.name: cell.share for cell in cells if cell.share < 0.915}


def test_gates_fail_few_good_systems_from_eight_samples_on() -> None:
    assert false_failures(4000, 8) <= 0.03
    assert false_failures(4000, 5) > 0.03  # why fewer decide nothing
