"""95% intervals of means, shares and paired differences, whose units (questions, cells) are independent."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np

Interval: TypeAlias = tuple[float, float] | None
Array: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
Values: TypeAlias = Sequence[float] | np.ndarray[Any, np.dtype[np.float64]]
Groups: TypeAlias = Sequence[Hashable] | np.ndarray[Any, np.dtype[np.int64]]

Z = NormalDist().inv_cdf(0.975)
UNSEEN = 0.15  # squared deviations that every sample is taken to have beyond those seen (docs/decisions/0021)
ROUNDING = 1e-9
_TINY = 1e-300
_LEVEL = 0.05
FAR_LEVEL = 0.07  # of the ends that Wilson's must reach at least (docs/decisions/0051)


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


def _wilson(share: Array, n: Array, z: "float | Array" = Z) -> tuple[Array, Array]:
    """Wilson's interval for any numbers of trials, whole or not. `z`: the quantile of its level."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and 1 the bound is the proportion itself, which rounding would miss slightly.
    low = np.where(share <= 0.0, 0.0, np.maximum(0.0, centre - half))
    return low, np.where(share >= 1.0, 1.0, np.minimum(1.0, centre + half))


def effective(
    sums: Array, sizes: Array, *, trials: float = math.inf, variance: float | None = None
) -> tuple[Array, Array]:
    """The mean of clustered scores in [0, 1], and how many right-or-wrong trials would be as informative.

    `sums` and `sizes` have the sum and the number of the scores of each cluster on the last axis, at least two of them;
    any further axes are separate samples. `trials`: the most that the number may be, for scores of 0 and 1 their count.
    `variance`: of one score, for the number of scores that would be as informative.

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
    each = mean * (1 - mean) if variance is None else variance
    ratio = (np.square(deviations).sum(axis=-1) + UNSEEN * unequal) / (n * each + UNSEEN)
    return mean, np.minimum(n / np.clip(ratio, 1e-9, unequal), trials)


def count_interval(won: float, n: float) -> tuple[float, float]:
    """The 95% interval of a proportion of independent trials: `wilson`, and as far as the `exact_interval` of 93%."""
    low, high = wilson(won, n)
    over = UpperEnd(0.0, won + 1, n - won).beyond(high, FAR_LEVEL)
    return 1.0 - UpperEnd(0.0, n - won + 1, won).beyond(1.0 - low, FAR_LEVEL), over


def score_interval(sums: Array, sizes: Array, *, trials: float, variance: float | None = None) -> Interval:
    """The 95% interval of the mean of clustered scores in [0, 1]: Wilson's with the `effective` number of trials, and
    as far as the `bounded_interval` of 93%, because few scores may not show the rare ones. Arguments as of
    `effective`; None for fewer than two units."""
    if len(sums) < 2:
        return None
    low, high = _wilson(*effective(sums, sizes, trials=trials))
    over, under = (UpperEnd.of(part, sizes, trials, variance) for part in (sums, sizes - sums))
    return 1.0 - under.beyond(1.0 - float(low), FAR_LEVEL), over.beyond(float(high), FAR_LEVEL)


def bounded_interval(
    sums: Array, sizes: Array, *, trials: float, variance: float | None = None, level: float = _LEVEL
) -> tuple[float, float]:
    """The interval of the mean of clustered scores in [0, 1] that misses it in about half of `level` at most on either
    side, however rare and large what was not seen. Of independent scores of 0 and 1 it is `exact_interval`'s.

    Each end is a quantile of the mean of the scores and one more, unseen, at that end of the range, under uniform
    Dirichlet weights (Gaffke 2005; Learned-Miller and Thomas 2019): by a beta distribution of the same mean and
    variance from the last seen score to the unseen one, which for 0 and 1 is Clopper and Pearson's."""
    over, under = (UpperEnd.of(part, sizes, trials, variance) for part in (sums, sizes - sums))
    return 1.0 - under.quantile(level), over.quantile(level)


