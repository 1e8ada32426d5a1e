"""Intervals, paired tests and corrections: all statistics that ragstone prints.

Without data, an interval is the widest possible one, a p-value is 1.0, and a mean is a `ValueError`. Random procedures
are seeded and give the same figures everywhere.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from ragstone.types import Cell, Point

__all__ = [
    "Estimate", "bootstrap_mean", "cohen_kappa", "holm", "mcnemar_exact", "mean_interval", "paired_difference",
    "permutation_paired", "wilson", "wilson_clustered",
]  # fmt: skip

_EXACT_PAIRS = 14  # up to 2**14 ways to flip the signs are all tried
_DRAWS = 9_999  # random draws if there are more; p is then a multiple of 1/10,000
_BLOCK = 1 << 20  # numbers in memory at a time


@dataclass(frozen=True)
class Estimate:
    """A mean or a proportion with its 95% interval, from `n` scored of `total` asked (None: not counted). `value` is
    None if nothing was scored."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    total: int | None = None

    @classmethod
    def of_count(cls, won: int, n: int, *, total: int | None = None) -> "Estimate":
        """The proportion of `won` among `n` independent trials, with its `wilson` interval."""
        total = n if total is None else total
        return cls(won / n, *wilson(won, n), n, total) if n else cls(total=total)

    @classmethod
    def of_share(cls, counts: Iterable[tuple[int, int]], *, total: int | None = None) -> "Estimate":
        """The proportion from (right, scored) of each question, which may be scored repeatedly: `wilson_clustered`."""
        pairs = [pair for pair in counts if pair[1]]
        won, n = sum(won for won, _ in pairs), sum(tried for _, tried in pairs)
        if all(tried == 1 for _, tried in pairs):
            return cls.of_count(won, n, total=total)
        return cls(won / n, *wilson_clustered(pairs), n, n if total is None else total)

    @classmethod
    def of_mean(
        cls, values: Sequence[float], *, groups: Sequence[Hashable] | None = None, total: int | None = None
    ) -> "Estimate":
        """The mean of scores with its `mean_interval`; values of one group, such as one sample's, are one cluster."""
        several = groups is not None and len(set(groups)) < len(groups)
        if not values:
            return cls(total=total)
        interval = mean_interval(values, groups=groups if several else None)
        return cls(math.fsum(values) / len(values), *interval, len(values), total)

    @property
    def count(self) -> int:
        """The number of successes, if this is a proportion."""
        return round((self.value or 0.0) * self.n)

    def cell(self, unit: Literal["", "%"] = "", *, empty: str | None = None) -> Cell:
        """The cell of a table; if nothing was scored, the text `empty`, or with None only the counts."""
        if self.value is None and empty is not None:
            return Cell(empty)
        scored = None if self.total is None else self.n
        return Cell("", self.value, self.low, self.high, scored=scored, total=self.total, unit=unit)

    @property
    def known(self) -> tuple[float, float, float] | None:
        """Value, low and high; None if any of them is unknown."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return (self.value, self.low, self.high)

    def points(self, x: float) -> list[Point]:
        """A point of a curve; none if nothing was scored."""
        return [] if self.value is None else [Point(x, self.value, self.low, self.high)]


def wilson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval of a proportion (Wilson 1927), within [0, 1].

    With no trials (n = 0) the interval is (0, 1). ValueError if `successes` is not within 0..n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} is not a proportion.")
    if n == 0:
        return (0.0, 1.0)
    return _wilson(successes / n, n, _quantile(level))


def wilson_clustered(counts: Iterable[tuple[int, int]], level: float = 0.95) -> tuple[float, float]:
    """The Wilson interval of a proportion whose trials come in clusters, such as repeated answers to one question.

    `counts` has (successes, trials) of each cluster; clusters without trials are left out. The number of trials is
    replaced by the effective number p(1 - p) / v, where v is the cluster-robust variance of p, clipped between the
    number of clusters (repeats add nothing) and the number of trials (they are independent). If all trials have the
    same result, or there is one cluster, v carries no information and the number of clusters is used. (Kish 1965; for
    the Wilson interval with an effective size, Franco, Little, Louis and Slud 2019.)
    """
    pairs = [(won, tried) for won, tried in counts if tried]
    if any(not 0 <= won <= tried for won, tried in pairs):
        raise ValueError("A cluster has more successes than trials, or a negative number.")
    clusters, total = len(pairs), sum(tried for _, tried in pairs)
    if not total:
        return (0.0, 1.0)
    share = sum(won for won, _ in pairs) / total
    effective = float(clusters)
    if clusters > 1 and 0.0 < share < 1.0:
        squares = math.fsum((won - share * tried) ** 2 for won, tried in pairs)
        variance = clusters / (clusters - 1) * squares / total**2
        effective = min(max(share * (1 - share) / variance, clusters), total) if variance else float(total)
    return _wilson(share, effective, _quantile(level))


def _quantile(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise ValueError(f"The confidence level is {level}; it must be between 0 and 1.")
    return NormalDist().inv_cdf((1 + level) / 2)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and 1 the bound is the proportion itself, which rounding would miss slightly.
    low = 0.0 if share == 0.0 else max(0.0, centre - half)
    high = 1.0 if share == 1.0 else min(1.0, centre + half)
    return (low, high)


def bootstrap_mean(
    values: Sequence[float],
    *,
    groups: Sequence[Hashable] | None = None,
    seed: int = 0,
    level: float = 0.95,
    resamples: int = 2000,
) -> tuple[float, float]:
    """The percentile bootstrap interval of a mean (Efron 1979).

    With `groups` (one per value) whole groups are drawn, because values of one group, such as the repeats of a
    question, are not independent. The order of groups and values does not matter. ValueError if there are no values.
    One value, one group, or all values equal give an interval of width zero: they carry no information on the spread.
    """
    _quantile(level)  # refuses an invalid level
    alpha = 1 - level
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 0:
        raise ValueError("The mean of no values has no interval.")
    if not np.isfinite(numbers).all():
        raise ValueError("A mean needs finite values.")
    sums, sizes = _clusters(numbers, groups)
    rng = np.random.Generator(np.random.PCG64(seed))
    means = np.empty(resamples)
    rows = max(1, _BLOCK // len(sums))
    for start in range(0, resamples, rows):
        drawn = rng.integers(0, len(sums), size=(min(rows, resamples - start), len(sums)))
        means[start : start + len(drawn)] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [alpha / 2, 1 - alpha / 2])
    return (float(low), float(high))


def mean_interval(values: Sequence[float], *, groups: Sequence[Hashable] | None = None) -> tuple[float, float]:
    """The 95% interval of a mean of scores: Wilson's if all are 0 or 1 (the mean is a proportion, and equal values do
    not make it certain), else the bootstrap's. `groups` as in `bootstrap_mean`. ValueError for no values."""
    if not values or not {*values} <= {0.0, 1.0}:
        return bootstrap_mean(values, groups=groups)
    counts: dict[Hashable, list[int]] = {}
    for value, group in zip(values, range(len(values)) if groups is None else groups, strict=True):
        count = counts.setdefault(group, [0, 0])
        count[0] += int(value)
        count[1] += 1
    return wilson_clustered((won, tried) for won, tried in counts.values())


