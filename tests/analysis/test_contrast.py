"""The exact tests against scipy and by enumeration, and the interval of a difference of clustered answers."""

from itertools import product

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ragstone.analysis.contrast import Answers, contrast, exact_greater, excess
from ragstone.stats import apart, count_interval

counts = st.integers(0, 60)


def answers(*rows: tuple[int, float]) -> Answers:
    return Answers(np.array([unit for unit, _ in rows]), np.array([wrong for _, wrong in rows], dtype=float))


def mask(*rows: int) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return np.array(rows, dtype=bool)


@given(counts, counts, counts, counts)
@settings(max_examples=examples(200))
def test_one_stratum_is_fishers_exact_test(a: int, b: int, c: int, d: int) -> None:
    expected = scipy.stats.fisher_exact([[a, b], [c, d]], alternative="greater").pvalue
    assert exact_greater(np.array([[a, a + b, c, c + d]])) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=4))
@settings(max_examples=examples(100))
def test_strata_are_permuted_each_by_itself(tables: list[tuple[int, int, int, int]]) -> None:
    chances = {0: 1.0}
    for a, b, c, d in filter(any, tables):
        drawn = scipy.stats.hypergeom(a + b + c + d, a + c, a + b)
        mixed: dict[int, float] = {}
        for (before, p), k in product(chances.items(), range(a + b + 1)):
            mixed[before + k] = mixed.get(before + k, 0.0) + p * drawn.pmf(k)
        chances = mixed
    observed = sum(a for a, *_ in tables)
    strata = np.array([[a, a + b, c, c + d] for a, b, c, d in tables], dtype=np.int64).reshape(-1, 4)
    expected = sum(p for total, p in chances.items() if total >= observed)
    assert exact_greater(strata) == pytest.approx(expected, abs=1e-9)


def test_very_small_p_values_are_exact() -> None:
    # All 200 inside wrong, none of 200 outside: 1 / C(400, 200).
    expected = 1 / float(scipy.special.comb(400, 200, exact=True))
    assert exact_greater(np.array([[200, 200, 0, 200]])) == pytest.approx(expected, rel=1e-6)


def test_a_condition_compares_each_sample_with_itself() -> None:
    # Ten samples under both conditions, wrong only under the first: McNemar's one-sided p is 1/2^10.
    rows = answers(*[(unit, 1.0 - at) for unit in range(10) for at in (0, 1)])
    first = np.tile([True, False], 10)
    assert excess(rows, first, ~first, least=10) == pytest.approx(2**-10)
    assert contrast(rows, first, ~first).paired


def test_repeats_of_a_sample_are_not_more_samples() -> None:
    once = answers(*[(unit, float(unit < 8)) for unit in range(20)])
    twice = answers(*[(unit, float(unit < 8)) for unit in range(20) for _ in range(2)])
    inside = np.arange(20) < 10
    p = excess(once, inside, ~inside, least=10)
    assert p is not None
    assert excess(twice, np.repeat(inside, 2), ~np.repeat(inside, 2), least=10) == pytest.approx(p)
    one, two = contrast(once, inside, ~inside), contrast(twice, np.repeat(inside, 2), ~np.repeat(inside, 2))
    assert (one.samples, two.samples) == (10, 10)
    assert (two.inside.n, two.inside.value) == (20, one.inside.value)
    assert (two.low, two.high) == pytest.approx((one.low, one.high), abs=0.02)


def test_the_interval_of_single_answers_is_newcombes() -> None:
    rows = answers(*[(unit, float(unit % 5 == 0 or unit < 6)) for unit in range(60)])
    inside = np.arange(60) < 20
    made = contrast(rows, inside, ~inside)
    wrong = round(rows.wrong[inside].sum()), round(rows.wrong[~inside].sum())
    expected = apart((wrong[0] / 20, *count_interval(wrong[0], 20)), (wrong[1] / 40, *count_interval(wrong[1], 40)))
    assert (made.low, made.high) == pytest.approx((float(expected[0]), float(expected[1])))
    assert made.difference == pytest.approx(wrong[0] / 20 - wrong[1] / 40)


def test_too_few_samples_are_not_tested() -> None:
    rows = answers(*[(unit, float(unit < 5)) for unit in range(20)])
    inside = np.arange(20) < 9
    assert excess(rows, inside, ~inside, least=10) is None
    assert excess(rows, inside, ~inside, least=9) is not None
    assert excess(rows, ~mask(*[1] * 20), mask(*[1] * 20), least=1) is None


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_difference_by_chance_is_found_in_at_most_the_level(repeats: int) -> None:
    """With answers of a sample alike, and of other numbers."""
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(400):
        units = [unit for unit in range(40) for _ in range(1 + unit % repeats)]
        chance = rng.beta(0.6, 1.4, 40)
        rows = Answers(np.array(units), np.array(rng.random(len(units)) < chance[units], dtype=np.float64))
        inside = np.isin(rows.unit, rng.permutation(40)[:15])
        p = excess(rows, inside, ~inside, least=10)
        found += p is not None and p < 0.05
    assert found <= scipy.stats.binom.ppf(0.999, 400, 0.05)
