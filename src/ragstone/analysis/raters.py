"""Agreement of several raters on the same items: Cohen's, Fleiss' and weighted kappa, Krippendorff's alpha,
correlation.

Ratings are a table with a row per item and a column per rater; NaN where a rater did not rate an item. The intervals
are percentile bootstraps over items, seeded."""

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from ragstone.stats import Array

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
_RESAMPLES = 1_000
_ENOUGH = 0.9  # share of the resamples in which a statistic must be defined


def complete(ratings: Array) -> Array:
    """The items that every rater rated."""
    return ratings[~np.isnan(ratings).any(axis=1)]


def alpha(ratings: Array, level: Level = "nominal") -> float | None:
    """Krippendorff's alpha (2011): 1 - observed / expected disagreement, with missing values. None if no item has two
    ratings, or all ratings are equal."""
    values = np.unique(ratings[~np.isnan(ratings)])
    if not len(values):
        return None
    counts = np.stack([(ratings == value).sum(axis=1) for value in values], axis=1).astype(float)
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        return None
    of_item = counts.sum(axis=1)
    coincidence = (counts.T / (of_item - 1)) @ counts - np.diag((counts / (of_item - 1)[:, None]).sum(axis=0))
    totals = coincidence.sum(axis=0)
    distance = _distance(values, totals, level)
    expected = (np.outer(totals, totals) * distance).sum()
    if expected == 0.0:
        return None
    return float(1 - (totals.sum() - 1) * (coincidence * distance).sum() / expected)


def _distance(values: Array, totals: Array, level: Level) -> Array:
    """The squared difference of each pair of values at this level of measurement."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "interval":
        return np.square(values[:, None] - values[None, :])
    upto = np.cumsum(totals) - totals / 2  # the middle of each value's place in the order
    return np.square(upto[:, None] - upto[None, :])


def fleiss_kappa(ratings: Array) -> float | None:
    """Fleiss' kappa (1971) of the items that all raters rated. None if there are none, or all ratings are equal."""
    rated = complete(ratings)
    if not len(rated) or rated.shape[1] < 2:
        return None
    values = np.unique(rated)
    counts = np.stack([(rated == value).sum(axis=1) for value in values], axis=1).astype(float)
    raters = rated.shape[1]
    observed = ((np.square(counts).sum(axis=1) - raters) / (raters * (raters - 1))).mean()
    expected = np.square(counts.sum(axis=0) / counts.sum()).sum()
    return None if expected == 1.0 else float((observed - expected) / (1 - expected))


def weighted_kappa(a: Array, b: Array, weights: Literal["none", "linear", "quadratic"] = "quadratic") -> float | None:
    """Cohen's kappa of two raters with weights for the distance of their ratings (Cohen 1968). The categories are those
    that occur, in their order. None if there is no item, or both gave one rating only."""
    values = np.unique(np.concatenate([a, b]))
    if len(a) == 0 or len(values) < 2:
        return None
    first, second = np.searchsorted(values, a), np.searchsorted(values, b)
    table = np.zeros((len(values), len(values)))
    np.add.at(table, (first, second), 1.0)
    places = np.arange(len(values))
    apart = np.abs(places[:, None] - places[None, :]).astype(float)
    penalty = {"none": (apart > 0).astype(float), "linear": apart, "quadratic": apart**2}[weights]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(a)
    total = (penalty * expected).sum()
    return None if total == 0.0 else float(1 - (penalty * table).sum() / total)


def pearson(a: Array, b: Array) -> float | None:
    """Pearson's correlation; None for fewer than two items or values that are all equal."""
    if len(a) < 2:
        return None
    x, y = a - a.mean(), b - b.mean()
    norm = math.sqrt(float((x * x).sum() * (y * y).sum()))
    return None if norm == 0.0 else float((x * y).sum() / norm)


def spearman(a: Array, b: Array) -> float | None:
    """Spearman's rank correlation; equal values have their mean rank."""
    return pearson(ranks(a), ranks(b))


def ranks(values: Array) -> Array:
    """The rank of each value, from 1; equal values have their mean rank."""
    order = np.argsort(values, kind="stable")
    _, inverse, counts = np.unique(values[order], return_inverse=True, return_counts=True)
    last = np.cumsum(counts).astype(float)
    placed = (last - (counts - 1) / 2)[inverse]
    found = np.empty(len(values))
    found[order] = placed
    return found


def bootstrap(
    statistic: Callable[[Array], float | None], rows: Array, *, seed: int = 0, resamples: int = _RESAMPLES
) -> tuple[float, float] | None:
    """The 95% percentile interval of a statistic of the rows; None for fewer than two rows, or if the statistic is
    often undefined."""
    if len(rows) < 2:
        return None
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn: Sequence[float | None] = [
        statistic(rows[rng.integers(0, len(rows), size=len(rows))]) for _ in range(resamples)
    ]
    values = [value for value in drawn if value is not None]
    if len(values) < _ENOUGH * resamples:
        return None
    low, high = np.quantile(values, (0.025, 0.975))
    return (float(low), float(high))
