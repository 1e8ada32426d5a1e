"""Bounds on bad items of a set against scipy, and at their edges."""

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from ragstone.stats import at_most, bad_interval, sample_needed


@pytest.mark.parametrize(("bad", "n"), [(0, 59), (1, 93), (0, 1), (3, 3), (7, 200), (120, 1000)])
def test_of_an_endless_set_the_interval_is_clopper_pearson(bad: int, n: int) -> None:
    expected = scipy.stats.binomtest(bad, n).proportion_ci(method="exact")
    assert bad_interval(bad, n) == pytest.approx((expected.low, expected.high), abs=1e-9)
    one_sided = scipy.stats.binomtest(bad, n, alternative="less").proportion_ci(method="exact", confidence_level=0.95)
    assert at_most(bad, n) == pytest.approx(one_sided.high, abs=1e-9)


def by_trying(bad: int, n: int, population: int, outside: float) -> float:
    """The bound by asking scipy about every number of bad items that there can be."""
    possible = range(bad, population - (n - bad) + 1)
    return (
        max(k for k in possible if scipy.stats.hypergeom.cdf(bad, population, k, n) > outside * (1 + 1e-9)) / population
    )


@given(st.integers(1, 60), st.data())
def test_of_a_set_the_bound_is_the_largest_number_that_the_hypergeometric_distribution_allows(
    population: int, data: st.DataObject
) -> None:
    n = data.draw(st.integers(0, population))
    bad = data.draw(st.integers(0, n))
    assert at_most(bad, n, population) == by_trying(bad, n, population, 0.05)
    low, high = bad_interval(bad, n, population)
    assert high == by_trying(bad, n, population, 0.025)
    assert low == pytest.approx(1 - by_trying(n - bad, n, population, 0.025))


@pytest.mark.parametrize("bad", [0, 1, 5, 20])
def test_the_bound_is_missed_in_at_most_one_sample_in_twenty(bad: int) -> None:
    population, n = 120, 40
    missed = sum(
        scipy.stats.hypergeom.pmf(drawn, population, bad, n)
        for drawn in range(min(bad, n) + 1)
        if at_most(drawn, n, population) < bad / population
    )
    assert missed <= 0.05


def test_what_was_reviewed_whole_is_known() -> None:
    assert bad_interval(3, 200, 200) == pytest.approx((0.015, 0.015))
    assert at_most(0, 200, 200) == 0.0
    assert at_most(0, 0, 200) == 1.0
    assert at_most(0, 0) == 1.0


def test_the_sample_that_a_bound_needs() -> None:
    assert sample_needed(0.05) == 59
    assert sample_needed(0.05, 1) == 93
    assert sample_needed(0.05, population=10**6) == 59
    assert sample_needed(0.05, population=200) == 47
    assert sample_needed(0.01, 3, population=200) is None  # three of 200 are more than 1%
    assert sample_needed(0.01, population=20) == 19  # one bad of 20 stays undrawn in one sample in twenty
    for most in (0.02, 0.1):
        for population in (None, 75):
            needed = sample_needed(most, 1, population)
            assert needed is not None
            assert at_most(1, needed, population) <= most < at_most(1, needed - 1, population)


def test_a_large_set_costs_no_time_and_comes_near_an_endless_one() -> None:
    assert at_most(30, 2000, 10_000_000) == pytest.approx(at_most(30, 2000), rel=1e-3)


def test_impossible_counts_are_refused() -> None:
    for bad, n, population in ((2, 1, None), (-1, 3, None), (0, 11, 10)):
        with pytest.raises(ValueError, match="no sample"):
            at_most(bad, n, population)
    with pytest.raises(ValueError, match="between 0 and 1"):
        sample_needed(1.5)
