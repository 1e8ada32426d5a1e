"""One decision: p, the interval and what is said of them never contradict each other, and chance is rarely taken for a
difference."""

import math

import numpy as np
import pytest
import scipy  # its parts are loaded by the tests that use them
from hypothesis import given
from hypothesis import strategies as st

from ragstone.stats import LEVEL, Decision, decide, family, holm
from ragstone.stats.intervals import student_beyond, student_quantile

SCORES = {
    "right or wrong": st.sampled_from([0.0, 1.0]),
    "half": st.sampled_from([0.0, 0.5, 1.0]),
    "graded": st.floats(0, 1),
    "any": st.floats(-50, 50),
}
PAIRS = st.sampled_from(sorted(SCORES)).flatmap(
    lambda kind: st.lists(st.tuples(SCORES[kind], SCORES[kind], st.integers(0, 20)), min_size=1, max_size=60)
)


def changed(won: int, lost: int, n: int) -> Decision:
    """Of `n` questions so many are right in B only, and in A only."""
    before, after = np.zeros(n), np.zeros(n)
    after[:won] = before[won : won + lost] = 1.0
    return decide(before, after)


def agrees(decision: Decision, level: float) -> bool:
    ends = decision.interval(level)
    return ends is None or (decision.p < level) == (ends[0] > 0 or ends[1] < 0)


@pytest.mark.parametrize(("won", "lost", "n"), [(4, 0, 10), (5, 0, 30), (5, 0, 100), (9, 2, 40)])
def test_what_mcnemar_does_not_show_no_interval_shows(won: int, lost: int, n: int) -> None:
    for decision in (changed(won, lost, n), changed(lost, won, n)):
        assert decision.kind == "mcnemar"
        assert decision.p == pytest.approx(scipy.stats.binomtest(won, won + lost).pvalue)
        assert decision.p > LEVEL
        low, high = decision.interval() or (math.nan, math.nan)
        assert low <= 0 <= high


def test_six_of_six_are_shown_and_mirror_each_other() -> None:
    up, down = changed(6, 0, 30), changed(0, 6, 30)
    assert up.p == pytest.approx(2 / 2**6) == down.p
    assert up.interval() == pytest.approx(tuple(-end for end in reversed(down.interval() or ())))
    assert (up.interval() or (0, 0))[0] > 0


@given(PAIRS, st.booleans(), st.floats(1e-6, 0.9))
def test_an_interval_has_0_exactly_if_p_is_not_below_its_level(
    pairs: list[tuple[float, float, int]], grouped: bool, level: float
) -> None:
    a, b, groups = map(list, zip(*pairs, strict=True))
    decision = decide(a, b, groups=groups if grouped else None)
    assert 0 <= decision.p <= 1
    assert agrees(decision, LEVEL)
    assert agrees(decision, level) or abs(decision.p / level - 1) < 1e-6
    low, high = decision.interval() or (decision.difference, decision.difference)
    assert low - 1e-9 <= decision.difference <= high + 1e-9


@given(st.lists(PAIRS, min_size=1, max_size=6))
def test_intervals_of_a_family_agree_with_its_corrected_p(several: list[list[tuple[float, float, int]]]) -> None:
    decisions = [decide([a for a, _, _ in pairs], [b for _, b, _ in pairs]) for pairs in several]
    found = family(decisions)
    assert [p for p, _ in found] == holm([decision.p for decision in decisions])
    for decision, (p, level) in zip(decisions, found, strict=True):
        assert 0 < level <= LEVEL
        ends = decision.interval(level)
        assert ends is None or (p < LEVEL) == (ends[0] > 0 or ends[1] < 0) or abs(p / LEVEL - 1) < 1e-6


@pytest.mark.parametrize("n", [10, 30])
def test_rare_large_losses_are_not_overlooked(n: int) -> None:
    """One question in twenty loses 0.8 and the others gain a little, so that the true difference is 0: flipping signs
    took this for a difference in 61% of samples of ten."""
    rng = np.random.default_rng(7)
    drawn = [np.where(rng.random(n) < 0.05, -0.8, 0.8 / 19) for _ in range(200)]
    assert np.mean([decide(np.full(n, 0.8), 0.8 + row).p < LEVEL for row in drawn]) <= 0.06


def test_few_units_show_nothing_and_one_has_no_interval() -> None:
    assert decide([0.0], [1.0]).interval() is None
    assert decide([], []).p == decide([0.5, 0.5], [0.5, 0.5]).p == decide([0.0], [1.0]).p == 1.0
    assert decide([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]).p == 0.25  # all alike
    assert decide([0.0, 0.0, 1.0], [1.0, 1.0, 1.0], groups="aab").interval() == pytest.approx((-1, 1), abs=0.5)


def test_pairs_of_one_question_are_one_unit() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random(12), rng.random(12)
    once, thrice = decide(a, b), decide([*a] * 3, [*b] * 3, groups=[*range(12)] * 3)
    assert thrice.p == pytest.approx(once.p)
    assert thrice.interval() == pytest.approx(once.interval())


@pytest.mark.parametrize(("quantile", "degrees"), [(2.0, 9), (40.0, 9), (1e-4, 5), (3.0, 299), (5.0, 1e6), (1.3, 0.7)])
def test_students_distribution_is_scipys(quantile: float, degrees: float) -> None:
    p = student_beyond(quantile, degrees)
    assert p == pytest.approx(2 * scipy.stats.t.sf(quantile, degrees))
    assert student_quantile(degrees, p) == pytest.approx(quantile, rel=1e-6)


def test_what_is_no_pair_is_refused() -> None:
    with pytest.raises(ValueError, match="1 values against 0"):
        decide([1.0], [])
    with pytest.raises(ValueError, match="finite"):
        decide([1.0], [math.nan])
