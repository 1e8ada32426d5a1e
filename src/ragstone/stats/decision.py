"""Whether two systems differ on the same questions: one decision, of which p and interval are two readings.

The interval at a level leaves out 0 exactly if p is below that level. It is that of a mean gain minus a mean loss
(`MeanChange`), with Student's quantiles, or Student's own for scores beyond [0, 1]. p is the level at which it reaches
0, but at least that of an exact test: McNemar's for independent right and wrong, otherwise the least that flipping the
signs of the differing units can give. Where the exact test shows no difference, the interval is widened to have 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ragstone.stats.intervals import (
    ROUNDING,
    Array,
    Groups,
    Interval,
    MeanChange,
    Values,
    exact_interval,
    finite,
    most_trials,
    student_beyond,
    student_quantile,
    units_of,
)
from ragstone.stats.paired import holm, mcnemar_exact

LEVEL = 0.05
_GRID = np.linspace(0.0, 1.0, 65)
_WIDEST = (-4.0, 6.0)  # powers of ten between which a quantile is looked for
_ROUNDS = 7  # each finds it 64 times as exactly

DecisionKind: TypeAlias = Literal["mcnemar", "newcombe", "student"]


@dataclass(frozen=True)
class Decision:
    """Whether B differs from A in the mean: `kind` of test, two-sided `p`, the mean `difference` B − A, over so many
    `units`. `reach` is what intervals are made of: None for fewer than two units, a standard error for Student's."""

    kind: DecisionKind
    p: float
    difference: float
    units: int
    reach: MeanChange | float | None = None
    degrees: float = 1.0
    won: int = 0
    lost: int = 0

    def interval(self, level: float = LEVEL) -> Interval:
        """The interval that misses the true difference with probability `level`; it has 0 exactly if p ≥ `level`."""
        if self.reach is None:
            return None
        low, high = _ends(self.difference, self.reach, student_quantile(self.degrees, level))
        if self.p < level or low <= 0.0 <= high:
            return (float(low), float(high))
        least, most = self._exact(level) if self.kind == "mcnemar" else (0.0, 0.0)
        return (min(least, 0.0), float(high)) if low > 0.0 else (float(low), max(most, 0.0))

    def _exact(self, level: float) -> tuple[float, float]:
        """The interval of McNemar's test, given how many pairs differ: which of them B won, by Clopper and Pearson."""
        changed = self.won + self.lost
        low, high = exact_interval(self.won / changed, changed, level)
        return (2 * low - 1) * changed / self.units, (2 * high - 1) * changed / self.units


def decide(a: Values, b: Values, *, groups: Groups | None = None) -> Decision:
    """The decision between paired values of A and B; the pairs of a group, such as a question's, are one unit."""
    one, other = finite(a), finite(b)
    if len(one) != len(other):
        raise ValueError(f"Pairs are needed: {len(one)} values against {len(other)}.")
    changes = other - one
    changes[np.abs(changes) <= ROUNDING] = 0.0
    gains, losses, sizes = units_of(np.maximum(changes, 0.0), np.maximum(-changes, 0.0), groups=groups)
    units, total = len(sizes), sizes.sum()
    difference = float((gains.sum() - losses.sum()) / total) if units else 0.0
    single = units == len(changes)
    whole = single and all(np.isin(side, (0.0, 1.0)).all() for side in (one, other))
    shares = not units or (min(one.min(), other.min()) >= -ROUNDING and max(one.max(), other.max()) <= 1 + ROUNDING)
    kind: DecisionKind = "mcnemar" if whole else "newcombe" if shares else "student"
    won, lost = int((gains > losses).sum()), int((losses > gains).sum())
    exact = mcnemar_exact(won, lost) if whole else min(1.0, 2.0 ** (1 - won - lost))
    if units < 2:
        return Decision(kind, exact, difference, units)
    degrees = max(float(total**2 / np.square(sizes).sum()) - 1.0, 0.5)
    reach: MeanChange | float
    if shares:
        reach = MeanChange.of(gains, losses, sizes, trials=most_trials(np.abs(changes)))
    else:
        deviations = gains - losses - difference * sizes
        reach = float(math.sqrt(units / (units - 1) * np.square(deviations).sum()) / total)
    p = max(exact, student_beyond(_quantile(difference, reach), degrees)) if difference else 1.0
    return Decision(kind, p, difference, units, reach, degrees, won, lost)


def _ends(difference: float, reach: MeanChange | float, quantile: "float | Array") -> tuple[Any, Any]:
    if isinstance(reach, MeanChange):
        return reach.interval(quantile)
    return difference - quantile * reach, difference + quantile * reach


def _quantile(difference: float, reach: MeanChange | float) -> float:
    """The least quantile whose interval reaches 0 from a difference that is not 0."""
    if isinstance(reach, float):
        return abs(difference) / reach if reach > 0.0 else math.inf
    low, high = _WIDEST
    for _ in range(_ROUNDS):
        powers = low + (high - low) * _GRID
        near, far = reach.interval(10.0**powers)
        reached = near <= 0.0 if difference > 0.0 else far >= 0.0
        at = max(1, int(reached.argmax())) if reached.any() else len(powers) - 1
        low, high = float(powers[at - 1]), float(powers[at])
    return float(10.0**low)


def family(decisions: Sequence[Decision]) -> list[tuple[float, float]]:
    """Of each decision of one family p after Holm's correction, and the level of the interval that agrees with it: it
    leaves out 0 exactly if the corrected p is below `LEVEL`."""
    corrected = holm([decision.p for decision in decisions])
    return [
        (p, LEVEL * (decision.p / p) if p > 0.0 else LEVEL / len(decisions))
        for decision, p in zip(decisions, corrected, strict=True)
    ]
