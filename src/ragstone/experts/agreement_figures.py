"""How well two ways of judging agree: Cohen's kappa for each kind of verdict, and the effect on the metrics.

Verdicts are compared item by item: a claim and a passage (does it support the claim, contradict it, neither), a claim
and the other text (is it in the reference, in the answer), a passage (is it useful, is it relevant). The interval of
kappa is a bootstrap over samples, because the verdicts of one sample are not independent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragstone.metrics.judge.record import Judged
from ragstone.stats import Estimate, cohen_kappa

Label = str | bool
Verdicts = Mapping[str, Mapping[tuple[int, ...], Label]]  # kind → item → label

KINDS = ("answer_support", "reference_support", "in_reference", "in_answer", "useful", "relevant")
_RESAMPLES = 1_000


@dataclass(frozen=True)
class Agreement:
    """Agreement on one kind of verdict: over `n` items of `samples` samples, the share that agree, and kappa with its
    95% interval. Kappa is None if it is undefined (see `stats.cohen_kappa`)."""

    kind: str
    n: int
    samples: int
    agree: float
    kappa: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MetricGap:
    """The means of a metric under both ways of judging, over the same `n` samples, and their mean difference (second
    minus first) with its 95% interval."""

    metric: str
    n: int
    first: float
    second: float
    difference: float
    low: float | None
    high: float | None


def verdicts_of(judged: Judged) -> Verdicts:
    """Every verdict of a sample, by kind and item."""
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
    """The agreement of two ways of judging the same samples, given in the same order, over the items that both judged.
    Kinds without such items are left out."""
    result = []
    for kind in KINDS:
        pairs = []
        for verdicts_a, verdicts_b in zip(first, second, strict=True):
            a, b = verdicts_a.get(kind, {}), verdicts_b.get(kind, {})
            if common := [(a[item], b[item]) for item in a if item in b]:
                pairs.append(common)
        if pairs:
            result.append(_agreement(kind, pairs))
    return result


def _agreement(kind: str, samples: Sequence[Sequence[tuple[Label, Label]]]) -> Agreement:
    flat = [pair for pairs in samples for pair in pairs]
    kappa = cohen_kappa([a for a, _ in flat], [b for _, b in flat])
    low = high = None
    if kappa is not None:
        rng = np.random.Generator(np.random.PCG64(0))
        kappas = []
        for _ in range(_RESAMPLES):
            resample = [pair for index in rng.integers(0, len(samples), len(samples)) for pair in samples[index]]
            value = cohen_kappa([a for a, _ in resample], [b for _, b in resample])
            if value is not None:
                kappas.append(value)
        if kappas:
            low, high = (float(bound) for bound in np.quantile(kappas, [0.025, 0.975]))
    agree = sum(a == b for a, b in flat) / len(flat)
    return Agreement(kind, len(flat), len(samples), agree, kappa, low, high)


def gap(metric: str, first: Sequence[float | None], second: Sequence[float | None]) -> MetricGap | None:
    """The difference of a metric between both ways, over the samples scored in both; None if there are none."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if not pairs:
        return None
    n, difference = len(pairs), Estimate.of_difference([b - a for a, b in pairs])
    first_mean, second_mean = (sum(values) / n for values in zip(*pairs, strict=True))
    return MetricGap(metric, n, first_mean, second_mean, difference.value or 0.0, difference.low, difference.high)
