"""A mean or a proportion with its interval and its counts, as tables and charts show it."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragstone.display import Cell, Point
from ragstone.stats.intervals import (
    Groups,
    Interval,
    Z,
    count_interval,
    decisive_interval,
    difference_interval,
    finite,
    mean_interval,
    score_interval,
    student_interval,
    units_of,
)


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
        """The proportion of `won` among `n` independent trials, with its `count_interval`."""
        return (
            cls.of_share([(won, n)], total=total)
            if n < 2
            else cls(won / n, *count_interval(won, n), n, n if total is None else total)
        )

    @classmethod
    def of_share(cls, counts: Iterable[tuple[int, int]], *, total: int | None = None) -> "Estimate":
        """The proportion from (right, scored) of each question, which may be scored repeatedly."""
        pairs = [pair for pair in counts if pair[1]]
        won, n = sum(won for won, _ in pairs), sum(tried for _, tried in pairs)
        if not n:
            return cls(total=0 if total is None else total)
        sums, sizes = np.array(sorted(pairs), dtype=np.float64).T
        return cls(won / n, *_ends(score_interval(sums, sizes, trials=n)), n, n if total is None else total)

    @classmethod
    def of_mean(
        cls, values: Sequence[float], *, groups: Groups | None = None, total: int | None = None, decisive: bool = False
    ) -> "Estimate":
        """The mean of scores with its `mean_interval`, or its `decisive_interval`; values of one group, such as one
        sample's, are one cluster."""
        if not values:
            return cls(total=total)
        mean = math.fsum(values) / len(values)
        interval = decisive_interval if decisive else mean_interval
        return cls(mean, *_ends(interval(values, groups=groups)), len(values), total)

    @classmethod
    def of_amount(cls, values: Sequence[float], *, groups: Groups | None = None) -> "Estimate":
        """The mean of amounts without an upper end (tokens, money), with Student's interval."""
        if not values:
            return cls()
        numbers = finite(values)
        return cls(float(numbers.mean()), *_ends(student_interval(*units_of(numbers, groups=groups))), len(values))

    @classmethod
    def of_quantile(cls, values: Sequence[float], share: float) -> "Estimate":
        """A quantile with its interval from the order of the values (David and Nagaraja 2003, §7.1); None where too few
        values lie beyond it."""
        if not values:
            return cls()
        numbers = np.sort(finite(values))
        n, reach = len(numbers), Z * math.sqrt(len(numbers) * share * (1 - share))
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

    @classmethod
    def mean_of(cls, parts: "Sequence[Estimate]") -> "Estimate":
        """The mean of shares that are estimated independently, each of which counts the same; `n` is their number. The
        interval combines theirs, if all have one, each side by the root of the sum of squares (Zou and Donner 2008)."""
        values = [part.value for part in parts if part.value is not None]
        if not values:
            return cls()
        mean = math.fsum(values) / len(values)
        known = [part.known for part in parts if part.known is not None]
        if len(known) < len(values):
            return cls(mean, n=len(values))
        below = math.sqrt(math.fsum((value - low) ** 2 for value, low, _ in known)) / len(values)
        above = math.sqrt(math.fsum((high - value) ** 2 for value, _, high in known)) / len(values)
        return cls(mean, max(0.0, mean - below), min(1.0, mean + above), len(values))

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
