"""Means of a judge's scores that people's labels make valid: prediction-powered inference.

With N scores of the judge and n labels of the same questions, the mean is λ·(mean of the judge) + mean of (label -
λ·judge) over the labelled ones. Its interval is valid whatever the judge is worth; λ is chosen so that a useless judge
does no harm (PPI++, Angelopoulos, Duchi and Zrnic 2023; Angelopoulos et al., Science 2023). In strata the mean of each
counts by its share of all questions, so that some may be labelled more often than others: within a stratum each
question has the same chance of a label, and weighting by 1 / chance is the same as counting strata by their shares
(Horvitz and Thompson 1952; Zrnic and Candès 2024; Fisch et al. 2024).

The interval is Wilson's with an effective number of trials, as that of every score here (docs/decisions/0021).
Student's would cover 92% with a perfect judge and 50 labels of which 80% are right, and 88% where 90% are
(`bench/calibration.py`). Of right and wrong it reaches at least as far as one more label that contradicts the judge can
move the mean: where a judge agrees with all of few labels, they do not show how often it errs (docs/decisions/0051).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragstone.errors import UsageError
from ragstone.stats import UNSEEN, Array, mean_interval, most_trials, wilson
from ragstone.stats.intervals import ROUNDING, UpperEnd, Z

_UNSEEN_LEVEL = 0.12  # of the ends that unseen disagreements give (bench/calibration)
LEAST_LABELS = 50
"""With fewer labels the interval is not known to be valid."""


@dataclass(frozen=True)
class Calibrated:
    """A calibrated mean. `naive`: the judge's mean; `labels_only`: the mean of the labels, with the interval that as
    many labels of questions drawn at random have. `weight`: λ, 0 where the judge is of no use. `n` labels, `judged`
    scores in all. `error`: the standard error of the mean. `saved`: how many more labels an interval of this width
    would have needed without the judge."""

    mean: float
    low: float
    high: float
    naive: float
    labels_only: tuple[float, float, float]
    weight: float
    n: int
    judged: int
    saved: int
    error: float = 0.0


@dataclass(frozen=True)
class _Part:
    """A stratum: labels, scores of the same questions and of the others, and its `share` of all questions."""

    y: Array
    f: Array
    rest: Array
    share: float

    def combined(self, weight: float) -> tuple[float, float]:
        """The stratum's mean, and its variance; deviations are taken against the other labels (HC3)."""
        if not len(self.rest):
            weight = 0.0
        residual = self.y - weight * self.f
        n = len(residual)
        mean, variance = residual.mean(), np.square(residual - residual.mean()).sum() / (n - 1) ** 2
        if len(self.rest):
            mean += weight * self.rest.mean()
        if len(self.rest) > 1:
            variance += weight**2 * self.rest.var(ddof=1) / len(self.rest)
        return float(mean), float(variance)

    def spread(self, mean: float) -> float:
        """The mean square of the labels' distance from the mean of all."""
        return float(self.y.var(ddof=1) + (self.y.mean() - mean) ** 2 - self.y.var(ddof=1) / len(self.y))


