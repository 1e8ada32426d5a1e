"""Change points in a series of runs, with a stated rate of false alarms.

The statistic is the largest difference, over all places to cut the series, between the mean after and the mean before,
in standard errors (a likelihood-ratio scan; Page 1957, Hinkley 1970). Its p-value holds for all places together. The
change is where the means on both sides fit the scores best, by least squares.

Scores: all scores of a question, in whatever runs, are one unit. The test has two parts, of which the larger p-value
counts; in both, the means of the units are shuffled among them. What the scores of a unit deviate from its mean keeps
or changes its sign in all runs at once (questions may change for good, each in its own direction), or is shuffled among
its runs (answers vary from run to run). So runs of the same questions are compared question by question, runs of
different questions as independent samples, and questions of some of the runs count as far as they recur. Two runs of
the same questions are held to their comparison, too (`stats.decide`): flipped signs take rare gains for certain ones.

Where runs have repeats, all scores of a run are shifted besides, with the variance that the repeats show: a system that
answers better in one run and worse in the next has not changed.

Run figures (percentiles of latency) vary from run to run for reasons that no question shows, such as the load of a
machine. Their test shuffles the order of the runs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from ragstone.analysis.power import spread_of
from ragstone.stats import Array, RepeatVariance, decide

LEVEL = 0.05
LEAST_FIGURES = 8  # with fewer runs, almost no order of them is rarer than 5%
_DRAWS = 9_999  # p is then a multiple of 1/10,000
_MOST_DRAWN = 5_000  # units; with more, the means of the runs are drawn as normal
_MOST_SHUFFLED = 8_000  # scores; with more, the same
_ALL_ORDERS = 7  # runs; up to this many, every order is tried
_UNITS = 4_096  # units in memory at a time
_BLOCK = 1 << 20  # random numbers in memory at a time
_POWER = 0.84  # the 80% quantile of the normal distribution
_ROUNDING = 1e-9


@dataclass(frozen=True)
class RunScores:
    """The scores of one run: `units` has the number of each score's question, the same in every run. `repeats`: how
    often its questions were asked."""

    units: "np.ndarray[Any, np.dtype[np.int64]]"
    values: Array
    repeats: int = 1


@dataclass(frozen=True)
class Scan:
    """The most likely change of a series: its first run after the change, and its p-value. `visible`: the smallest
    change in the middle of the series that would be found with 80% power at the level asked for (None: unknown)."""

    place: int
    p: float
    visible: float | None = None


def scan_scores(
    runs: Sequence[RunScores], *, level: float = LEVEL, variance: RepeatVariance | None = None, seed: int = 0
) -> Scan:
    """Scans a series of at least two runs, each with at least one score. `variance`: of a repeat of these runs."""
    sizes = np.array([len(run.values) for run in runs], dtype=np.float64)
    contrasts = _contrasts(sizes)
    observed = np.abs(np.array([run.values.mean() for run in runs]) @ contrasts)
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = [means @ contrasts for means in _Units.of(runs).drawn(rng)]
    squares = np.max([np.square(part).mean(axis=0) for part in drawn], axis=0)
    if variance is not None:
        shares = contrasts / np.sqrt([[run.repeats] for run in runs])
        squares = squares + variance.shift * np.square(shares).sum(axis=0)
        shifts = np.sqrt(variance.drawn(_DRAWS, rng))[:, None] * (rng.standard_normal((_DRAWS, len(runs))) @ shares)
        drawn = [part + shifts for part in drawn]
    drawn, errors = [np.abs(part) for part in drawn], np.sqrt(squares)
    certain = errors <= _ROUNDING * max(1.0, *(float(np.abs(run.values).max()) for run in runs))
    scale = np.where(certain, np.inf, errors)
    statistic = (observed / scale).max()
    largest = [(part / scale).max(axis=1) for part in drawn]
    p = max((1 + (part >= statistic - _ROUNDING).sum()) / (1 + _DRAWS) for part in largest)
    reach = max(np.quantile(part, 1 - level) for part in largest) + _POWER
    before = np.cumsum(sizes)[:-1]
    place = int((observed * np.sqrt(before * (sizes.sum() - before))).argmax())
    scan = Scan(place + 1, float(p), float(reach * errors[(len(runs) - 2) // 2]))
    return _compared(scan, *runs, level=level) if len(runs) == 2 and variance is None else scan


def _compared(scan: Scan, before: RunScores, after: RunScores, *, level: float) -> Scan:
    """The scan of two runs, held to what their comparison decides where they have the same questions: what is no
    difference there is no change in a trend."""
    (old, a), (new, b) = _by_unit(before), _by_unit(after)
    if not np.array_equal(old, new):
        return scan
    smallest = spread_of(a, b, None).smallest(round(LEVEL / level))
    visible = None if smallest is None or scan.visible is None else max(scan.visible, smallest)
    return replace(scan, p=max(scan.p, decide(a, b).p), visible=visible)


def _by_unit(run: RunScores) -> "tuple[np.ndarray[Any, np.dtype[np.int64]], Array]":
    """The questions of a run and the mean of each one's scores."""
    units, places = np.unique(run.units, return_inverse=True)
    return units, np.bincount(places, run.values) / np.bincount(places)


