"""Intervals, paired tests and corrections: all statistics that ragstone prints.

An interval needs at least two independent units (questions, cells); with fewer there is none. Without data a p-value is
1.0. Random procedures are seeded and give the same figures everywhere. Coverages: `docs/what-the-numbers-mean.md`.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np

from ragstone.display import Cell, Point

__all__ = [
    "UNSEEN", "Array", "Estimate", "Interval", "apart", "cohen_kappa", "decisive_interval", "difference_interval",
    "effective", "exact_interval", "gain_interval", "holm", "mcnemar_exact", "mean_interval", "most_trials",
    "paired_test", "permutation_paired", "share_interval", "student_quantile", "units_of", "wilson",
]  # fmt: skip

Interval: TypeAlias = tuple[float, float] | None
Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"

_Z = NormalDist().inv_cdf(0.975)
_LEVEL = 0.05
UNSEEN = 0.15  # squared deviations that every sample is taken to have beyond those seen (docs/decisions/0021)
_EXACT_PAIRS = 14  # up to 2**14 ways to flip the signs are all tried
_DRAWS = 9_999  # random draws if there are more; p is then a multiple of 1/10,000
_ROUNDING = 1e-9
_BLOCK = 1 << 20  # numbers in memory at a time


@dataclass(frozen=True)
class Estimate:
    """A mean or a proportion with its 95% interval, from `n` scored of `total` asked (None: not counted). `value` is
    None if nothing was scored, `low` and `high` if fewer than two independent units were."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    total: int | None = None

    @classmethod
    def of_count(cls, won: int, n: int, *, total: int | None = None) -> "Estimate":
        """The proportion of `won` among `n` independent trials, with its `wilson` interval."""
        return (
            cls.of_share([(won, n)], total=total)
            if n < 2
            else cls(won / n, *wilson(won, n), n, n if total is None else total)
        )

    @classmethod
    def of_share(cls, counts: Iterable[tuple[int, int]], *, total: int | None = None) -> "Estimate":
        """The proportion from (right, scored) of each question, which may be scored repeatedly."""
        pairs = [pair for pair in counts if pair[1]]
        won, n = sum(won for won, _ in pairs), sum(tried for _, tried in pairs)
        if not n:
            return cls(total=0 if total is None else total)
        sums, sizes = np.array(sorted(pairs), dtype=np.float64).T
        return cls(won / n, *_ends(_score_interval(sums, sizes, trials=n)), n, n if total is None else total)

    @classmethod
    def of_mean(
        cls, values: Sequence[float], *, groups: Sequence[Hashable] | None = None, total: int | None = None
    ) -> "Estimate":
        """The mean of scores with its `mean_interval`; values of one group, such as one sample's, are one cluster."""
        if not values:
            return cls(total=total)
        mean = math.fsum(values) / len(values)
        return cls(mean, *_ends(mean_interval(values, groups=groups)), len(values), total)

    @classmethod
    def of_amount(cls, values: Sequence[float], *, groups: Sequence[Hashable] | None = None) -> "Estimate":
        """The mean of amounts without an upper end (tokens, money), with Student's interval."""
        if not values:
            return cls()
        numbers = _finite(values)
        return cls(float(numbers.mean()), *_ends(_student(*units_of(numbers, groups=groups))), len(values))

    @classmethod
    def of_quantile(cls, values: Sequence[float], share: float) -> "Estimate":
        """A quantile with its interval from the order of the values (David and Nagaraja 2003, §7.1); None where too few
        values lie beyond it."""
        if not values:
            return cls()
        numbers = np.sort(_finite(values))
        n, reach = len(numbers), _Z * math.sqrt(len(numbers) * share * (1 - share))
        low, high = math.floor(n * share - reach), math.ceil(n * share + reach)
        ends = (float(numbers[low]), float(numbers[high])) if low >= 0 and high < n else None
        return cls(float(np.quantile(numbers, share)), *_ends(ends), n)

    @classmethod
    def of_difference(
        cls, differences: Sequence[float], *, groups: Sequence[Hashable] | None = None, total: int | None = None
    ) -> "Estimate":
        """The mean of paired differences with its `difference_interval`."""
        if not differences:
            return cls(total=total)
        mean = math.fsum(differences) / len(differences)
        return cls(mean, *_ends(difference_interval(differences, groups=groups)), len(differences), total)

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


