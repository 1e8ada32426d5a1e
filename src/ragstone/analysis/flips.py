"""Two systems on the same questions, from the indices of their runs: which answers one has right and the other wrong.

A pair is a sample under one condition, as in `compare`; of several answers to it (repeats), the mean counts. Whole
columns are compared, so that a million pairs take a fraction of a second.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from ragstone.analysis.case_index import Outcomes
from ragstone.analysis.power import spread_of
from ragstone.stats import difference_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

Sides: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"
Cell: TypeAlias = Literal["won", "lost", "both_right", "both_wrong"]
CELLS: tuple[Cell, ...] = get_args(Cell)


@dataclass(frozen=True)
class Gain:
    """The mean of both sides over `n` pairs of so many `questions`, and the mean difference, B − A, with its 95%
    interval (None for a single question). `needed`: where the interval has 0, the questions that would show the
    difference; 0 without one."""

    n: int
    a: float
    b: float
    difference: float
    low: float | None = None
    high: float | None = None
    questions: int = 0
    needed: int = 0

    @property
    def turned(self) -> "Gain":
        """The same as A − B."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return replace(self, a=self.b, b=self.a, difference=-self.difference, low=low, high=high)

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class Flips:
    """The pairs of A and B by cell: `won` are right in B only, `lost` in A only. `places`: positions in the indices of
    A and B, in the order of A. `right`: the shares of right answers; None if no pair could be decided. `open`: pairs
    whose verdict is missing on a side. `left_out`: pairs that only A has, and only B."""

    counts: Mapping[Cell, int]
    places: Mapping[Cell, "NDArray[np.int64]"]
    right: Gain | None
    scores: Mapping[str, Gain] = field(default_factory=dict)
    open: int = 0
    left_out: tuple[int, int] = (0, 0)

    @property
    def pairs(self) -> int:
        """The pairs with a verdict on both sides."""
        return sum(self.counts.values())


def flips_of(a: Outcomes, b: Outcomes) -> Flips:
    """Compares two systems pair by pair."""
    keys_a, first_a, groups_a = np.unique(a.pairs, return_index=True, return_inverse=True)
    keys_b, first_b, groups_b = np.unique(b.pairs, return_index=True, return_inverse=True)
    common, at_a, at_b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
    order = np.argsort(first_a[at_a])
    at_a, at_b = at_a[order], at_b[order]
    places = np.stack([a.places[first_a[at_a]], b.places[first_b[at_b]]], axis=1)
    _, units = np.unique(a.samples[first_a[at_a]], return_inverse=True)

    def sides(of_a: "NDArray[np.float64]", of_b: "NDArray[np.float64]") -> "Sides":
        return _means(of_a, groups_a, len(keys_a))[at_a], _means(of_b, groups_b, len(keys_b))[at_b]

    right = sides(a.right, b.right)
    known = ~np.isnan(right[0]) & ~np.isnan(right[1])
    before, after = (side > 0.5 for side in right)
    cells = (~before & after, before & ~after, before & after, ~before & ~after)
    masks = {cell: mask & known for cell, mask in zip(CELLS, cells, strict=True)}
    scores = {name: gain_of(*sides(a.scores[name], b.scores[name]), units) for name in a.scores if name in b.scores}
    return Flips(
        {cell: int(mask.sum()) for cell, mask in masks.items()},
        {cell: places[mask] for cell, mask in masks.items()},
        gain_of(*right, units), {name: gain for name, gain in scores.items() if gain is not None},
        int((~known).sum()), (len(keys_a) - len(common), len(keys_b) - len(common)),
    )  # fmt: skip


def _means(values: "NDArray[np.float64]", groups: "NDArray[np.int64]", size: int) -> "NDArray[np.float64]":
    """The mean of the known values of each group; NaN where none is known."""
    known = ~np.isnan(values)
    counts = np.bincount(groups[known], minlength=size)
    sums = np.bincount(groups[known], values[known], size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def gain_of(a: "NDArray[np.float64]", b: "NDArray[np.float64]", units: "NDArray[np.int64]") -> Gain | None:
    """The mean difference over the pairs that have both values, with the interval of `compare`: the pairs of a sample
    (`units`) count as one. None without a pair. Scores that are no shares have no interval here."""
    known = ~np.isnan(a) & ~np.isnan(b)
    a, b, units = a[known], b[known], units[known]
    if not len(a):
        return None
    shares = min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) <= 1
    ends = difference_interval(b - a, groups=units) if shares else None
    means = (float(a.mean()), float(b.mean()), float((b - a).mean()))
    low, high = ends or (None, None)
    gain = Gain(len(a), *means, low, high, len(np.unique(units)))
    if low is None or gain.decided or not gain.difference:
        return gain
    return replace(gain, needed=spread_of(a, b, units).needed(gain.difference))