def _contrasts(sizes: Array) -> Array:
    """(runs, cuts): the weight of each run in the mean after minus the mean before each cut."""
    before = np.cumsum(sizes)[:-1]
    after = sizes.sum() - before
    runs = np.arange(len(sizes))[:, None]
    return np.where(runs <= np.arange(len(before)), -sizes[:, None] / before, sizes[:, None] / after)


@dataclass(frozen=True)
class _Units:
    """What each unit has in each run: `cells` are unit * runs + run, in order, with the number of its scores there as a
    share of the run's (`shares`), and what they deviate from the unit's own mean, times that share (`within`)."""

    runs: int
    means: Array
    cells: "np.ndarray[Any, np.dtype[np.intp]]"
    shares: Array
    within: Array

    @classmethod
    def of(cls, runs: Sequence[RunScores]) -> "_Units":
        counts = [len(run.values) for run in runs]
        units = np.unique(np.concatenate([run.units for run in runs]), return_inverse=True)[1]
        values = np.concatenate([run.values for run in runs])
        means = np.bincount(units, values) / np.bincount(units)
        values -= means[units]  # in place, as below: a million scores of each run take much memory
        units *= len(runs)
        units += np.repeat(np.arange(len(runs)), counts)
        cells, inverse = np.unique(units, return_inverse=True)
        del units
        sizes = np.array(counts, dtype=np.float64)[cells % len(runs)]
        within = np.bincount(inverse, values) / sizes
        return cls(len(runs), means, cells, np.bincount(inverse) / sizes, np.where(abs(within) < _ROUNDING, 0, within))

    @property
    def count(self) -> int:
        return len(self.means)

    def dense(self, start: int, end: int) -> "tuple[Array, Array]":
        """`shares` and `within` of these units as (units, runs)."""
        low, high = np.searchsorted(self.cells, (start * self.runs, end * self.runs))
        cells, size = self.cells[low:high] - start * self.runs, (end - start) * self.runs
        shares, within = (np.bincount(cells, part[low:high], size) for part in (self.shares, self.within))
        return np.asarray(shares.reshape(-1, self.runs)), np.asarray(within.reshape(-1, self.runs))

    def drawn(self, rng: np.random.Generator) -> list[Array]:
        """The means of the runs as they would be without a change, twice (draws, runs): with the signs within units
        drawn, and with what is within units shuffled among their runs."""
        if self.count > _MOST_DRAWN:
            return [_normal(covariance, rng) for covariance in self._covariances()]
        shares, within = self.dense(0, self.count)
        shuffled = bool(np.ptp(shares, axis=0).any() and np.ptp(self.means))  # else every order gives the same
        result = np.zeros((_DRAWS, self.runs))
        for rows in _blocks(self.count) if shuffled else ():
            result[rows] += rng.permuted(np.tile(self.means, (len(result[rows]), 1)), axis=1) @ shares
        if not within.any():
            return [result]
        varied = within[within.any(axis=1)]
        signed, mixed = result.copy(), result
        for rows in _blocks(len(varied)):
            bits = rng.integers(0, 2, size=(len(signed[rows]), len(varied)), dtype=np.int8)
            signed[rows] += (1.0 - 2.0 * bits) @ varied
        if varied.size > _MOST_SHUFFLED or (shares[within.any(axis=1)] == 0).any():
            return [signed, mixed + _normal(_shuffled(shares, within), rng)]
        for rows in _blocks(varied.size):
            mixed[rows] += rng.permuted(np.tile(varied, (len(mixed[rows]), 1, 1)), axis=2).sum(axis=1)
        return [signed, mixed]

    def _covariances(self) -> list[Array]:
        """The covariances of both, for many units."""
        between, signed, mixed = (np.zeros((self.runs, self.runs)) for _ in range(3))
        centre = np.bincount(self.cells % self.runs, self.shares, self.runs) / self.count
        for start in range(0, self.count, _UNITS):
            shares, within = self.dense(start, min(start + _UNITS, self.count))
            between += self.means.var() * ((shares - centre).T @ (shares - centre))
            signed += within.T @ within
            mixed += _shuffled(shares, within)
        return [between + signed, between + mixed]


