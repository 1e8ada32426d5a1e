"""The scores of one metric in a few bytes each, so that a million of them fit into memory."""

import heapq
from array import array
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragstone.stats import Estimate, Samples, all_differ
from ragstone.stats.samples import draw_of

Groups: TypeAlias = NDArray[np.int64]
"""Samples by the numbers of `Samples.groups`."""


@dataclass
class MetricScores:
    """The scores of one metric: values with the places of their samples, and counts of the cases without a value."""

    samples: Samples
    values: "array[float]" = field(default_factory=lambda: array("d"))
    places: "array[int]" = field(default_factory=lambda: array("i"))
    failed: int = 0
    not_applicable: int = 0
    unsure_places: "array[int]" = field(default_factory=lambda: array("i"))  # where a rule knows that it cannot tell
    reasons: Counter[str] = field(default_factory=Counter)
    read: int = 0  # values by a judge, about which a rule was unsure
    unasked: int = 0  # cases that are not scored yet
    unsupported_quotes: int = 0  # scores that rest on a verdict whose quote is in no passage

    def add(self, value: float, place: int) -> None:
        """A value of the sample at this place."""
        self.values.append(value)
        self.places.append(place)

    @property
    def unsure(self) -> int:
        return len(self.unsure_places)

    @property
    def total(self) -> int:
        return len(self.values) + self.failed + self.not_applicable + self.unsure + self.unasked

    def mean(self, *, gated: bool = False) -> Estimate:
        """The mean of the values; the values of one sample form a cluster. What a rule cannot tell widens its interval:
        it begins where that of all these as 0 does, and ends where that of all as 1 does. `gated`: with the interval
        that decides a gate, so that one screen has one interval of a mean."""
        if not self.values:
            return Estimate(total=self.total)
        found = self._estimate(self.values, self.places, gated)
        if not self.unsure:
            return found
        places = self.places + self.unsure_places
        least, most = (
            self._estimate(self.values + array("d", [value]) * self.unsure, places, gated) for value in (0.0, 1.0)
        )
        return replace(found, low=least.low, high=most.high)

    def _estimate(self, values: "array[float]", places: "array[int]", gated: bool) -> Estimate:
        return Estimate.of_mean(values, groups=self.samples.groups(places), total=self.total, decisive=gated)

    def bounds(self) -> tuple[float, float]:
        """The mean if all that is unsure were 0, and if it were 1."""
        n = max(1, len(self.values) + self.unsure)
        return sum(self.values) / n, (sum(self.values) + self.unsure) / n

    def repeated(self) -> list[list[float]]:
        """The values of each sample that has several, in the order of first appearance."""
        groups, values = self.samples.groups(self.places), np.asarray(self.values)
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.append(True, np.diff(groups[order]) != 0)) if len(order) else order
        ends = np.append(starts[1:], len(order))
        several = ends - starts > 1
        found = [order[start:end] for start, end in zip(starts[several], ends[several], strict=True)]
        return [values[numbers].tolist() for numbers in sorted(found, key=lambda numbers: int(numbers[0]))]

    def worst(self, count: int, *, below: float, among: Groups | None = None) -> list[tuple[str, float]]:
        """The samples with the lowest values below a bar: (sample id, value), lowest first. A sample that was judged
        several times counts with its mean. `among`: only these samples, by the numbers of `Samples.groups`."""
        groups, first, means = self._by_sample()
        order = np.lexsort((first, means))
        order = order if among is None else order[np.isin(groups[order], among)]
        low = order[means[order] < below][:count]
        return [(self.samples[self.places[first[one]]], float(means[one])) for one in low]

    def below(self, bar: float) -> Groups:
        """The samples with a mean below a bar, by the numbers of `Samples.groups`."""
        groups, _, means = self._by_sample()
        return groups[means < bar]

    def _by_sample(self) -> tuple[Groups, Groups, NDArray[np.float64]]:
        """The number of each sample, the first of its values, and their mean."""
        groups = self.samples.groups(self.places)
        if all_differ(groups):
            return groups, np.arange(len(groups)), np.asarray(self.values)
        found, first, inverse, counts = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
        return found, first, np.bincount(inverse, np.asarray(self.values)) / counts

    def extremes(self, count: int, *, lower: bool) -> tuple[str, ...]:
        """The samples with the worst values, of one value by the draw that chooses the cards of a page, too; none where
        every value is the best. `lower`: whether lower values are better."""
        values, places, found = np.asarray(self.values), np.asarray(self.places), dict[str, None]()
        while len(found) < count and len(values):
            value = values.max() if lower else values.min()
            if value == (0.0 if lower else 1.0):
                break
            worst = {self.samples[place] for place in places[values == value]}
            found |= dict.fromkeys(heapq.nlargest(count, worst, key=draw_of))
            values, places = values[values != value], places[values != value]
        return tuple(found)[:count]
