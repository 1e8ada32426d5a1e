"""Which questions to label next: those that narrow the interval of a calibrated mean most.

Questions are in strata by the judge's score (or a column of the data). A stratum gains most from a label where it is
large and the judge's error varies much (Neyman 1934); within it the questions are drawn at random, in an order that the
seed fixes. Before there are `LEAST_LABELS`, all are drawn alike. So every question of a stratum has the same known
chance of a label, and `calibrated_mean` with these strata stays valid (Zrnic and Candès 2024; Fisch et al. 2024):
labels that were picked one by one as the most doubtful would not be, because nothing is known about the others.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from ragstone.analysis.calibration import LEAST_LABELS, residuals
from ragstone.stats import Array

LEAST_OF_STRATUM = 10
"""Every stratum is given this many labels first: its variance is not known before."""

_MOST_STRATA = 3
_LEAST_SHARE = 0.1  # of all questions, in a stratum
_BORROWED = 4.0  # labels' worth of the common variance that each stratum's own is mixed with
_TRUST = 0.5  # in a stratum's own variance: its few labels may not show the rare errors (`bench/calibration.py`)
_Z = 1.959964


@dataclass(frozen=True)
class StratumPlan:
    """A stratum: its questions, those that have a label, how many more are proposed, and how far the judge errs there
    (standard deviation of label - λ·score)."""

    name: str
    questions: int
    labelled: int
    proposed: int
    spread: float


@dataclass(frozen=True)
class NextLabels:
    """The questions to label next, in a random order, and half of the interval's expected width: `now`, with these
    labels (`then`), and with as many drawn at random from all (`at_random`). None where nothing is labelled."""

    ids: tuple[str, ...]
    strata: tuple[StratumPlan, ...]
    now: float | None
    then: float
    at_random: float


def score_strata(scores: Mapping[str, float]) -> dict[str, str]:
    """The stratum of each question by the judge's score: up to three of about equal size, none with less than a tenth
    of the questions; equal scores are in the same one. They depend on the scores only, so they are the same before and
    after labelling."""
    values, counts = np.unique(np.array([*scores.values()], dtype=np.float64), return_counts=True)
    upto = np.cumsum(counts)[:-1] / max(1, len(scores))
    cuts: list[int] = []
    for number in range(1, _MOST_STRATA):
        free = [
            place
            for place, share in enumerate(upto)
            if all(abs(share - other) >= _LEAST_SHARE for other in (0.0, 1.0, *(upto[cut] for cut in cuts)))
        ]
        if free:
            cuts.append(min(free, key=lambda place: abs(upto[place] - number / _MOST_STRATA)))
    ends = [-1, *sorted(cuts), len(values) - 1]
    names = {
        float(value): f"{values[start + 1]:.2f}..{values[end]:.2f}"
        for start, end in itertools.pairwise(ends) for value in values[start + 1 : end + 1]
    }  # fmt: skip
    return {item: names[float(score)] for item, score in scores.items()}


def next_labels(
    scores: Mapping[str, float], labels: Mapping[str, float], count: int, *, strata: Mapping[str, str] | None = None,
    seed: int = 0,
) -> NextLabels:  # fmt: skip
    """The `count` questions to label next (fewer where no more are left). `scores`: the judge's, of every question;
    `labels`: those that there are, in [0, 1]; `strata`: by default `score_strata`."""
    strata = score_strata(scores) if strata is None else strata
    members: dict[str, list[str]] = {}
    for item in scores:
        members.setdefault(strata[item], []).append(item)
    names = sorted(members)
    spreads = _spreads([members[name] for name in names], scores, labels)
    sizes = [len(members[name]) for name in names]
    have = [sum(item in labels for item in members[name]) for name in names]
    more = _allocated(sizes, have, spreads, count)
    chosen = [item for name, number in zip(names, more, strict=True)
              for item in [new for new in _shuffled(members[name], seed) if new not in labels][:number]]  # fmt: skip
    total = sum(sizes)
    alike = [number + sum(more) * (size - number) / max(1, total - sum(have))
             for size, number in zip(sizes, have, strict=True)]  # fmt: skip
    means = [_mean(members[name], scores, labels) for name in names]
    plans = tuple(map(StratumPlan, names, sizes, have, more, spreads))
    then = [number + new for number, new in zip(have, more, strict=True)]
    return NextLabels(
        tuple(_shuffled(chosen, seed)), plans, _half(sizes, have, spreads, means) if min(have, default=0) else None,
        _half(sizes, then, spreads, means), _half(sizes, alike, spreads, means),
    )  # fmt: skip


def _mean(items: Sequence[str], scores: Mapping[str, float], labels: Mapping[str, float]) -> float:
    """The mean of the stratum's labels; of its scores where it has none."""
    return float(np.mean([labels[item] for item in items if item in labels] or [scores[item] for item in items]))


