"""The statistics against scipy, against figures worked out by hand, and at their edges."""

import math
from itertools import product

import numpy as np
import pytest
import scipy  # its parts are loaded by the tests that use them
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ragstone.display import Cell
from ragstone.stats import (
    Estimate,
    count_interval,
    decisive_interval,
    difference_interval,
    effective,
    exact_interval,
    holm,
    mcnemar_exact,
    mean_interval,
    paired_test,
    permutation_paired,
    wilson,
)

proportions = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(proportions)
def test_wilson_agrees_with_scipy(pair: tuple[int, int]) -> None:
    won, n = pair
    expected = scipy.stats.binomtest(won, n).proportion_ci(method="wilson")
    assert wilson(won, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


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


def test_wilson_at_the_ends_is_exact() -> None:
    assert wilson(0, 50)[0] == 0.0
    assert wilson(50, 50)[1] == 1.0
    assert wilson(0, 50)[1] > 0.0


@pytest.mark.parametrize(("won", "n"), [(-1, 5), (6, 5), (1, 0)])
def test_wilson_refuses_what_is_no_proportion(won: int, n: int) -> None:
    with pytest.raises(ValueError, match="not a proportion"):
        wilson(won, n)


def clustered(counts: list[tuple[int, int]]) -> tuple[float | None, float | None]:
    share = Estimate.of_share(counts)
    return share.low, share.high


@given(st.integers(2, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_mean_of_independent_zeros_and_ones_has_wilsons_interval_as_far_as_the_exact_one(
    pair: tuple[int, int],
) -> None:
    won, n = pair
    exact = scipy.stats.binomtest(won, n).proportion_ci(confidence_level=0.93, method="exact")
    low, high = wilson(won, n)
    expected = pytest.approx((min(low, exact.low), max(high, exact.high)), abs=1e-9)
    assert mean_interval([1.0] * won + [0.0] * (n - won)) == expected
    assert clustered([(1, 1)] * won + [(0, 1)] * (n - won)) == expected
    assert count_interval(won, n) == expected


@given(st.integers(2, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_to_decide_by_is_exact_for_zeros_and_ones(pair: tuple[int, int]) -> None:
    won, n = pair
    exact = scipy.stats.binomtest(won, n).proportion_ci(method="exact")
    values = [1.0] * won + [0.0] * (n - won)
    assert decisive_interval(values) == pytest.approx((exact.low, exact.high), abs=1e-9)
    assert decisive_interval(values * 3, groups=[*range(n)] * 3) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=8, max_size=14), st.integers(0, 9))
@settings(max_examples=examples(20))
def test_the_bounded_interval_is_gaffkes(values: list[float], seed: int) -> None:
    """Its upper end, by drawing the weights, from eight scores on: a gate decides nothing by fewer, where the beta
    distribution in its place is less close."""
    found = decisive_interval(values)
    assert found is not None
    weights = np.random.default_rng(seed).dirichlet(np.ones(len(values) + 1), 40_000)
    drawn = np.quantile(weights @ np.array([*values, 1.0]), 0.975)
    assert found[1] == pytest.approx(drawn, abs=0.04)
    mirrored = decisive_interval([1.0 - value for value in values])
    assert mirrored is not None
    assert 1.0 - mirrored[1] == pytest.approx(found[0], abs=1e-6)


def test_what_no_score_showed_may_still_be_rare_and_large() -> None:
    # One question in fifty is wrong: of a hundred, none is in 13% of samples. The interval must reach so far.
    found = mean_interval([0.99] * 100)
    assert found is not None
    assert found[0] < 0.98 - 0.01


@given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(2, 5))
def test_repeats_that_always_agree_tell_no_more_than_one_answer(answers: list[bool], repeats: int) -> None:
    repeated = clustered([(repeats * right, repeats) for right in answers])
    assert repeated == pytest.approx(count_interval(sum(answers), len(answers)), abs=1e-9)
    values, groups = [float(right) for right in answers] * repeats, [*range(len(answers))] * repeats
    assert mean_interval(values, groups=groups) == pytest.approx(repeated)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.integers(2, 5))
def test_repeats_of_graded_scores_that_agree_change_nothing(scores: list[float], repeats: int) -> None:
    groups = [*range(len(scores))] * repeats
    for interval in (mean_interval, decisive_interval):
        alone = interval(scores)
        assert alone is not None
        assert interval(scores * repeats, groups=groups) == pytest.approx(alone, abs=1e-9)
        assert alone[0] - 1e-12 <= sum(scores) / len(scores) <= alone[1] + 1e-12


def test_repeats_of_graded_scores_that_vary_freely_tell_more() -> None:
    # Two answers to each of 30 questions, which vary as much within a question as between questions.
    first, second = np.random.default_rng(4).beta(0.4, 1.6, (2, 30)).tolist()
    groups = [*range(30)] * 2
    apart, both = decisive_interval(first + second), decisive_interval(first + second, groups=groups)
    alike = decisive_interval(first + first, groups=groups)
    assert apart is not None
    assert both is not None
    assert alike is not None
    assert both == pytest.approx(apart, abs=0.01)
    assert both[1] - both[0] < alike[1] - alike[0] - 0.03


def test_repeats_that_vary_freely_count_in_full_and_no_more() -> None:
    # Every question is right once in two: the trials differ as much within a question as between questions.
    low, high = clustered([(1, 2)] * 50)
    assert low is not None
    assert high is not None
    # A little more than Wilson's: one more question, unseen, has two answers.
    assert (low, high) == pytest.approx(wilson(50, 100), abs=0.005)
    assert low < wilson(50, 100)[0]


def test_clusters_between_the_two_by_hand() -> None:
    # Clusters 2/2, 1/2, 0/2, 1/2: deviations 1, 0, -1, 0 of 8 trials, each against the other three clusters, times
    # 4 clusters: (4 * 1 / 6)² twice. r = (8 / 9 + 0.15) / (4 / 4 + 0.15), and the effective number is 4 / r.
    trials = 4 / ((8 / 9 + 0.15) / 1.15)
    # With an unseen fifth, as large as what is worth one trial, all of which is right.
    unseen = 8 / trials
    middle = (4 + unseen) / (8 + unseen)
    against = (8 + unseen) * 4 / 5 / (6 + unseen)
    squares = sum(((won - 2 * middle) * against) ** 2 for won in (2, 1, 0, 1)) + ((1 - middle) * unseen) ** 2
    size = min(middle * (1 - middle) / (squares / (8 + unseen) ** 2 * 5 / 6) - 1, 8 + 1)
    reach = scipy.stats.beta.ppf(0.965, middle * size, (1 - middle) * size)
    high = max(by_formula(1 / 2, trials)[1], reach)
    assert clustered([(2, 2), (1, 2), (0, 2), (1, 2)]) == pytest.approx((1 - high, high), abs=1e-9)
    mean, found = effective(np.array([2.0, 1, 0, 1]), np.full(4, 2.0))
    assert (float(mean), float(found)) == pytest.approx((0.5, trials))


def test_a_mean_of_scores_by_hand() -> None:
    # 0.2, 0.4, 0.9: mean 0.5; deviations -0.3, -0.1, 0.4 against the two others, times 3 of 2: 2.25 * 0.26 = 0.585.
    trials = 3 / ((0.585 + 0.15) / (3 / 4 + 0.15))
    found = mean_interval([0.2, 0.4, 0.9])
    assert found is not None
    # With an unseen 1: mean 0.625; deviations -0.425, -0.225, 0.275, 0.375; from 0.2, the least, to 1.
    place = 0.425 * 0.375 / ((0.180625 + 0.050625 + 0.075625 + 0.140625) / 16 * 4 / 5) - 1
    reach = 0.2 + 0.8 * scipy.stats.beta.ppf(0.965, 0.425 / 0.8 * place, 0.375 / 0.8 * place)
    assert found[1] == pytest.approx(max(by_formula(0.5, trials)[1], reach), abs=1e-9)
    # Equal scores are no certainty: what was not seen may be 0 or 1.
    high = 0.5 + 0.5 * (1 - 0.035**0.1)
    assert mean_interval([0.5] * 10) == pytest.approx((1 - high, high), abs=1e-9)


def by_formula(share: float, n: float) -> tuple[float, float]:
    """Wilson 1927, by the formula."""
    z = 1.959963984540054
    centre, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


def test_one_unit_has_no_interval() -> None:
    assert mean_interval([]) is mean_interval([0.4]) is mean_interval([1.0]) is mean_interval([7.0]) is None
    assert mean_interval([0.0, 1.0], groups=["q", "q"]) is None
    assert difference_interval([]) is difference_interval([0.5]) is None
    assert difference_interval([0.5, 0.1], groups=["q", "q"]) is None
    for single in (Estimate.of_count(1, 1), Estimate.of_share([(2, 3), (0, 0)]), Estimate.of_mean([0.5])):
        assert single.value is not None
        assert (single.low, single.high, single.known) == (None, None, None)


scores = st.lists(st.floats(0, 1), min_size=2, max_size=40)


@given(scores, st.integers(1, 4))
def test_the_interval_of_a_mean_holds_it_mirrors_and_ignores_the_order(values: list[float], repeats: int) -> None:
    groups = [index // repeats for index in range(len(values))]
    found = mean_interval(values, groups=groups)
    if len(set(groups)) < 2:
        assert found is None
        return
    assert found is not None
    assert 0.0 <= found[0] <= math.fsum(values) / len(values) + 1e-12
    assert found[1] + 1e-12 >= math.fsum(values) / len(values)
    assert mean_interval(values[::-1], groups=groups[::-1]) == pytest.approx(found, abs=1e-9)
    mirrored = mean_interval([1 - value for value in values], groups=groups)
    assert mirrored == pytest.approx((1 - found[1], 1 - found[0]), abs=1e-6)


def test_scores_beyond_the_unit_interval_have_students_interval() -> None:
    values = [3.0, 4.5, 5.0, 9.0]
    expected = scipy.stats.t.interval(0.95, 3, np.mean(values), scipy.stats.sem(values))
    assert mean_interval(values) == pytest.approx(expected)
    assert difference_interval(values) == pytest.approx(expected)
    assert mean_interval([*values, *values], groups=[*range(4), *range(4)]) == pytest.approx(expected)
    # The two-sided 95% points of Student's distribution with 1 and with 1,000 degrees of freedom.
    assert mean_interval([2.0, 4.0]) == pytest.approx((3 - 12.706205, 3 + 12.706205), abs=1e-5)
    thousand = [float(2 * (index % 2)) for index in range(1001)]
    mean, error = np.mean(thousand), scipy.stats.sem(thousand)
    assert mean_interval(thousand) == pytest.approx((mean - 1.962339 * error, mean + 1.962339 * error), abs=1e-6)


def test_a_score_beyond_1_by_rounding_is_one_of_the_unit_interval() -> None:
    assert mean_interval([1.0 + 1e-12, 1.0, 1.0]) == pytest.approx(count_interval(3, 3), abs=1e-6)


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=examples(40))
def test_the_exact_interval_agrees_with_scipy(pair: tuple[int, int]) -> None:
    won, n = pair
    expected = scipy.stats.binomtest(won, n).proportion_ci(method="exact")
    assert exact_interval(won / n, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_exact_interval_of_a_broken_number_of_trials_is_a_beta_quantile() -> None:
    low, high = exact_interval(0.3, 12.5)
    assert low == pytest.approx(scipy.stats.beta.ppf(0.025, 3.75, 9.75), abs=1e-9)
    assert high == pytest.approx(scipy.stats.beta.ppf(0.975, 4.75, 8.75), abs=1e-9)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_means_and_tests_refuse_what_is_no_finite_number(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_interval([1.0, bad])
    with pytest.raises(ValueError, match="finite"):
        difference_interval([0.0, bad])
    with pytest.raises(ValueError, match="finite"):
        permutation_paired([1.0, bad], [0.0, 0.0])


def test_groups_must_be_one_a_value() -> None:
    with pytest.raises(ValueError, match="2 values, but 1 groups"):
        mean_interval([1.0, 2.0], groups=["a"])


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


def test_the_interval_of_a_difference_by_hand() -> None:
    # 3 of 10 gained and 1 lost: Wilson's intervals of both, put together with their correlation.
    (gain_low, gain_high), (loss_low, loss_high) = wilson(3, 10), wilson(1, 10)
    together = -0.3 * 0.1 / math.sqrt(0.3 * 0.7 * 0.1 * 0.9)
    below, above = (0.3 - gain_low, loss_high - 0.1), (gain_high - 0.3, 0.1 - loss_low)
    reaches = [math.sqrt(a * a + b * b - 2 * together * a * b) for a, b in (below, above)]
    differences = [1.0] * 3 + [-1.0] + [0.0] * 6
    assert difference_interval(differences) == pytest.approx((0.2 - reaches[0], 0.2 + reaches[1]), abs=1e-12)


def test_a_difference_is_near_to_the_published_mirrored_and_never_certain() -> None:
    # Newcombe 1998, table II: 12 and 2 of 50 pairs; the score method gives 0.0611 to 0.3447.
    differences = [1.0] * 12 + [-1.0] * 2 + [0.0] * 36
    found = difference_interval(differences)
    assert found == pytest.approx((0.0611, 0.3447), abs=0.015)
    assert found is not None
    assert difference_interval([-value for value in differences]) == pytest.approx((-found[1], -found[0]), abs=1e-12)
    none = difference_interval([0.0] * 20)
    assert none == pytest.approx((-wilson(0, 20)[1], wilson(0, 20)[1]))
    assert difference_interval([1.0] * 20) == pytest.approx((1 - math.sqrt(2) * (1 - wilson(20, 20)[0]), 1.0))


def test_the_pairs_of_a_question_are_one_unit_of_a_difference() -> None:
    differences = [0.5, -0.25, 0.0, 1.0, 0.25]
    once = difference_interval(differences)
    assert difference_interval(differences * 3, groups=[*range(5)] * 3) == pytest.approx(once)
    assert difference_interval(differences[::-1] * 3, groups=[*range(5)] * 3) == pytest.approx(once)


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


@settings(max_examples=examples(40))
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=1, max_size=12))
def test_permutation_flips_the_pairs_of_a_question_together_and_weighs_each_pair(pairs: list[tuple[int, int]]) -> None:
    groups, differences = [group for group, _ in pairs], [float(difference) for _, difference in pairs]
    sums = {group: sum(d for g, d in pairs if g == group) for group in groups}
    flips = [abs(sum(s * d for s, d in zip(signs, sums.values(), strict=True)))
             for signs in product((1, -1), repeat=len(sums))]  # fmt: skip
    expected = sum(flip >= abs(sum(sums.values())) for flip in flips) / len(flips)
    zeros = [0.0] * len(pairs)
    assert permutation_paired(zeros, differences, groups=groups) == pytest.approx(expected, abs=1e-12)


def test_the_test_follows_from_the_scores() -> None:
    a, b = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]
    assert paired_test(a, b) == paired_test(a, b, groups=list("wxyz")) == ("mcnemar", mcnemar_exact(1, 3))
    assert paired_test(a, b, groups=list("wxyy")) == ("permutation", 0.75)
    assert paired_test([0.5, 0.0], [1.0, 0.0]) == ("permutation", 1.0)


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
    assert share == Estimate(2 / 3, *count_interval(2, 3), 3, 5) == Estimate.of_count(2, 3, total=5)
    assert share.count == 2
    cell = share.cell("%")
    assert (cell.value, cell.low, cell.high, cell.scored, cell.total, cell.unit) == (
        2 / 3,
        *count_interval(2, 3),
        3,
        5,
        "%",
    )
    (point,) = share.points(4.0)
    assert (point.x, point.y, point.low, point.high) == (4.0, 2 / 3, *count_interval(2, 3))


def test_questions_that_were_asked_twice_are_clusters_of_an_estimate() -> None:
    values, groups = [0.5, 0.25, 1.0, 0.5], ["a", "a", "b", "c"]
    mean, gain = (make(values, groups=groups, total=6) for make in (Estimate.of_mean, Estimate.of_difference))
    assert (mean.low, mean.high) == mean_interval(values, groups=groups) != mean_interval(values)
    assert (gain.low, gain.high) == difference_interval(values, groups=groups)
    assert (mean.value, mean.n, mean.total) == (gain.value, gain.n, gain.total) == (2.25 / 4, 4, 6)
    answers = [(2, 2), (0, 2), (2, 2), (1, 2)]
    flat = [float(index < won) for won, tried in answers for index in range(tried)]
    assert clustered(answers) == pytest.approx(mean_interval(flat, groups=[0, 0, 1, 1, 2, 2, 3, 3]))


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
