"""Whether some answers of a run are wrong more often than others: shares, the interval of their difference, and an
exact one-sided test.

The sample is the unit. If most samples of the first group are in the second, too (a condition of a benchmark, in which
every question is asked), only those are compared, each with itself: the test permutes the answers within each sample,
which is the exact conditional test of Cochran, Mantel and Haenszel (Mantel and Haenszel 1959; exact: Cox 1970).
Otherwise every sample belongs to one group, and the test is Fisher's exact test (1935); a sample with several answers
then counts as wrong if it is wrong more often than the mean sample. The interval is Newcombe's, as for all differences
(`stats.apart`), with the number of trials that the clustered answers are worth.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ragstone.stats import Array, Estimate, apart, most_trials, score_interval, score_variance

Mask: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
Counts: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


@dataclass(frozen=True)
class Answers:
    """A row for each sample under a condition: `unit` numbers the samples from 0, `wrong` is the share of wrong answers
    among the row's repeats."""

    unit: Counts
    wrong: Array

    @property
    def one_each(self) -> bool:
        """Whether every sample has one row."""
        return len(self.unit) == int(self.unit.max(initial=-1)) + 1

    def by_unit(self, rows: Mask) -> tuple[Array, Array]:
        """The sum of `wrong` and the number of rows of each sample, among these rows."""
        size = int(self.unit.max(initial=-1)) + 1
        unit = self.unit[rows]
        sums = np.bincount(unit, self.wrong[rows], size)
        return np.asarray(sums, dtype=np.float64), np.bincount(unit, minlength=size).astype(np.float64)


@dataclass(frozen=True)
class Contrast:
    """The share of wrong answers inside and outside, and the interval of the difference (None with a single sample).
    `n` of both is in rows; `samples` counts those inside. `paired`: the same samples are on both sides."""

    inside: Estimate
    outside: Estimate
    low: float | None
    high: float | None
    samples: int
    paired: bool

    @property
    def difference(self) -> float:
        return (self.inside.value or 0.0) - (self.outside.value or 0.0)


@dataclass(frozen=True)
class _Sides:
    """Sums and sizes of each sample on both sides, and whether only samples of both sides are left."""

    sums: tuple[Array, Array]
    sizes: tuple[Array, Array]
    paired: bool


def _sides(answers: Answers, inside: Mask, outside: Mask) -> _Sides:
    (sum_in, n_in), (sum_out, n_out) = answers.by_unit(inside), answers.by_unit(outside)
    both = (n_in > 0) & (n_out > 0)
    if 2 * int(both.sum()) < int((n_in > 0).sum()) or not both.any():
        return _Sides((sum_in, sum_out), (n_in, n_out), paired=False)
    return _Sides((sum_in * both, sum_out * both), (n_in * both, n_out * both), paired=True)


def excess(answers: Answers, inside: Mask, outside: Mask, *, least: int) -> float | None:
    """The one-sided p-value of answers inside being wrong more often than outside; None with fewer than `least` samples
    on a side."""
    if answers.one_each:  # as below, faster
        shares = [answers.wrong[inside], answers.wrong[outside]]
    else:
        sides = _sides(answers, inside, outside)
        asked = [sizes > 0 for sizes in sides.sizes]
        if sides.paired:
            flags = Answers(answers.unit, _flags(answers.wrong, answers.wrong[inside | outside]))
            table = np.stack([*flags.by_unit(inside), *flags.by_unit(outside)], axis=1)[asked[0]]
            return None if len(table) < least else exact_greater(table.astype(np.int64))
        shares = [sums[a] / sizes[a] for sums, sizes, a in zip(sides.sums, sides.sizes, asked, strict=True)]
    if min(map(len, shares)) < least:
        return None
    among = np.concatenate(shares)
    counts = [count for part in shares for count in (round(_flags(part, among).sum()), len(part))]
    return exact_greater(np.array([counts], dtype=np.int64))


