"""Means of a judge's scores that people's labels make valid: prediction-powered inference.

With N scores of the judge and n labels of the same questions, the mean is λ·(mean of the judge) + mean of (label -
λ·judge) over the labelled ones. Its interval is valid whatever the judge is worth; λ is chosen so that a useless judge
does no harm (PPI++, Angelopoulos, Duchi and Zrnic 2023; Angelopoulos et al., Science 2023).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragstone.errors import UsageError
from ragstone.stats import Array, student_quantile

__all__ = ["LEAST_LABELS", "Calibrated", "calibrated_mean"]

LEAST_LABELS = 50
"""With fewer labels the interval is not known to be valid."""


@dataclass(frozen=True)
class Calibrated:
    """A calibrated mean. `naive`: the judge's mean; `labels_only`: the mean of the labels with its interval. `weight`:
    λ, 0 where the judge is of no use. `n` labels, `judged` scores in all. `saved`: how many more labels an interval of
    this width would have needed without the judge."""

    mean: float
    low: float
    high: float
    naive: float
    labels_only: tuple[float, float, float]
    weight: float
    n: int
    judged: int
    saved: int


@dataclass(frozen=True)
class _Part:
    """The moments of one stratum: its `share` of all questions, the mean, its variance, and the same of labels
    alone."""

    share: float
    mean: float
    variance: float
    label_mean: float
    label_variance: float


def calibrated_mean(
    labels: "Sequence[float] | Array", judged: "Sequence[float] | Array", unlabelled: "Sequence[float] | Array", *,
    strata: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Calibrated:  # fmt: skip
    """The mean over all questions, from the labels, the judge's scores of the same questions (`judged`, in their order)
    and its scores of the others. `strata`: the stratum of each labelled and of each unlabelled question; each stratum
    is calibrated by itself. Raises UsageError for fewer than `LEAST_LABELS` labels, or a stratum with fewer than
    two."""
    if len(labels) != len(judged):
        raise ValueError(f"{len(labels)} labels, but {len(judged)} scores of the same questions.")
    if len(labels) < LEAST_LABELS:
        raise UsageError(
            f"{len(labels)} labels: a calibrated mean needs {LEAST_LABELS} or more, because its interval is only known "
            "to be valid from there."
        )
    y, f, rest = (np.asarray(values, dtype=np.float64) for values in (labels, judged, unlabelled))
    of_y, of_rest = strata or ([""] * len(y), [""] * len(rest))
    names = sorted({*of_y, *of_rest})
    inside, outside = np.asarray(of_y), np.asarray(of_rest)
    weight = _weight(y, f, rest)
    parts = [_part(y[inside == name], f[inside == name], rest[outside == name], weight, len(y) + len(rest), name)
             for name in names]  # fmt: skip
    mean, error = _combined([(part.share, part.mean, part.variance) for part in parts], len(y) - len(names))
    alone, alone_error = _combined([(part.share, part.label_mean, part.label_variance) for part in parts],
                                   len(y) - len(names))  # fmt: skip
    everything = np.concatenate([f, rest])
    saved = max(0, round(len(y) * ((alone_error / error) ** 2 - 1))) if error > 0 else 0
    return Calibrated(
        mean, mean - error, mean + error, float(everything.mean()), (alone, alone - alone_error, alone + alone_error),
        weight, len(y), len(y) + len(rest), saved,
    )  # fmt: skip


def _weight(y: Array, f: Array, rest: Array) -> float:
    """λ of PPI++ for a mean: cov(label, judge) / ((1 + n/N) · var(judge)), within [0, 1]."""
    if not len(rest):
        return 0.0
    spread = float(np.concatenate([f, rest]).var(ddof=1))
    if spread == 0.0:
        return 0.0
    together = float(((y - y.mean()) * (f - f.mean())).mean())
    return min(1.0, max(0.0, together / ((1 + len(y) / len(rest)) * spread)))


def _part(y: Array, f: Array, rest: Array, weight: float, total: int, name: str) -> _Part:
    if len(y) < 2:
        raise UsageError(f"The stratum {name!r} has {len(y)} labels: each needs two or more. Merge strata.")
    corrected = y - weight * f
    of_rest = float(weight * rest.mean()) if len(rest) else 0.0
    spread = float((weight * rest).var(ddof=1)) / len(rest) if len(rest) > 1 else 0.0
    if len(rest):
        mean, variance = of_rest + float(corrected.mean()), spread + float(corrected.var(ddof=1)) / len(y)
    else:
        mean, variance = float(y.mean()), float(y.var(ddof=1)) / len(y)
    return _Part(
        (len(y) + len(rest)) / total, mean, variance, float(y.mean()), float(y.var(ddof=1)) / len(y)
    )  # fmt: skip


def _combined(parts: Sequence[tuple[float, float, float]], degrees: int) -> tuple[float, float]:
    """The mean over strata, and half of its 95% interval."""
    mean = sum(share * value for share, value, _ in parts)
    error = student_quantile(degrees) * math.sqrt(sum(share * share * variance for share, _, variance in parts))
    return mean, error