def _spreads(members: Sequence[Sequence[str]], scores: Mapping[str, float], labels: Mapping[str, float]) -> list[float]:
    """The standard deviation of what labels say beyond the judge, in each stratum, mixed with the common one; with few
    labels the same for all, that of right and wrong answers."""
    labelled = [item for items in members for item in items if item in labels]
    if len(labelled) < LEAST_LABELS:
        values = [min(1.0, max(0.0, labels.get(item, score))) for item, score in scores.items()]
        return [math.sqrt(max(float(np.mean(values)) * (1 - float(np.mean(values))), 0.05))] * len(members)
    rest = np.array([score for item, score in scores.items() if item not in labels])
    beyond = residuals(
        np.array([labels[item] for item in labelled]), np.array([scores[item] for item in labelled]), rest
    )
    value = dict(zip(labelled, beyond.tolist(), strict=True))
    parts = [np.array([value[item] for item in items if item in labels]) for items in members]
    squares = [float(np.square(part - part.mean()).sum()) if len(part) else 0.0 for part in parts]
    common = sum(squares) / max(1, len(labelled) - sum(len(part) > 0 for part in parts))
    return [_spread(part, square, common) for part, square in zip(parts, squares, strict=True)]


def _spread(part: Array, squares: float, common: float) -> float:
    own = (squares + _BORROWED * common) / (max(0, len(part) - 1) + _BORROWED)
    return math.sqrt((1 - _TRUST) * common + _TRUST * own)


def _allocated(sizes: Sequence[int], have: Sequence[int], spreads: Sequence[float], count: int) -> list[int]:
    """How many more labels each stratum gets: up to `LEAST_OF_STRATUM` first, then always the one whose next label
    takes most from the variance of the mean."""
    numbers = list(have)
    for _ in range(min(count, sum(sizes) - sum(have))):
        open_ones = [place for place, size in enumerate(sizes) if numbers[place] < size]
        few = [place for place in open_ones if numbers[place] < LEAST_OF_STRATUM]
        best = (
            min(few, key=lambda place: numbers[place])
            if few
            else max(
                open_ones,
                key=lambda place: (sizes[place] * spreads[place]) ** 2 / (numbers[place] * (numbers[place] + 1)),
            )
        )
        numbers[best] += 1
    return [number - before for number, before in zip(numbers, have, strict=True)]


def _half(sizes: Sequence[int], numbers: Sequence[float], spreads: Sequence[float], means: Sequence[float]) -> float:
    """Half of the 95% interval's expected width with these numbers of labels. Part of it no label takes away: the
    questions are a sample themselves, and so are the sizes of the strata (`means`: of each)."""
    total = sum(sizes)
    mean = sum(size / total * value for size, value in zip(sizes, means, strict=True))
    variance = sum(
        (size / total * spread) ** 2 / max(number, 1e-9) + size / total * (value - mean) ** 2 / total
        for size, number, spread, value in zip(sizes, numbers, spreads, means, strict=True)
    )
    return _Z * math.sqrt(variance)


def _shuffled(items: Sequence[str], seed: int) -> list[str]:
    """The items in a random order that depends on the seed and their names only: longer lists continue shorter ones."""
    return sorted(items, key=lambda item: sha256(f"{seed}\n{item}".encode()).digest())
