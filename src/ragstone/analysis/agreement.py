"""How far verdicts that were made in different ways agree: Cohen's kappa for each kind of verdict, and what the
difference does to the metrics.

Verdicts are compared item by item: a claim with a passage (does it support the claim, contradict it, neither), a claim
with the other side (is it in the reference, in the answer), a passage (is it useful, is it relevant). The interval of a
kappa is a bootstrap over samples, because the verdicts of one sample are not independent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragstone.metrics.judge.record import Judged
from ragstone.stats import bootstrap_mean, cohen_kappa

__all__ = ["KINDS", "Agreement", "MetricGap", "Verdicts", "agreement", "gap", "verdicts_of"]

Label = str | bool
Verdicts = Mapping[str, Mapping[tuple[int, ...], Label]]  # kind → item → label

KINDS = ("answer_support", "reference_support", "in_reference", "in_answer", "useful", "relevant")
_RESAMPLES = 1_000


@dataclass(frozen=True)
class Agreement:
    """Of one kind of verdict: `n` items of `samples` samples, the share that agree, kappa with its 95% interval. Kappa
    is None where it is not defined (see `stats.cohen_kappa`)."""

    kind: str
    n: int
    samples: int
    agree: float
    kappa: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MetricGap:
    """The mean of one metric in both ways over the same `n` samples, and the mean of their differences (second minus
    first) with its 95% interval."""

    metric: str
    n: int
    first: float
    second: float
    difference: float
    low: float
    high: float


def verdicts_of(judged: Judged) -> Verdicts:
    """Every verdict in a sample, by kind and item."""
    places = [passage.id for passage in judged.passages]

    def support(supported: Sequence[int], contradicted: Sequence[int], place: int) -> str:
        return "supports" if place in supported else "contradicts" if place in contradicted else "neither"

    return {
        "answer_support": {
            (claim.id, place): support(claim.supported_by, claim.contradicted_by, place)
            for claim in judged.answer_claims
            for place in places
        },
        "reference_support": {
            (claim.id, place): support(claim.supported_by, claim.contradicted_by, place)
            for claim in judged.reference_claims
            for place in places
        },
        "in_reference": {
            (claim.id,): claim.in_reference for claim in judged.answer_claims if claim.in_reference is not None
        },
        "in_answer": {(claim.id,): claim.in_answer for claim in judged.reference_claims if claim.in_answer is not None},
        "useful": {(passage.id,): passage.useful for passage in judged.passages if passage.useful is not None},
        "relevant": {(passage.id,): passage.relevant for passage in judged.passages},
    }


def agreement(first: Sequence[Verdicts], second: Sequence[Verdicts]) -> list[Agreement]:
    """The agreement of two ways to judge the same samples, in the same order; only items that both have. Kinds of which
    there is no item are left out."""
    found = []
    for kind in KINDS:
        pairs = []
        for one, other in zip(first, second, strict=True):
            a, b = one.get(kind, {}), other.get(kind, {})
            if common := [(a[item], b[item]) for item in a if item in b]:
                pairs.append(common)
        if pairs:
            found.append(_agreement(kind, pairs))
    return found


def _agreement(kind: str, samples: Sequence[Sequence[tuple[Label, Label]]]) -> Agreement:
    flat = [pair for pairs in samples for pair in pairs]
    kappa = cohen_kappa([a for a, _ in flat], [b for _, b in flat])
    low = high = None
    if kappa is not None:
        rng = np.random.Generator(np.random.PCG64(0))
        drawn = []
        for _ in range(_RESAMPLES):
            chosen = [pair for at in rng.integers(0, len(samples), len(samples)) for pair in samples[at]]
            value = cohen_kappa([a for a, _ in chosen], [b for _, b in chosen])
            if value is not None:
                drawn.append(value)
        if drawn:
            low, high = (float(bound) for bound in np.quantile(drawn, [0.025, 0.975]))
    agreed = sum(a == b for a, b in flat) / len(flat)
    return Agreement(kind, len(flat), len(samples), agreed, kappa, low, high)


def gap(metric: str, first: Sequence[float | None], second: Sequence[float | None]) -> MetricGap | None:
    """The difference of a metric between two ways, over the samples that both could score; None where there is none."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if not pairs:
        return None
    differences = [b - a for a, b in pairs]
    low, high = bootstrap_mean(differences)
    n = len(pairs)
    return MetricGap(
        metric, n, sum(a for a, _ in pairs) / n, sum(b for _, b in pairs) / n, sum(differences) / n, low, high
    )