def _blocks(width: int) -> Iterator[slice]:
    """The draws in parts that need about `_BLOCK` random numbers, `width` each."""
    rows = max(1, _BLOCK // width)
    return (slice(start, start + rows) for start in range(0, _DRAWS, rows))


def _shuffled(shares: Array, within: Array) -> Array:
    """The covariance of the runs' means if each row of `within` is shuffled among the runs that have the unit."""
    present = (shares > 0).astype(np.float64)
    runs = present.sum(axis=1)
    spread = np.square(within).sum(axis=1) / np.maximum(runs - 1, 1)
    return np.asarray(np.diag(spread @ present) - present.T @ (present * (spread / np.maximum(runs, 1))[:, None]))


def _normal(covariance: Array, rng: np.random.Generator) -> Array:
    """(draws, runs): normal draws with this covariance."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(rng.standard_normal((_DRAWS, len(values))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T)


def scan_figures(figures: Sequence[float], *, seed: int = 0) -> Scan:
    """Scans one figure a run, at least two of them, by the order of the runs."""
    numbers = np.asarray(figures, dtype=np.float64)
    count = len(numbers)
    if count <= _ALL_ORDERS:
        orders = np.array(list(permutations(range(count))))
    else:
        rng = np.random.Generator(np.random.PCG64(seed))
        orders = rng.permuted(np.tile(np.arange(count), (_DRAWS, 1)), axis=1)
    cuts = np.arange(1, count)
    weights = np.sqrt(cuts * (count - cuts) / count)

    def statistics(series: Array) -> Array:
        before = np.cumsum(series, axis=-1)[..., :-1]
        after = series.sum(axis=-1, keepdims=True) - before
        return np.asarray(np.abs(after / (count - cuts) - before / cuts) * weights)

    found = statistics(numbers)
    place = int(found.argmax())
    slack = _ROUNDING * float(np.abs(numbers).max())
    extreme = int((statistics(numbers[orders]).max(axis=1) >= found[place] - slack).sum())
    drawn = count > _ALL_ORDERS  # the order that was observed is one of all
    return Scan(place + 1, (extreme + drawn) / (len(orders) + drawn))


def changes(
    scan: Callable[[int, int], Scan | None], first: Scan, start: int, end: int, *, level: float
) -> list[tuple[int, float]]:
    """All changes between two runs as (first run after it, p-value), in order. `scan` scans the runs of a stretch
    (None: too few), `first` is its result for the whole. A series that a change cuts in two is scanned again on both
    sides, each with its share of the level by its number of runs, which keeps the sum of the levels."""

    def search(found: Scan | None, low: int, high: int) -> list[tuple[int, float]]:
        if found is None or found.p > level * (high - low) / (end - start):
            return []
        cut = low + found.place
        left = search(scan(low, cut) if cut - low > 1 else None, low, cut)
        right = search(scan(cut, high) if high - cut > 1 else None, cut, high)
        return [*left, (cut, found.p), *right]

    return search(first, start, end)
