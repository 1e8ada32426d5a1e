"""That the intervals cover what `docs/what-the-numbers-mean.md` says they do, and are no wider than it says: each limit
is the documented figure, and the draws are those that the bench takes."""

import numpy as np
import pytest
from bench.calibration import ACCURACIES, RATES, accurate
from bench.coverage import differences, false_failures, intervals, means, scores_of, shares

from ragstone.stats import score_interval
from ragstone.stats.intervals import FAR_LEVEL

# By mean and number of questions: the least coverage in percent, and the largest width by the oracle's.
DOCUMENTED = {
    "0.02 and 0.98": {10: (97.9, 2.36), 30: (96.4, 1.78), 100: (97.3, 1.34), 300: (93.8, 1.14)},
    "0.1": {10: (96.6, 1.42), 30: (95.7, 1.18), 100: (94.2, 1.07), 300: (94.0, 1.04)},
    "0.5": {10: (94.2, 1.12), 30: (94.6, 1.01), 100: (93.6, 1.01), 300: (93.8, 1.01)},
}


@pytest.mark.parametrize(("kind", "trials"), [("0/1", 20), ("beta", np.inf), ("rare", np.inf)])
def test_the_bench_measures_the_interval_of_the_product(kind: str, trials: float) -> None:
    scores, sizes = scores_of(np.random.default_rng(5), kind, np.full((40, 20), 0.1)), np.ones(20)
    variances = scores.var(axis=1)
    found = np.array(intervals(scores, sizes, trials, variances)).T
    for row, variance, ends in zip(scores, variances, found, strict=True):
        assert score_interval(row, sizes, trials=trials, variance=variance) == pytest.approx(tuple(ends), abs=1e-9)


@pytest.mark.slow
def test_every_interval_of_a_mean_covers_it_and_is_no_wider_than_documented() -> None:
    cells = list(means(1000))
    assert len(cells) == 288
    wrong = {}
    for cell in cells:
        _, mean, _, n, *_ = cell.name.split()
        least, widest = DOCUMENTED.get(mean, DOCUMENTED["0.02 and 0.98"])[int(n.removeprefix("n="))]
        covered, width = round(100 * cell.share, 1), round(cell.width / cell.oracle, 2)
        if covered < least or width > widest:
            wrong[cell.name] = (covered, width)
    assert not wrong
    assert sum(cell.width > 1.2 * cell.oracle for cell in cells) <= 66
    before = min(means(1000, old=True), key=lambda cell: cell.share)
    assert round(before.share, 3) == 0.632  # why the ends reach farther


@pytest.mark.slow
def test_every_interval_of_a_difference_covers_it() -> None:
    cells = list(differences(1000))
    assert len(cells) == 252
    assert min(cell.share for cell in cells) >= 0.931


@pytest.mark.slow
def test_shares_cover_and_are_as_wide_as_documented() -> None:
    """Exact, without draws."""
    few, more = shares(2, 9, FAR_LEVEL), shares(10, 100, FAR_LEVEL)
    assert round(few.covered[0], 3) >= 0.934
    assert round(more.covered[0], 3) >= 0.931
    assert (round(few.width[0], 2), round(few.width[1], 2)) == (1.04, 1.24)
    assert (round(more.width[0], 2), round(more.width[1], 2)) == (1.0, 1.13)
    ten = shares(10, 10, FAR_LEVEL)
    assert (round(ten.width[0], 2), round(ten.width[1], 2)) == (1.03, 1.13)
    assert round(ten.covered[0], 3) == 0.947
    wider = shares(10, 10, 0.05)
    assert (round(wider.width[0], 2), round(wider.width[1], 2)) == (1.11, 1.19)
    assert round(shares(10, 10, None).covered[0], 3) == 0.835  # Wilson's alone: why the ends reach farther
    assert round(shares(10, 10, 0.1).covered[0], 3) == 0.923


@pytest.mark.slow
@pytest.mark.parametrize(("n", "most"), [(5, 0.015), (8, 0.012), (10, 0.016), (30, 0.027), (100, 0.025)])
def test_gates_fail_few_good_systems(n: int, most: float) -> None:
    assert round(false_failures(4000, n), 3) <= most


@pytest.mark.slow
def test_gates_by_the_interval_before_failed_many_good_systems() -> None:
    assert round(false_failures(4000, 100, old=True), 2) == 0.37


@pytest.mark.slow
@pytest.mark.parametrize("labels", [50, 100, 200])
def test_a_judge_who_is_nearly_always_right_does_not_hide_that_it_errs(labels: int) -> None:
    for accuracy in ACCURACIES:
        for rate in RATES:
            found = accurate(accuracy, rate, labels, 300)
            assert np.mean([one.low <= rate <= one.high for one in found]) >= 0.93
            alone = np.mean([one.labels_only[2] - one.labels_only[1] for one in found])
            assert np.mean([one.high - one.low for one in found]) <= alone