def _clusters(numbers: "np.ndarray", groups: Sequence[Hashable] | None) -> tuple["np.ndarray", "np.ndarray"]:
    """The sum and the size of each group, in an order that depends only on these sums and sizes."""
    if groups is None:
        return np.sort(numbers), np.ones(len(numbers))
    if len(groups) != len(numbers):
        raise ValueError(f"{len(numbers)} values, but {len(groups)} groups.")
    members: dict[Hashable, list[float]] = {}
    for group, number in zip(groups, numbers.tolist(), strict=True):
        members.setdefault(group, []).append(number)
    pairs = sorted((math.fsum(scores), len(scores)) for scores in members.values())
    table = np.asarray(pairs, dtype=np.float64)
    return table[:, 0], table[:, 1]


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


def paired_difference(only_a: int, only_b: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The score interval of a difference of two proportions of the same `n` pairs, b's minus a's (Tango 1998).

    `only_a` and `only_b` as in `mcnemar_exact`. It is to paired proportions what Wilson's is to one: if no pair
    differs its width is not zero, because further pairs may. With no pairs (n = 0) the interval is (-1, 1).
    """
    if min(only_a, only_b) < 0 or only_a + only_b > n:
        raise ValueError(f"{only_a} and {only_b} of {n} pairs cannot differ.")
    z = _quantile(level)
    if n == 0:
        return (-1.0, 1.0)
    observed = (only_b - only_a) / n

    def distance(delta: float) -> float:
        """How many standard errors separate the observed difference from `delta`, if that is the true one."""
        # The most likely proportion of pairs where only the first is right, given delta: the larger root.
        b = (2 * n + only_a - only_b) * delta - only_a - only_b
        share = (math.sqrt(max(b * b + 8 * n * only_a * delta * (1 - delta), 0.0)) - b) / (4 * n)
        variance = (2 * share + delta * (1 - delta)) / n
        gap = abs(observed - delta)
        return gap / math.sqrt(variance) if variance > 0 else math.inf if gap else 0.0

    def end(bound: float) -> float:
        if distance(bound) <= z:
            return bound
        near, far = observed, bound
        for _ in range(60):
            middle = (near + far) / 2
            near, far = (middle, far) if distance(middle) <= z else (near, middle)
        return near

    return (end(-1.0), end(1.0))


def permutation_paired(a: Sequence[float], b: Sequence[float], *, seed: int = 0, draws: int = _DRAWS) -> float:
    """The two-sided p-value of the paired permutation test of equal means: the signs of the differences are flipped.

    `a` and `b` have one value per pair, in the same order. All sign flips are tried for up to 14 pairs that differ;
    otherwise `draws` of them are drawn and the observed one is added (Phipson and Smyth 2010), so that p is never 0.
    For right and wrong (1 and 0) the exact form is McNemar's exact test. 1.0 if no pair differs.
    """
    if len(a) != len(b):
        raise ValueError(f"Pairs are needed: {len(a)} values against {len(b)}.")
    differences = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    if not np.isfinite(differences).all():
        raise ValueError("A comparison needs finite values.")
    differences = np.sort(differences[differences != 0.0])
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
    for start in range(0, draws, rows):
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=(min(rows, draws - start), n))
        as_extreme += int((np.abs(signs @ differences) >= bar).sum())
    return (1 + as_extreme) / (1 + draws)


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
