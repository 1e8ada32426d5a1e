"""The statistics against scipy, against figures worked out by hand, and at their edges."""

import math
from itertools import product

import numpy as np
import pytest
import scipy  # its parts are loaded by the tests that use them
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ragstone.stats import (
    Estimate,
    bootstrap_mean,
    holm,
    mcnemar_exact,
    mean_interval,
    paired_difference,
    permutation_paired,
    wilson,
    wilson_clustered,
)
from ragstone.types import Cell

proportions = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(proportions, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_wilson_agrees_with_scipy(pair: tuple[int, int], level: float) -> None:
    won, n = pair
    expected = scipy.stats.binomtest(won, n).proportion_ci(confidence_level=level, method="wilson")
    assert wilson(won, n, level) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_of_a_published_example() -> None:
    # Newcombe 1998, table I: 81 of 263.
    low, high = wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


@given(proportions)
def test_wilson_lies_within_0_and_1_and_holds_the_proportion(pair: tuple[int, int]) -> None:
    won, n = pair
    low, high = wilson(won, n)
    assert 0.0 <= low <= won / n <= high <= 1.0
    assert low < high


@given(proportions)
def test_wilson_of_the_failures_is_the_mirror_image(pair: tuple[int, int]) -> None:
    won, n = pair
    low, high = wilson(won, n)
    assert wilson(n - won, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_wilson_of_nothing_says_that_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson_clustered([]) == (0.0, 1.0)
    assert wilson_clustered([(0, 0)]) == (0.0, 1.0)


def test_wilson_at_the_ends_is_exact() -> None:
    assert wilson(0, 50)[0] == 0.0
    assert wilson(50, 50)[1] == 1.0
    assert wilson(0, 50)[1] > 0.0


@pytest.mark.parametrize(("won", "n"), [(-1, 5), (6, 5), (1, 0)])
def test_wilson_refuses_what_is_no_proportion(won: int, n: int) -> None:
    with pytest.raises(ValueError, match="not a proportion"):
        wilson(won, n)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_of_confidence_lies_between_0_and_1(level: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        wilson(1, 2, level)
    with pytest.raises(ValueError, match="between 0 and 1"):
        bootstrap_mean([1.0], level=level)


@given(proportions)
def test_clusters_of_one_trial_give_about_the_plain_interval(pair: tuple[int, int]) -> None:
    won, n = pair
    clusters = [(1, 1)] * won + [(0, 1)] * (n - won)
    assert wilson_clustered(clusters) == pytest.approx(wilson(won, n), abs=1e-9)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(2, 5))
def test_repeats_that_always_agree_tell_no_more_than_one_answer(answers: list[bool], repeats: int) -> None:
    repeated = wilson_clustered([(repeats * right, repeats) for right in answers])
    assert repeated == pytest.approx(wilson(sum(answers), len(answers)), abs=1e-9)


def test_repeats_that_vary_freely_count_in_full() -> None:
    # Every question is right once in two: the trials differ as much within a question as between questions.
    assert wilson_clustered([(1, 2)] * 50) == pytest.approx(wilson(50, 100), abs=1e-12)


def test_clustered_wilson_between_the_two_by_hand() -> None:
    # Clusters 2/2, 1/2, 0/2, 1/2: p = 1/2, v = 4/3 * (1 + 0 + 1 + 0) / 64 = 1/24, effective n = (1/4) * 24 = 6.
    assert wilson_clustered([(2, 2), (1, 2), (0, 2), (1, 2)]) == pytest.approx(wilson(3, 6), abs=1e-12)


def test_clustered_wilson_refuses_impossible_counts() -> None:
    with pytest.raises(ValueError, match="more successes"):
        wilson_clustered([(3, 2)])


def test_bootstrap_agrees_with_scipy() -> None:
    values = np.random.Generator(np.random.PCG64(7)).normal(3.0, 2.0, size=400)
    expected = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    low, high = bootstrap_mean(values.tolist(), seed=5, resamples=4000)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=0.03)


finite = st.floats(-1e6, 1e6, allow_nan=False)


@settings(max_examples=examples(40))
@given(st.lists(finite, min_size=1, max_size=40), st.integers(0, 2**32))
def test_bootstrap_lies_within_the_values_and_ignores_their_order(values: list[float], seed: int) -> None:
    low, high = bootstrap_mean(values, seed=seed, resamples=200)
    slack = 1e-9 * max(1.0, *map(abs, values))
    assert min(values) - slack <= low <= high <= max(values) + slack
    assert bootstrap_mean(values[::-1], seed=seed, resamples=200) == (low, high)


def test_bootstrap_with_the_same_seed_gives_the_same_interval() -> None:
    values = [0.0, 1.0, 1.0, 0.5, 0.25]
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1, resamples=50) != bootstrap_mean(values, seed=2, resamples=50)


