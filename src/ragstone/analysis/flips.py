"""Two systems on the same questions, from the indices of their runs: which answers one has right and the other wrong.

A pair is a question under one condition, as in `compare`; of several answers to it (repeats), the mean counts. Whole
columns are compared, so that a million pairs take a fraction of a second.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from ragstone.analysis.case_index import Outcomes
from ragstone.analysis.pair_columns import PairKeys, matched
from ragstone.analysis.power import Spread, spread_of
from ragstone.analysis.sides import RIGHT
from ragstone.stats import LEVEL, Decision, decide, family

if TYPE_CHECKING:
    from numpy.typing import NDArray

Sides: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"
Cell: TypeAlias = Literal["won", "lost", "both_right", "both_wrong"]
CELLS: tuple[Cell, ...] = get_args(Cell)
MEASURED = ("seconds", "tokens")  # what an index has beside the metrics


@dataclass(frozen=True)
class Gain:
    """The mean of both sides over `n` pairs of so many `questions`, and the mean difference, B − A, with its interval
    (None for a single question) and p, both after the correction of its table as in `compare`: the interval has 0
    exactly if p is 5% or more. `needed`: where it is, the questions that would show the difference; 0 without one."""

    n: int
    a: float
    b: float
    difference: float
    low: float | None = None
    high: float | None = None
    questions: int = 0
    needed: int = 0
    p: float = 1.0

    @property
    def turned(self) -> "Gain":
        """The same as A − B."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return replace(self, a=self.b, b=self.a, difference=-self.difference, low=low, high=high)

    @property
    def decided(self) -> bool:
        """Whether the sides differ."""
        return self.difference != 0 and self.p < LEVEL


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

    @property
    def common(self) -> int:
        """The pairs that both sides have."""
        return self.pairs + self.open


def flips_of(a: Outcomes, b: Outcomes, *, refused: Collection[str] = ()) -> Flips:
    """Compares two systems pair by pair. `refused`: metrics that are not comparable. Right answers and metrics are
    corrected together, as the rows of `compare` are."""
    (keys_a, first_a, groups_a), (keys_b, first_b, groups_b) = _keys_of(a), _keys_of(b)
    found = matched(keys_a, keys_b)
    at_a, at_b = found.at_a, found.at_b
    order = np.argsort(first_a[at_a])
    at_a, at_b = at_a[order], at_b[order]
    places = np.stack([a.places[first_a[at_a]], b.places[first_b[at_b]]], axis=1)
    _, units = np.unique(a.samples[first_a[at_a]], return_inverse=True)

    def sides(of_a: "NDArray[np.float64]", of_b: "NDArray[np.float64]") -> "Sides":
        return _means(of_a, groups_a, len(first_a))[at_a], _means(of_b, groups_b, len(first_b))[at_b]

    right = sides(a.right, b.right)
    known = ~np.isnan(right[0]) & ~np.isnan(right[1])
    before, after = (side > 0.5 for side in right)
    cells = (~before & after, before & ~after, before & after, ~before & ~after)
    masks = {cell: mask & known for cell, mask in zip(CELLS, cells, strict=True)}
    compared = sorted((a.scores.keys() & b.scores.keys()) - {*refused})
    gains = _corrected({name: sides(a.scores[name], b.scores[name]) for name in compared} | {RIGHT: right}, units)
    return Flips(
        {cell: int(mask.sum()) for cell, mask in masks.items()},
        {cell: places[mask] for cell, mask in masks.items()},
        gains.pop(RIGHT, None), gains,
        int((~known).sum()), (len(first_a) - len(at_a), len(first_b) - len(at_b)),
    )  # fmt: skip


def _keys_of(side: Outcomes) -> "tuple[PairKeys, NDArray[np.int64], NDArray[np.int64]]":
    """The keys of the pairs of a side, the first case of each, and the pair of each case."""
    cases = PairKeys(side.pairs.astype(np.int64), side.inputs.astype(np.int64))
    _, first, groups = np.unique(cases.both, return_index=True, return_inverse=True)
    return PairKeys(cases.ids[first], cases.inputs[first], first), first, groups


def _means(values: "NDArray[np.float64]", groups: "NDArray[np.int64]", size: int) -> "NDArray[np.float64]":
    """The mean of the known values of each group; NaN where none is known."""
    known = ~np.isnan(values)
    counts = np.bincount(groups[known], minlength=size)
    sums = np.bincount(groups[known], values[known], size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _corrected(values: "Mapping[str, Sides]", units: "NDArray[np.int64]") -> dict[str, Gain]:
    """The gain of each quantity that has a pair, all of them one family; times and tokens, which `compare` does not
    compare, are none of it. Those with the same values are one quantity."""
    found: dict[str, tuple[Gain, Decision, Spread]] = {}
    same: dict[bytes, str] = {}
    first: dict[str, str] = {}
    for name, (a, b) in values.items():
        if (made := _gain(a, b, units)) is not None:
            found[name] = made
            key = name.encode() if name in MEASURED else a.tobytes() + b.tobytes()
            first[name] = same.setdefault(key, name)
    together = [name for name in same.values() if name not in MEASURED]
    levels = dict(zip(together, family([found[name][1] for name in together]), strict=True))
    return {
        name: _at(*made, *levels.get(first[name], (made[1].p, LEVEL))) for name, made in found.items()
    }  # fmt: skip


def gain_of(a: "NDArray[np.float64]", b: "NDArray[np.float64]", units: "NDArray[np.int64]") -> Gain | None:
    """The mean difference over the pairs that have both values, with the interval of `compare`: the pairs of a sample
    (`units`) count as one. None without a pair."""
    made = _gain(a, b, units)
    return None if made is None else _at(*made, made[1].p, LEVEL)


def _gain(
    a: "NDArray[np.float64]", b: "NDArray[np.float64]", units: "NDArray[np.int64]"
) -> tuple[Gain, Decision, Spread] | None:
    """The gain, not decided yet."""
    known = ~np.isnan(a) & ~np.isnan(b)
    a, b, units = a[known], b[known], units[known]
    if not len(a):
        return None
    gain = Gain(len(a), float(a.mean()), float(b.mean()), float((b - a).mean()), questions=len(np.unique(units)))
    return gain, decide(a, b, groups=units), spread_of(a, b, units)


def _at(gain: Gain, decision: Decision, spread: Spread, p: float, level: float) -> Gain:
    """The gain, decided by this corrected p and at this level."""
    low, high = decision.interval(level) or (None, None)
    gain = replace(gain, p=p, low=low, high=high)
    if low is None or gain.decided or not gain.difference:
        return gain
    return replace(gain, needed=spread.needed(gain.difference))