@dataclass(frozen=True)
class UpperEnd:
    """The distribution of what the mean is at most: beta(`a`, `b`) from `least` to 1."""

    least: float
    a: float
    b: float

    @classmethod
    def of(cls, sums: Array, sizes: Array, trials: float, variance: float | None = None) -> "UpperEnd":
        n, seen = len(sums), float(sizes.sum())
        # One more, unseen: a cluster as large as those that are worth one score, of which all scores are 1.
        unseen = max(1.0, seen / float(effective(sums, sizes, trials=trials, variance=variance)[1]))
        total = seen + unseen
        mean = (float(sums.sum()) + unseen) / total
        least = 0.0 if trials < math.inf else max(0.0, float((sums / sizes).min()))
        if mean >= 1.0 - ROUNDING or least >= 1.0 - ROUNDING:
            return cls(1.0, 1.0, 1.0)
        against = (total - total / (n + 1)) / (total - sizes)  # the other clusters, as in `effective`
        squares = float(np.square((sums - mean * sizes) * against).sum()) + ((1.0 - mean) * unseen) ** 2
        spread = squares / total**2 * (n + 1) / (n + 2)
        place = (mean - least) / (1.0 - least)
        size = min(place * (1.0 - place) * (1.0 - least) ** 2 / spread - 1.0, trials + 1.0)
        return cls(least, place * size, (1.0 - place) * size)

    def quantile(self, level: float) -> float:
        return self.least + (1.0 - self.least) * beta_quantile(1.0 - level / 2, self.a, self.b)

    def beyond(self, end: float, level: float) -> float:
        """The quantile, or `end` if that is farther."""
        if end >= 1.0 or self.least >= 1.0:
            return 1.0
        place = (end - self.least) / (1.0 - self.least)
        enough = place > 0.0 and _beta_share(place, self.a, self.b) >= 1.0 - level / 2
        return end if enough else self.quantile(level)


def mean_interval(values: Values, *, groups: Groups | None = None) -> Interval:
    """The 95% interval of a mean of scores; None for fewer than two units. ValueError for values that are not finite.

    Scores in [0, 1] have the `score_interval`, others Student's. With `groups` (one
    per value) the values of a group, such as the repeats of a question, are one unit.
    """
    numbers = finite(values)
    sums, sizes = units_of(numbers, groups=groups)
    if len(sums) < 2 or not _is_share(numbers):
        return student_interval(sums, sizes)
    return score_interval(sums, sizes, trials=most_trials(numbers), variance=score_variance(numbers))


def difference_interval(differences: Values, *, groups: Groups | None = None, shares: bool = True) -> Interval:
    """The 95% interval of a mean of paired differences; None for fewer than two units. `gain_interval` makes it where
    the scores are in [0, 1] (`shares`), otherwise it is Student's. `groups` as in `mean_interval`."""
    numbers = finite(differences)
    gains, losses, sizes = units_of(np.maximum(numbers, 0.0), np.maximum(-numbers, 0.0), groups=groups)
    if len(sizes) < 2 or not shares or np.abs(numbers).max() > 1.0 + ROUNDING:
        return student_interval(gains - losses, sizes)
    low, high = gain_interval(gains, losses, sizes, trials=most_trials(np.abs(numbers)))
    return (float(low), float(high))


def gain_interval(gains: Array, losses: Array, sizes: Array, *, trials: float = math.inf) -> tuple[Array, Array]:
    """The 95% interval of a mean of paired differences, from what each cluster gains and loses; shapes of `effective`.

    The mean gain and the mean loss each have the interval of scores in [0, 1], so that what changed in none of few
    pairs may still change in others; `apart` puts both together with their correlation.
    """
    return MeanChange.of(gains, losses, sizes, trials=trials).interval(Z)


@dataclass(frozen=True)
class MeanChange:
    """The mean gain, the mean loss and the `effective` trials of each, with their correlation."""

    gain: Array
    gain_trials: Array
    loss: Array
    loss_trials: Array
    correlation: Array

    @classmethod
    def of(cls, gains: Array, losses: Array, sizes: Array, *, trials: float = math.inf) -> "MeanChange":
        """From what each cluster gains and loses."""
        gain, gain_trials = effective(gains, sizes, trials=trials)
        loss, loss_trials = effective(losses, sizes, trials=trials)
        one, two = gains - gain[..., None] * sizes, losses - loss[..., None] * sizes
        norm = np.sqrt(np.square(one).sum(axis=-1) * np.square(two).sum(axis=-1))
        correlation = (one * two).sum(axis=-1) / np.where(norm > 0.0, norm, 1.0)
        return cls(gain, gain_trials, loss, loss_trials, correlation)

    def interval(self, quantile: "float | Array") -> tuple[Array, Array]:
        """The interval whose level has this quantile."""
        gain = (self.gain, *_wilson(self.gain, self.gain_trials, quantile))
        loss = (self.loss, *_wilson(self.loss, self.loss_trials, quantile))
        return apart(gain, loss, self.correlation)


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