def test_bootstrap_draws_whole_groups() -> None:
    rng = np.random.Generator(np.random.PCG64(3))
    per_group = rng.normal(size=40)
    repeated = [float(value) for value in per_group for _ in range(10)]
    groups = [f"q{number}" for number in range(40) for _ in range(10)]
    plain, clustered = bootstrap_mean(repeated), bootstrap_mean(repeated, groups=groups)
    alone = bootstrap_mean(per_group.tolist())
    assert clustered == pytest.approx(alone, abs=1e-9)
    assert clustered[1] - clustered[0] > 2.5 * (plain[1] - plain[0])


def test_bootstrap_weighs_groups_by_their_size() -> None:
    low, high = bootstrap_mean([1.0] * 9 + [0.0], groups=["a"] * 9 + ["b"])
    assert (low, high) == (0.0, 1.0)


def test_bootstrap_of_one_value_has_no_width_and_of_none_is_refused() -> None:
    assert bootstrap_mean([0.4]) == pytest.approx((0.4, 0.4))
    with pytest.raises(ValueError, match="no values"):
        bootstrap_mean([])


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_the_mean_of_zeros_and_ones_has_the_interval_of_a_proportion(answers: list[bool]) -> None:
    values = [float(answer) for answer in answers]
    assert mean_interval(values) == wilson_clustered((int(answer), 1) for answer in answers)
    twice = mean_interval([*values, *values], groups=[*range(len(values)), *range(len(values))])
    assert twice == pytest.approx(wilson_clustered((2 * int(answer), 2) for answer in answers))


def test_any_other_mean_has_that_of_the_bootstrap() -> None:
    values, groups = [0.0, 0.5, 1.0, 1.0], ["a", "a", "b", "c"]
    assert mean_interval(values) == bootstrap_mean(values)
    assert mean_interval(values, groups=groups) == bootstrap_mean(values, groups=groups)
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_means_and_tests_refuse_what_is_no_finite_number(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        bootstrap_mean([1.0, bad])
    with pytest.raises(ValueError, match="finite"):
        permutation_paired([1.0, bad], [0.0, 0.0])


def test_groups_must_be_one_a_value() -> None:
    with pytest.raises(ValueError, match="2 values, but 1 groups"):
        bootstrap_mean([1.0, 2.0], groups=["a"])


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_agrees_with_scipy(only_a: int, only_b: int) -> None:
    n = only_a + only_b
    expected = scipy.stats.binomtest(only_a, n).pvalue if n else 1.0
    assert mcnemar_exact(only_a, only_b) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"), [(0, 0, 1.0), (5, 5, 1.0), (6, 0, 2 / 64), (0, 5, 2 / 32), (8, 1, 20 / 512), (3, 4, 1.0)]
)
def test_mcnemar_by_hand(only_a: int, only_b: int, p: float) -> None:
    assert mcnemar_exact(only_a, only_b) == pytest.approx(p, rel=1e-12)


def test_mcnemar_of_very_many_pairs_is_quick_and_right() -> None:
    assert mcnemar_exact(50_500, 49_500) == pytest.approx(scipy.stats.binomtest(50_500, 100_000).pvalue, rel=1e-6)
    assert 0.0 <= mcnemar_exact(100_000, 0) < 1e-300