def _ends(interval: Interval) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else interval


def wilson(successes: float, n: float) -> tuple[float, float]:
    """The 95% Wilson score interval of a proportion of independent trials (Wilson 1927), within [0, 1].

    Both may be fractions, where `n` is an `effective` number. With no trials (n = 0) the interval is (0, 1). ValueError
    if `successes` is not within 0..n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} is not a proportion.")
    if n == 0:
        return (0.0, 1.0)
    low, high = _wilson(np.asarray(successes / n), np.asarray(n))
    return (float(low), float(high))


def _wilson(share: Array, n: Array) -> tuple[Array, Array]:
    """Wilson's interval for any numbers of trials, whole or not."""
    centre = (share + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
    half = _Z / (1 + _Z * _Z / n) * np.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    # At 0 and 1 the bound is the proportion itself, which rounding would miss slightly.
    low = np.where(share <= 0.0, 0.0, np.maximum(0.0, centre - half))
    return low, np.where(share >= 1.0, 1.0, np.minimum(1.0, centre + half))


def effective(sums: Array, sizes: Array, *, trials: float = math.inf) -> tuple[Array, Array]:
    """The mean of clustered scores in [0, 1], and how many right-or-wrong trials would be as informative.

    `sums` and `sizes` have the sum and the number of the scores of each cluster on the last axis, at least two of them;
    any further axes are separate samples. `trials`: the most that the number may be, for scores of 0 and 1 their count.

    The number is n / r. r compares the variance of the mean with that of n independent trials of the same mean: the
    squared deviations of the clusters (each against the others: HC3, MacKinnon and White 1985), plus `UNSEEN` ones on
    both sides, because few scores near an end of the range show too little of the spread. The n of unequal clusters is
    at most Kish's (1965). Scores of 0 and 1, one per cluster, give r = 1.
    """
    n = sums.shape[-1]
    total = sizes.sum(axis=-1, keepdims=True)
    mean = np.clip(sums.sum(axis=-1, keepdims=True) / total, 0.0, 1.0)
    deviations = n * (sums - mean * sizes) / (total - sizes)
    unequal = (n * np.square(sizes / total).sum(axis=-1)) ** 2
    mean = mean[..., 0]
    ratio = (np.square(deviations).sum(axis=-1) + UNSEEN * unequal) / (n * mean * (1 - mean) + UNSEEN)
    return mean, np.minimum(n / np.clip(ratio, 1e-9, unequal), trials)


def _score_interval(sums: Array, sizes: Array, *, trials: float) -> Interval:
    if len(sums) < 2:
        return None
    low, high = share_interval(sums, sizes, trials=trials)
    return (float(low), float(high))


def share_interval(sums: Array, sizes: Array, *, trials: float = math.inf) -> tuple[Array, Array]:
    """Wilson's interval with the `effective` number of trials; shapes as there."""
    return _wilson(*effective(sums, sizes, trials=trials))


def mean_interval(values: Sequence[float], *, groups: Sequence[Hashable] | None = None) -> Interval:
    """The 95% interval of a mean of scores; None for fewer than two units. ValueError for values that are not finite.

    Scores in [0, 1] have Wilson's interval with the `effective` number of trials, others Student's. With `groups` (one
    per value) the values of a group, such as the repeats of a question, are one unit.
    """
    numbers = _finite(values)
    sums, sizes = units_of(numbers, groups=groups)
    if len(sums) < 2 or not _is_share(numbers):
        return _student(sums, sizes)
    return _score_interval(sums, sizes, trials=most_trials(numbers))


def difference_interval(
    differences: Sequence[float], *, groups: Sequence[Hashable] | None = None, shares: bool = True
) -> Interval:
    """The 95% interval of a mean of paired differences; None for fewer than two units. `gain_interval` makes it where
    the scores are in [0, 1] (`shares`), otherwise it is Student's. `groups` as in `mean_interval`."""
    numbers = _finite(differences)
    gains, losses, sizes = units_of(np.maximum(numbers, 0.0), np.maximum(-numbers, 0.0), groups=groups)
    if len(sizes) < 2 or not shares or np.abs(numbers).max() > 1.0 + _ROUNDING:
        return _student(gains - losses, sizes)
    low, high = gain_interval(gains, losses, sizes, trials=most_trials(np.abs(numbers)))
    return (float(low), float(high))


def gain_interval(gains: Array, losses: Array, sizes: Array, *, trials: float = math.inf) -> tuple[Array, Array]:
    """The 95% interval of a mean of paired differences, from what each cluster gains and loses; shapes of `effective`.

    The mean gain and the mean loss each have the interval of scores in [0, 1], so that what changed in none of few
    pairs may still change in others; `apart` puts both together with their correlation.
    """
    gain, gain_trials = effective(gains, sizes, trials=trials)
    loss, loss_trials = effective(losses, sizes, trials=trials)
    one, two = gains - gain[..., None] * sizes, losses - loss[..., None] * sizes
    norm = np.sqrt(np.square(one).sum(axis=-1) * np.square(two).sum(axis=-1))
    correlation = (one * two).sum(axis=-1) / np.where(norm > 0.0, norm, 1.0)
    return apart((gain, *_wilson(gain, gain_trials)), (loss, *_wilson(loss, loss_trials)), correlation)


def apart(
    first: tuple[Any, Any, Any], second: tuple[Any, Any, Any], correlation: Any = 0.0, *, most: float = 1.0
) -> tuple[Any, Any]:
    """The interval of first − second from value, low and high of each (Newcombe 1998, method 10; with a correlation of
    the two, Zou 2007). `most`: the largest difference that there can be."""
    (one, low_1, high_1), (two, low_2, high_2) = first, second

    def reach(a: Any, b: Any) -> Any:
        return np.sqrt(np.maximum(a * a + b * b - 2 * correlation * a * b, 0.0))

    low, high = one - two - reach(one - low_1, high_2 - two), one - two + reach(high_1 - one, two - low_2)
    return np.maximum(low, -most), np.minimum(high, most)


def _student(sums: Array, sizes: Array) -> Interval:
    """Student's interval of a mean of clustered values."""
    n, total = len(sums), sizes.sum()
    if n < 2:
        return None
    mean = sums.sum() / total
    error = student_quantile(n - 1) * math.sqrt(n / (n - 1) * np.square(sums - mean * sizes).sum()) / total
    return (float(mean - error), float(mean + error))


@lru_cache
def student_quantile(degrees: int) -> float:
    """The 97.5% quantile of Student's distribution: a beta variable, transformed."""
    x = beta_quantile(_LEVEL, degrees / 2, 0.5)
    return math.sqrt(degrees * (1 - x) / x)


def exact_interval(share: float, trials: float) -> tuple[float, float]:
    """The 95% interval of a proportion that misses it in at most 2.5% on either side (Clopper and Pearson 1934). With
    an `effective` number of trials it is that of Korn and Graubard (1998)."""
    won, lost = share * trials, (1 - share) * trials
    low = 0.0 if won <= 0.0 else beta_quantile(_LEVEL / 2, won, lost + 1)
    return (low, 1.0 if lost <= 0.0 else beta_quantile(1 - _LEVEL / 2, won + 1, lost))


def decisive_interval(values: Sequence[float], *, groups: Sequence[Hashable] | None = None) -> Interval:
    """The `exact_interval` of a mean of scores in [0, 1], to decide by; of other values the `mean_interval`. None for
    fewer than two units."""
    numbers = _finite(values)
    sums, sizes = units_of(numbers, groups=groups)
    if len(sums) < 2 or not _is_share(numbers):
        return _student(sums, sizes)
    share, trials = effective(sums, sizes, trials=most_trials(numbers))
    return exact_interval(float(share), float(trials))


def beta_quantile(p: float, a: float, b: float) -> float:
    """The value below which a share `p` of the beta distribution lies, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _beta_share(middle, a, b) < p else (low, middle)
    return (low + high) / 2


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    if x <= 0.0:
        return 0.0
    log_scale = math.lgamma(a + b) - math.lgamma(a + 1) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    value = 1.0
    for step in range(60 + int(8 * math.sqrt(max(a, b))), 0, -1):
        m = step // 2
        over = -(a + m) * (a + b + m) if step % 2 else m * (b - m)
        value = 1 + over * x / ((a + step - 1) * (a + step)) / value
    return math.exp(log_scale) / value


def _finite(values: Sequence[float]) -> Array:
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("A mean or a comparison needs finite values.")
    return numbers


def _is_share(numbers: Array) -> bool:
    """Whether all of them are in [0, 1]."""
    return bool(numbers.min() >= -_ROUNDING and numbers.max() <= 1.0 + _ROUNDING)


def most_trials(numbers: Array) -> float:
    """The number of scores if all are 0 or 1; else infinity, because a score may tell more than right or wrong."""
    return len(numbers) if np.isin(numbers, (0.0, 1.0)).all() else math.inf


def units_of(*columns: Array, groups: Sequence[Hashable] | None) -> Array:
    """A row for the sums of each column by group, and one for the sizes of the groups. The order of the groups depends
    on these figures only. Without `groups` each value is a group."""
    n = len(columns[0])
    if groups is None:
        table = np.stack([*columns, np.ones(n)])
    elif len(groups) != n:
        raise ValueError(f"{n} values, but {len(groups)} groups.")
    else:
        numbers: dict[Hashable, int] = {}
        places = [numbers.setdefault(group, len(numbers)) for group in groups]
        table = np.stack([np.bincount(places, weights, len(numbers)) for weights in (*columns, np.ones(n))])
    return table[:, np.lexsort(table)]


def paired_test(
    a: Sequence[float], b: Sequence[float], *, groups: Sequence[Hashable] | None = None
) -> tuple[Literal["mcnemar", "permutation"], float]:
    """The paired test of equal means for these scores, and its two-sided p-value: McNemar's exact test for independent
    pairs of 0 and 1, otherwise `permutation_paired` over the groups."""
    if {*a, *b} <= {0.0, 1.0} and (groups is None or len(set(groups)) == len(groups)):
        only_a, only_b = (sum(x > y for x, y in zip(*sides, strict=True)) for sides in ((a, b), (b, a)))
        return "mcnemar", mcnemar_exact(only_a, only_b)
    return "permutation", permutation_paired(a, b, groups=groups)


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


def permutation_paired(
    a: Sequence[float], b: Sequence[float], *, groups: Sequence[Hashable] | None = None, seed: int = 0
) -> float:
    """The two-sided p-value of the paired permutation test of equal means: the signs of the differences are flipped.

    `a` and `b` have one value per pair, in the same order. The pairs of a group are flipped together, and each pair
    counts as much as in the mean difference. All sign flips are tried for up to 14 groups that differ; otherwise 9,999
    of them are drawn and the observed one is added (Phipson and Smyth 2010), so that p is never 0.
    For right and wrong (1 and 0) the exact form is McNemar's exact test. 1.0 if no pair differs.
    """
    if len(a) != len(b):
        raise ValueError(f"Pairs are needed: {len(a)} values against {len(b)}.")
    differences, _ = units_of(_finite(a) - _finite(b), groups=groups)
    differences = np.sort(differences[np.abs(differences) > _ROUNDING])
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
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=(min(rows, _DRAWS - start), n))
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
