"""How much the mean of a run varies when the system, or the judge, is asked all the questions again.

Questions and repeats are crossed: a score is the question's, plus what the repeat adds to all questions alike, plus the
rest (Brennan 2001, §2). The rest is in a variance over questions already; what a repeat adds to all of them is not.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ragstone.stats.intervals import Array, student_quantile
from ragstone.stats.samples import Indices


@dataclass(frozen=True)
class RepeatVariance:
    """The variance of the mean of one repeat, by two estimates: `between` from the means of the repeats, with so many
    `degrees` of freedom, and `rest` from what questions and repeats do not explain. `between` has the shift of a whole
    repeat and the rest, so that their difference is the variance of that shift."""

    between: float
    rest: float
    degrees: int

    @classmethod
    def of(cls, runs: Iterable[tuple[Indices, Indices, Array]]) -> "RepeatVariance | None":
        """Pooled over runs: for each the question, the number of the repeat, and the value of every score. Questions
        that a repeat lacks are left out. None if no run has two repeats of two questions."""
        squares = rest = 0.0
        degrees = 0
        for questions, repeats, values in runs:
            table = _crossed(questions, repeats, values)
            rows, columns = table.shape
            if rows < 2 or columns < 2:
                continue
            means = table.mean(axis=0)
            squares += float(np.square(means - means.mean()).sum())
            residuals = table - table.mean(axis=1, keepdims=True) - means + means.mean()
            rest += float(np.square(residuals).sum()) / ((rows - 1) * rows)  # (columns − 1) times the variance
            degrees += columns - 1
        return cls(squares / degrees, rest / degrees, degrees) if degrees else None

    @property
    def shift(self) -> float:
        """The variance of what one repeat adds to all questions alike."""
        return max(0.0, self.between - self.rest)

    def drawn(self, count: int, rng: np.random.Generator) -> Array:
        """Draws of `shift` as few repeats leave it uncertain: of its generalised pivotal quantity (Weerahandi 1993)."""
        chi_square = rng.chisquare(self.degrees, count)
        return np.asarray(np.maximum(0.0, self.between * self.degrees / chi_square - self.rest))

    def reach(self, repeats: float) -> float:
        """The half width of Student's interval of a shift whose variance is that of one repeat, times `repeats`."""
        return student_quantile(self.degrees) * math.sqrt(self.shift * repeats)


def widened(
    value: float, interval: tuple[float, float], reach: float, *, most: float = math.inf
) -> tuple[float, float]:
    """The interval with an independent `reach` on either side (squares add up), within `most` of 0."""
    low, high = (math.hypot(end - value, reach) for end in interval)
    return max(value - low, -most), min(value + high, most)


def _crossed(questions: Indices, repeats: Indices, values: Array) -> Array:
    """(questions, repeats): the mean score of each question in each repeat, of the questions that all repeats have."""
    names, columns = np.unique(repeats, return_inverse=True)
    known, rows = np.unique(questions, return_inverse=True)
    cells, size = rows * len(names) + columns, len(known) * len(names)
    counts = np.bincount(cells, minlength=size).reshape(-1, len(names))
    sums = np.bincount(cells, values, size).reshape(-1, len(names))
    whole = counts.all(axis=1)
    return np.asarray(sums[whole] / counts[whole])