def likeliest(only_a: int, only_b: int, n: int, delta: float) -> float:
    """The standard errors between what was observed and `delta`, with the nuisance share found by search."""

    def unlikely(share: float) -> float:
        cells = ((only_a, share), (only_b, share + delta), (n - only_a - only_b, 1 - delta - 2 * share))
        return -sum(count * math.log(max(p, 1e-300)) for count, p in cells if count)

    low, high = max(0.0, -delta), (1 - delta) / 2
    found = scipy.optimize.minimize_scalar(unlikely, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
    share = min((found, low, high), key=unlikely)
    return abs((only_b - only_a) / n - delta) / math.sqrt((2 * share + delta - delta**2) / n)


@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 40))
@settings(max_examples=examples(60))
def test_the_ends_of_a_paired_difference_are_as_unlikely_as_the_level_says(only_a: int, only_b: int, same: int) -> None:
    n = only_a + only_b + same
    low, high = paired_difference(only_a, only_b, n)
    assert -1 <= low <= (only_b - only_a) / n <= high <= 1
    for end in (low, high):
        assert likeliest(only_a, only_b, n, end) == pytest.approx(1.959964, abs=1e-4)


def test_a_paired_difference_is_published_mirrored_and_never_certain() -> None:
    # Newcombe 1998, table II: 12 and 2 of 50 pairs; the score method gives 0.0611 to 0.3447.
    assert paired_difference(2, 12, 50) == pytest.approx((0.0611, 0.3447), abs=5e-5)
    assert paired_difference(12, 2, 50) == pytest.approx((-0.3447, -0.0611), abs=5e-5)
    assert paired_difference(0, 0, 20)[1] == pytest.approx(wilson(0, 20)[1])
    assert paired_difference(0, 20, 20)[1] == 1.0
    assert paired_difference(0, 0, 0) == (-1.0, 1.0)


@pytest.mark.parametrize(("only_a", "only_b", "n"), [(-1, 0, 5), (3, 3, 5)])
def test_a_paired_difference_refuses_impossible_counts(only_a: int, only_b: int, n: int) -> None:
    with pytest.raises(ValueError, match="of 5 pairs cannot differ"):
        paired_difference(only_a, only_b, n)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        mcnemar_exact(-1, 2)


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=9))
def test_permutation_agrees_with_trying_every_sign(pairs: list[tuple[int, int]]) -> None:
    a, b = [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
    differences = [x - y for x, y in zip(a, b, strict=True)]
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(a))
    ]
    expected = sum(total >= abs(sum(differences)) for total in sums) / len(sums)
    assert permutation_paired(a, b) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 7), st.integers(0, 7), st.integers(0, 20))
def test_permutation_of_right_and_wrong_is_mcnemar(only_a: int, only_b: int, both: int) -> None:
    a = [1.0] * only_a + [0.0] * only_b + [1.0] * both
    b = [0.0] * only_a + [1.0] * only_b + [1.0] * both
    assert permutation_paired(a, b) == pytest.approx(mcnemar_exact(only_a, only_b), abs=1e-12)


def test_permutation_that_draws_agrees_with_scipy_and_repeats() -> None:
    rng = np.random.Generator(np.random.PCG64(11))
    a, b = rng.normal(0.25, 1, 60), rng.normal(0, 1, 60)
    expected = scipy.stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=9999,
        vectorized=True, rng=np.random.default_rng(2),
    ).pvalue  # fmt: skip
    p = permutation_paired(a.tolist(), b.tolist(), seed=4)
    assert p == pytest.approx(expected, abs=0.02)
    assert permutation_paired(a.tolist(), b.tolist(), seed=4) == p
    assert permutation_paired(b.tolist(), a.tolist(), seed=4) == pytest.approx(p, abs=0.02)


def test_permutation_is_never_certain() -> None:
    assert permutation_paired([1.0] * 100, [0.0] * 100) == pytest.approx(1 / 10_000)


def test_permutation_of_nothing_or_no_difference_is_one() -> None:
    assert permutation_paired([], []) == 1.0
    assert permutation_paired([0.5, 0.5], [0.5, 0.5]) == 1.0