def calibrated_mean(
    labels: "Sequence[float] | Array", judged: "Sequence[float] | Array", unlabelled: "Sequence[float] | Array", *,
    strata: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Calibrated:  # fmt: skip
    """The mean over all questions, from the labels (in [0, 1]), the judge's scores of the same questions (`judged`, in
    their order) and its scores of the others. `strata`: the stratum of each labelled and of each unlabelled question;
    within one, the labelled questions must be drawn at random. Raises UsageError for fewer than `LEAST_LABELS` labels,
    or a stratum with fewer than two."""
    if len(labels) != len(judged):
        raise ValueError(f"{len(labels)} labels, but {len(judged)} scores of the same questions.")
    if len(labels) < LEAST_LABELS:
        raise UsageError(
            f"{len(labels)} labels: a calibrated mean needs {LEAST_LABELS} or more, because its interval is only known "
            "to be valid from there."
        )
    y, f, rest = (np.asarray(values, dtype=np.float64) for values in (labels, judged, unlabelled))
    parts = _parts(y, f, rest, strata)
    weight = _weight(parts)
    mean, variance = _sum(parts, weight)
    label_mean, label_variance = _sum(parts, 0.0)
    n, total, trials = len(y), len(y) + len(rest), most_trials(y)
    if len(parts) > 1:  # what as many labels would tell that are drawn from all questions alike
        label_variance = sum(part.share * part.spread(label_mean) for part in parts) / (n - 1)
    relative = min(1.0, variance / label_variance) if label_variance > 0 else 1.0
    low, high = _interval(mean, variance, n, relative**0.25, total if trials < math.inf else math.inf)
    alone = _interval(label_mean, label_variance, n, 1.0, trials)
    if len(parts) == 1:
        alone = mean_interval(y) or alone
    if trials < math.inf:
        # As far as a disagreement that no label showed can move the mean, but no farther than the labels alone allow.
        low = min(low, max(mean - _reach(parts, weight, -1), alone[0]))
        high = max(high, min(mean + _reach(parts, weight, 1), alone[1]))
    saved = max(0, round(n * (label_variance / variance - 1))) if variance > 0 else 0
    return Calibrated(
        mean, low, high, float(np.concatenate([f, rest]).mean()),
        (label_mean, *alone), weight, n, total, saved,
        math.sqrt(variance),
    )  # fmt: skip


def residuals(labels: Array, judged: Array, unlabelled: Array) -> Array:
    """What the labels say beyond the judge, label - λ·score: where this varies much, labels are of most use."""
    if not len(labels):
        return labels
    return labels - _weight([_Part(labels, judged, unlabelled, 1.0)]) * judged


def _parts(y: Array, f: Array, rest: Array, strata: tuple[Sequence[str], Sequence[str]] | None) -> list[_Part]:
    of_y, of_rest = (np.asarray(names) for names in strata or ([""] * len(y), [""] * len(rest)))
    parts = []
    for name in sorted({*of_y.tolist(), *of_rest.tolist()}):
        inside, outside = of_y == name, of_rest == name
        if inside.sum() < 2:
            raise UsageError(f"The stratum {name!r} has {inside.sum()} labels: each needs two or more. Merge strata.")
        share = float(inside.sum() + outside.sum()) / (len(y) + len(rest))
        parts.append(_Part(y[inside], f[inside], rest[outside], share))
    return parts


def _weight(parts: Sequence[_Part]) -> float:
    """λ of PPI++ for a mean, within [0, 1]: cov(label, judge) / ((1 + n/N) · var(judge)), both within strata."""
    together = spread = 0.0
    for part in parts:
        if len(part.rest):
            y, f = part.y - part.y.mean(), part.f - part.f.mean()
            count = len(y)
            together += part.share**2 * float((y * f).mean()) / count
            spread += part.share**2 * float(np.concatenate([part.f, part.rest]).var(ddof=1)) * (
                1 / count + 1 / len(part.rest)
            )  # fmt: skip
    return min(1.0, max(0.0, together / spread)) if spread > 0 else 0.0


def _sum(parts: Sequence[_Part], weight: float) -> tuple[float, float]:
    """The mean over strata, and its variance; the questions are a sample themselves, so that shares vary, too."""
    found = [(part.share, *part.combined(weight)) for part in parts]
    mean = sum(share * value for share, value, _ in found)
    between = sum(share * (value - mean) ** 2 for share, value, _ in found)
    total = sum(len(part.y) + len(part.rest) for part in parts)
    return mean, sum(share**2 * variance for share, _, variance in found) + between / total


def _reach(parts: Sequence[_Part], weight: float, side: int) -> float:
    """How far from the mean its upper (`side` 1) or lower (-1) end is if in each stratum one more label, unseen, says
    the opposite of the judge: the ends of the residuals' means (`UpperEnd`), and what the judge's mean and the strata's
    shares vary, put together (Zou and Donner 2008)."""
    squares, means = 0.0, []
    for part in parts:
        used = weight if len(part.rest) else 0.0
        residual = side * (part.y - used * part.f)
        judged = np.concatenate([part.f, part.rest])
        most = 1.0 - used * float(judged.min()) if side > 0 else used * float(judged.max())
        least = min(float(residual.min()), most)
        if most - least > ROUNDING:
            place = np.clip((residual - least) / (most - least), 0.0, 1.0)
            end = UpperEnd.of(place, np.ones(len(place)), math.inf).quantile(_UNSEEN_LEVEL)
            squares += (part.share * (most - least) * (end - float(place.mean()))) ** 2
        if len(part.rest) > 1:
            squares += (Z * used * part.share) ** 2 * float(part.rest.var(ddof=1)) / len(part.rest)
        means.append(part.combined(weight)[0])
    mean = sum(part.share * value for part, value in zip(parts, means, strict=True))
    between = sum(part.share * (value - mean) ** 2 for part, value in zip(parts, means, strict=True))
    return math.sqrt(squares + Z**2 * between / sum(len(part.y) + len(part.rest) for part in parts))


def _interval(mean: float, variance: float, n: int, unseen: float, most: float) -> tuple[float, float]:
    """Wilson's interval with as many trials as have this variance. `unseen`: what part of the deviations that few
    labels do not show (`stats.UNSEEN`) may be left where the judge explains much."""
    share = min(1.0, max(0.0, mean))
    added = UNSEEN * unseen
    ratio = (n * n * variance + added) / (n * share * (1 - share) + added) if added or share * (1 - share) else 1.0
    trials = min(n / max(ratio, 1e-9), most)
    return wilson(share * trials, trials)