def student_interval(sums: Array, sizes: Array) -> Interval:
    """Student's interval of a mean of clustered values."""
    n, total = len(sums), sizes.sum()
    if n < 2:
        return None
    mean = sums.sum() / total
    error = student_quantile(n - 1) * math.sqrt(n / (n - 1) * np.square(sums - mean * sizes).sum()) / total
    return (float(mean - error), float(mean + error))


@lru_cache(maxsize=1024)
def student_quantile(degrees: float, level: float = _LEVEL) -> float:
    """The value that Student's variable exceeds, on either side, with the probability `level`: a beta variable,
    transformed."""
    x = beta_quantile(level, degrees / 2, 0.5)
    return math.sqrt(degrees * (1 - x) / x) if x > 0.0 else math.inf


def student_beyond(quantile: float, degrees: float) -> float:
    """The probability that Student's variable exceeds this value, on either side."""
    return min(1.0, _beta_share(degrees / (degrees + quantile * quantile), degrees / 2, 0.5))


def exact_interval(share: float, trials: float, level: float = _LEVEL) -> tuple[float, float]:
    """The interval of a proportion that misses it in at most half of `level` on either side (Clopper and
    Pearson 1934)."""
    won, lost = share * trials, (1 - share) * trials
    low = 0.0 if won <= 0.0 else beta_quantile(level / 2, won, lost + 1)
    return (low, 1.0 if lost <= 0.0 else beta_quantile(1 - level / 2, won + 1, lost))


def decisive_interval(values: Sequence[float], *, groups: Groups | None = None) -> Interval:
    """The `bounded_interval` of a mean of scores in [0, 1], to decide by; of other values the `mean_interval`. None for
    fewer than two units."""
    numbers = finite(values)
    sums, sizes = units_of(numbers, groups=groups)
    if len(sums) < 2 or not _is_share(numbers):
        return student_interval(sums, sizes)
    return bounded_interval(sums, sizes, trials=most_trials(numbers), variance=score_variance(numbers))


@lru_cache(maxsize=4096)
def beta_quantile(p: float, a: float, b: float) -> float:
    """The value below which a share `p` of the beta distribution lies: Newton's steps, halved where they lead away."""
    low, high, x = _TINY, 1.0, max(a / (a + b), _TINY)
    log_scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    for _ in range(100):
        excess = _beta_share(x, a, b) - p
        low, high = (low, x) if excess > 0.0 else (x, high)
        log_density = log_scale + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)
        following = x - excess * math.exp(min(-log_density, 700.0))
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - x) <= 1e-15 * x or x <= _TINY:
            break
        x = following
    return x


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
        value = 1 + over * x / ((a + (step - 1)) * (a + step)) / value
    return math.exp(log_scale) / value


def finite(values: Values) -> Array:
    """The values as an array. ValueError if one is infinite or NaN."""
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("A mean or a comparison needs finite values.")
    return numbers


def _is_share(numbers: Array) -> bool:
    """Whether all of them are in [0, 1]."""
    return bool(numbers.min() >= -ROUNDING and numbers.max() <= 1.0 + ROUNDING)


def most_trials(numbers: Array) -> float:
    """The number of scores if all are 0 or 1; else infinity, because a score may tell more than right or wrong."""
    return len(numbers) if np.isin(numbers, (0.0, 1.0)).all() else math.inf


def score_variance(numbers: Array) -> float:
    """The variance of the scores; their order does not matter."""
    return float(np.sort(numbers).var()) if len(numbers) else 0.0


def all_differ(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> bool:
    """Whether no two of the numbers are equal."""
    ordered = np.sort(numbers)
    return not bool((ordered[1:] == ordered[:-1]).any())


def units_of(*columns: Array, groups: Groups | None) -> Array:
    """A row for the sums of each column by group, and one for the sizes of the groups. The order of the groups depends
    on these figures only. Without `groups` each value is a group."""
    n = len(columns[0])
    if groups is not None and len(groups) != n:
        raise ValueError(f"{n} values, but {len(groups)} groups.")
    if groups is None or (isinstance(groups, np.ndarray) and all_differ(groups)):
        table = np.stack([*columns, np.ones(n)])
        table += 0.0  # no -0.0, as in a sum
    else:
        if isinstance(groups, np.ndarray):
            places = np.unique(groups, return_inverse=True)[1]
        else:
            numbers: dict[Hashable, int] = {}
            places = np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.int64)
        table = np.stack([np.bincount(places, weights) for weights in (*columns, np.ones(n))])
    order = np.lexsort(table)
    for row in table:
        row[:] = row[order]
    return table