def test_permutation_needs_pairs() -> None:
    with pytest.raises(ValueError, match="Pairs"):
        permutation_paired([1.0], [])


def test_holm_by_hand() -> None:
    # Sorted .005 .01 .03 .04 times 4 3 2 1 = .02 .03 .06 .04, then never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.7, 0.9]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_a_p_value_keeps_their_order_and_lies_between_it_and_bonferroni(ps: list[float]) -> None:
    adjusted = holm(ps)
    for p, q in zip(ps, adjusted, strict=True):
        assert p <= q <= min(1.0, len(ps) * p)
        # Holm 1979: the largest of what the p-values up to this one are times the number that are not below them.
        assert q == pytest.approx(
            max(min(1.0, other * (len(ps) - below(ps, other))) for other in ps if other <= p), rel=1e-12
        )


def below(ps: list[float], p: float) -> int:
    return sum(other < p for other in ps)


def test_holm_refuses_what_is_no_p_value() -> None:
    with pytest.raises(ValueError, match="p-value"):
        holm([0.5, 1.5])


# Estimates.


def test_an_estimate_says_of_how_many_it_is_wherever_it_is_printed() -> None:
    share = Estimate.of_share([(1, 1), (0, 1), (1, 1)], total=5)
    assert share == Estimate(2 / 3, *wilson(2, 3), 3, 5) == Estimate.of_count(2, 3, total=5)
    assert share.count == 2
    cell = share.cell("%")
    assert (cell.value, cell.low, cell.high, cell.scored, cell.total, cell.unit) == (2 / 3, *wilson(2, 3), 3, 5, "%")
    (point,) = share.points(4.0)
    assert (point.x, point.y, point.low, point.high) == (4.0, 2 / 3, *wilson(2, 3))


def test_questions_that_were_asked_twice_are_clusters_of_an_estimate() -> None:
    counts = [(2, 2), (0, 2), (2, 2), (1, 2)]
    assert Estimate.of_share(counts).known == (5 / 8, *wilson_clustered(counts))
    values, groups = [0.5, 0.25, 1.0, 0.5], ["a", "a", "b", "c"]
    mean = Estimate.of_mean(values, groups=groups, total=6)
    assert mean.known == (2.25 / 4, *mean_interval(values, groups=groups))
    assert Estimate.of_mean(values, groups=list("abcd")).known == (2.25 / 4, *mean_interval(values))


def test_an_estimate_of_nothing_says_so_and_draws_no_point() -> None:
    for nothing in (
        Estimate.of_share([(0, 0)], total=4),
        Estimate.of_mean([], total=4),
        Estimate.of_count(0, 0, total=4),
    ):
        assert nothing == Estimate(total=4)
        assert nothing.known is None
        assert nothing.points(1.0) == []
        assert nothing.cell("%", empty="not asked") == Cell("not asked")
        assert nothing.cell() == Cell(scored=0, total=4)


def test_both_ends_of_a_bootstrap_leave_out_as_much() -> None:
    """Of values that lie alike on both sides of their mean, and near to the normal: mean ± 1.96 standard errors."""
    values = [float(value) for value in range(101)]
    low, high = bootstrap_mean(values)
    error = math.sqrt(850 / 101)  # the variance of 0…100 is (101² - 1) / 12
    assert low == pytest.approx(50 - 1.96 * error, abs=0.25)
    assert high == pytest.approx(50 + 1.96 * error, abs=0.25)
    low, high = bootstrap_mean(values, level=0.5)
    assert low == pytest.approx(50 - 0.6745 * error, abs=0.25)
    assert high == pytest.approx(50 + 0.6745 * error, abs=0.25)


def test_one_cluster_counts_as_one_trial() -> None:
    assert wilson_clustered([(1, 3)]) == pytest.approx(effective(1 / 3, 1))
    assert wilson_clustered([(2, 4), (0, 0)]) == pytest.approx(effective(1 / 2, 1))
    assert wilson_clustered([(3, 3), (2, 2)]) == wilson(2, 2)


def effective(share: float, n: float) -> tuple[float, float]:
    """Wilson 1927, by the formula."""
    z = 1.959963984540054
    centre, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)
