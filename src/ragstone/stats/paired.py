"""Pairs: tests of equal means with their correction for several, and the agreement of two raters."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

from ragstone.stats.intervals import ROUNDING, Groups, Values, all_differ, finite, units_of

_EXACT_PAIRS = 14  # up to 2**14 ways to flip the signs are all tried
_DRAWS = 9_999  # random draws if there are more; p is then a multiple of 1/10,000
_BLOCK = 1 << 20  # numbers in memory at a time


def paired_test(
    a: Values, b: Values, *, groups: Groups | None = None
) -> tuple[Literal["mcnemar", "permutation"], float]:
    """The paired test of equal means for these scores, and its two-sided p-value: McNemar's exact test for independent
    pairs of 0 and 1, otherwise `permutation_paired` over the groups."""
    one, other = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    whole = bool(np.isin(one, (0.0, 1.0)).all() and np.isin(other, (0.0, 1.0)).all())
    if whole and (groups is None or _all_differ(groups)):
        return "mcnemar", mcnemar_exact(int((one > other).sum()), int((other > one).sum()))
    return "permutation", permutation_paired(a, b, groups=groups)


def _all_differ(groups: Groups) -> bool:
    return all_differ(groups) if isinstance(groups, np.ndarray) else len(set(groups)) == len(groups)


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """The two-sided p-value of McNemar's exact test (McNemar 1947; the binomial form).

    `only_a` counts the pairs where only the first was right, `only_b` those where only the second was; pairs that agree
    carry no information. 1.0 if there are none.
    """
    if only_a < 0 or only_b < 0:
        raise ValueError("A count of pairs must not be negative.")
    n, least = only_a + only_b, min(only_a, only_b)
    if only_a == only_b:
        return 1.0
    # P(X <= least) for X ~ Binomial(n, 1/2): the largest term, times the sum of the falling ratios to it.
    log_top = math.lgamma(n + 1) - math.lgamma(least + 1) - math.lgamma(n - least + 1) - n * math.log(2)
    ratio, ratios = 1.0, [1.0]
    for k in range(least, 0, -1):
        ratio *= k / (n - k + 1)
        ratios.append(ratio)
        if ratio < 1e-18:
            break
    return min(1.0, 2 * math.exp(log_top) * math.fsum(ratios))


def permutation_paired(a: Values, b: Values, *, groups: Groups | None = None, seed: int = 0) -> float:
    """The two-sided p-value of the paired permutation test of equal means: the signs of the differences are flipped.

    `a` and `b` have one value per pair, in the same order. The pairs of a group are flipped together, and each pair
    counts as much as in the mean difference. All sign flips are tried for up to 14 groups that differ; otherwise 9,999
    of them are drawn and the observed one is added (Phipson and Smyth 2010), so that p is never 0.
    For right and wrong (1 and 0) the exact form is McNemar's exact test. 1.0 if no pair differs.
    """
    if len(a) != len(b):
        raise ValueError(f"Pairs are needed: {len(a)} values against {len(b)}.")
    differences, _ = units_of(finite(a) - finite(b), groups=groups)
    differences = np.sort(differences[np.abs(differences) > ROUNDING])
    n = len(differences)
    if n == 0:
        return 1.0
    # Sums that differ only by rounding count as equal.
    bar = abs(float(differences.sum())) - 1e-9 * float(np.abs(differences).sum())
    if n <= _EXACT_PAIRS:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float(np.mean(np.abs(signs @ differences) >= bar))
    rng = np.random.Generator(np.random.PCG64(seed))
    as_extreme = 0
    rows = max(1, _BLOCK // n)
    for start in range(0, _DRAWS, rows):
        signs = 2.0 * rng.integers(0, 2, size=(min(rows, _DRAWS - start), n))
        np.subtract(1.0, signs, out=signs)
        as_extreme += int((np.abs(signs @ differences) >= bar).sum())
    return (1 + as_extreme) / (1 + _DRAWS)


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values of one family, adjusted by the method of Holm (1979), in the same order, each at most 1."""
    if any(not 0.0 <= p <= 1.0 for p in ps):
        raise ValueError("A p-value must be between 0 and 1.")
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = highest
    return adjusted


def cohen_kappa(a: Sequence[Hashable], b: Sequence[Hashable]) -> float | None:
    """Cohen's kappa (1960): the agreement of two raters beyond chance, at most 1; 0 is chance.

    `a` and `b` have one label per item, in the same order. None if it is undefined: no items, or both raters gave the
    same label to all of them, so that chance alone would agree as often.
    """
    if len(a) != len(b):
        raise ValueError(f"Pairs are needed: {len(a)} labels against {len(b)}.")
    n = len(a)
    if n == 0:
        return None
    agreed = sum(x == y for x, y in zip(a, b, strict=True)) / n
    counts_a, counts_b = Counter(a), Counter(b)
    chance = sum(counts_a[label] * counts_b[label] for label in counts_a) / n**2
    return None if chance == 1.0 else (agreed - chance) / (1 - chance)