def _flags(shares: Array, among: Array) -> Array:
    """1 where a share is above the mean of all, 0 elsewhere; shares of 0 and 1 stay as they are."""
    if np.logical_or(among == 0.0, among == 1.0).all():
        return shares
    return np.asarray(shares > among.mean(), dtype=np.float64)


def contrast(answers: Answers, inside: Mask, outside: Mask) -> Contrast:
    """Compares two groups of rows."""
    sides = _sides(answers, inside, outside)
    known = []
    for sums, sizes, rows in zip(sides.sums, sides.sizes, (inside, outside), strict=True):
        asked = sizes > 0
        scores = answers.wrong[rows & asked[answers.unit]]
        order = np.lexsort((sums[asked], sizes[asked]))
        known.append(_estimate(sums[asked][order], sizes[asked][order], scores))
    ends: tuple[float | None, float | None] = (None, None)
    if known[0].known and known[1].known:
        low, high = apart(known[0].known, known[1].known, _correlation(sides, known) if sides.paired else 0.0)
        ends = float(low), float(high)
    return Contrast(known[0], known[1], *ends, int((sides.sizes[0] > 0).sum()), sides.paired)


def _estimate(sums: Array, sizes: Array, scores: Array) -> Estimate:
    n = int(sizes.sum())
    ends = score_interval(sums, sizes, trials=most_trials(scores), variance=score_variance(scores))
    low, high = ends or (None, None)
    return Estimate(float(sums.sum() / n) if n else None, low, high, n, n)


def _correlation(sides: _Sides, known: list[Estimate]) -> float:
    """The correlation of both shares over the samples."""
    one, two = (
        sums - (estimate.value or 0.0) * sizes
        for sums, sizes, estimate in zip(sides.sums, sides.sizes, known, strict=True)
    )
    norm = math.sqrt(float(np.square(one).sum() * np.square(two).sum()))
    return float((one * two).sum()) / norm if norm > 0 else 0.0


def exact_greater(strata: Counts) -> float:
    """P(at least as many wrong inside as observed) if, within each stratum, any of its answers may be the wrong ones.

    `strata` is (strata, 4): wrong inside, all inside, wrong outside, all outside. A single stratum gives Fisher's exact
    test, one-sided; many give the exact test of Cochran, Mantel and Haenszel. 1.0 if nothing can vary.
    """
    margins = np.stack([strata[:, 0] + strata[:, 2], strata[:, 1], strata[:, 1] + strata[:, 3]], axis=1)
    lowest = np.maximum(0, margins[:, 0] + margins[:, 1] - margins[:, 2])
    above = int(strata[:, 0].sum() - lowest.sum())
    if above <= 0:
        return 1.0
    chances: Array = np.ones(1)
    for (wrong, inside, total), times in sorted(Counter(map(tuple, margins.tolist())).items()):
        chances = np.convolve(chances, _power(_hypergeometric(wrong, inside, total), times))
    return min(1.0, float(np.sort(chances[above:]).sum()))


def _hypergeometric(wrong: int, inside: int, total: int) -> Array:
    """The chances of each possible number of wrong ones among `inside` drawn from `total`, from the least on."""
    logs = _log_factorials(1 << max(total, 1).bit_length())
    k = np.arange(max(0, wrong + inside - total), min(wrong, inside) + 1)
    ways = logs[wrong] - logs[k] - logs[wrong - k] + logs[total - wrong] - logs[inside - k]
    all_ways = logs[total] - logs[inside] - logs[total - inside]
    return np.asarray(np.exp(ways - logs[total - wrong - inside + k] - all_ways), dtype=np.float64)


@lru_cache(maxsize=4)
def _log_factorials(size: int) -> Array:
    return np.array([math.lgamma(n + 1) for n in range(size + 1)])


def _power(chances: Array, times: int) -> Array:
    """The distribution of the sum of `times` independent variables."""
    if times == 1:
        return chances
    half = _power(chances, times // 2)
    square = np.convolve(half, half)
    return np.convolve(square, chances) if times % 2 else square
