"""Statistical power: the smallest detectable difference, and the number of questions needed to detect one.

A difference is detectable if the test finds it with 80% probability (`POWER`) at the 5% level, corrected for the number
of quantities tested together.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ragstone.stats import UNSEEN, Groups, Values, units_of

POWER, _LEVEL = 0.8, 0.05


@dataclass(frozen=True)
class Spread:
    """The spread of the differences of `units` questions. `square`: for scores of 0 and 1 (`whole`) the share of
    questions that changed, otherwise the variance. `shares`: the scores are in [0, 1]."""

    units: int
    square: float
    whole: bool
    shares: bool

    def needed(self, difference: float, tested: int = 1) -> int:
        """The number of questions needed to detect a true difference, with `tested` quantities in the family. For
        scores of 0 and 1: Connor 1987 with a correction for the exact test; for others: the normal approximation."""
        size = abs(difference)
        # The mean difference of scores of 0 and 1 is at most the share of questions that changed.
        square = max(self.square, size) if self.whole else self.square + size**2
        level, power = NormalDist().inv_cdf(1 - _LEVEL / (2 * tested)), NormalDist().inv_cdf(POWER)
        reach = level * math.sqrt(square) + power * math.sqrt(max(square - size**2, 0.0))
        root = (reach + math.sqrt(reach**2 + 4 * size * self.whole)) / (2 * size)
        # Of graded scores of which none fell, the interval allows a fall of level² / (n + level²); where some fall a
        # little, four fifths of the questions are enough (bench/decisions.py).
        unseen = 0.8 * level**2 * (1 - size) / size if self.shares and not self.whole else 0.0
        return max(math.ceil(root**2), math.ceil(unseen), math.ceil(math.log2(2 * tested / _LEVEL)))

    def smallest(self, tested: int = 1) -> float | None:
        """The smallest true difference that these questions can detect; None if there is none."""
        low, high = 0.0, 1.0
        while self.needed(high, tested) > self.units:
            if self.shares or high > 1e12:
                return None
            high *= 2
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if self.needed(middle, tested) > self.units else (low, middle)
        return high


def spread_of(a: Values, b: Values, groups: Groups | None) -> Spread:
    """The spread of the paired differences b − a, with all pairs of a group as one question; None: each pair is one."""
    one, other = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    sums, sizes = units_of(other - one, groups=groups)
    units, values = len(sums), sums / sizes.mean()
    shares = bool(min(one.min(), other.min()) >= 0 and max(one.max(), other.max()) <= 1)
    if units == len(one) and all(np.isin(side, (0.0, 1.0)).all() for side in (one, other)):
        return Spread(units, float(np.square(values).mean()), True, True)
    return Spread(units, float((np.square(values - values.mean()).sum() + UNSEEN * shares) / units), False, shares)
