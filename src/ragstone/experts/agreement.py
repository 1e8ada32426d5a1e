"""The price of joint verification in accuracy: the same answers judged jointly, passage by passage, and as ragas does.

Verdicts are compared item by item: a claim and a passage (does it support the claim, contradict it, neither), a claim
and the other text (is it in the reference, in the answer), a passage (is it useful, is it relevant). The interval of
kappa is a bootstrap over samples, because the verdicts of one sample are not independent.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec.structs import replace as changed

from ragstone.datasets.tabular import EvalData
from ragstone.engine.execute import cache_folder, concurrency_of
from ragstone.engine.judge_tools import Judging, open_tools
from ragstone.engine.public_functions import public
from ragstone.errors import UsageError
from ragstone.evaluation.evaluate import EvalPlan, plan_evaluation
from ragstone.metrics import GROUPS
from ragstone.metrics.judge import JudgeFailed
from ragstone.metrics.judge.record import Judged
from ragstone.models import ModelOptions
from ragstone.models.concurrency import gather_all
from ragstone.runs.scoring import score
from ragstone.stats import Estimate, cohen_kappa
from ragstone.text import estimate_tokens
from ragstone.types import Case, Metric, Passage, Response

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


FIVE = GROUPS["five"]
_CONCURRENCY = 16


@dataclass(frozen=True)
class Ways:
    """Two ways to judge the same samples. `passages`: how many each sample had (None: its own). `failed` of `samples`
    could not be judged in both ways; `why` is the error of the first of them."""

    first: str
    second: str
    passages: int | None
    agreements: tuple[Agreement, ...]
    gaps: tuple[MetricGap, ...]
    failed: int
    samples: int = 0
    why: str = ""


@dataclass(frozen=True)
class _Judged:
    """One way's results for the samples: verdicts and the five metrics; None for a sample that failed, and why."""

    verdicts: list[Verdicts | None]
    scores: dict[str, list[float | None]]
    why: list[str]


@public
async def agreement_of_protocols_async(
    data: EvalData,
    judging: Judging,
    *,
    passages: Sequence[int] = (),
    tokens: int = 500,
    ragas: bool = True,
    model_options: ModelOptions | None = None,
    concurrency: int | None = None,
) -> list[Ways]:
    """Judges the answers of `data` jointly and separately, and by the protocol ragas, and compares: kappa for each kind
    of verdict, and the difference of each of the five metrics.

    `passages`: also compare joint and separate with this many passages of about `tokens` tokens each, filling up with
    passages of other samples; existing passages stay whole. Raises UsageError.
    """
    if judging.model is None:
        raise UsageError("Agreement needs a judge: add --judge PROVIDER/MODEL.")
    plan = plan_evaluation(data, FIVE, replace(judging, protocol="matrix"))
    options = model_options or ModelOptions(cache=cache_folder())
    limit = asyncio.Semaphore(concurrency or concurrency_of([judging.model], _CONCURRENCY))
    comparisons = []
    samples = _samples(plan)
    joint = await _judged(samples, replace(judging, protocol="matrix", verify="joint"), options, limit)
    separate = await _judged(samples, replace(judging, protocol="matrix", verify="separate"), options, limit)
    comparisons.append(_ways("joint", "separate", None, joint, separate))
    if ragas:
        stepwise = await _judged(samples, replace(judging, protocol="ragas"), options, limit)
        comparisons += [
            _ways("joint", "ragas", None, joint, stepwise),
            _ways("separate", "ragas", None, separate, stepwise),
        ]
    for count in passages:
        filled = _filled(samples, count, tokens)
        joint_filled = await _judged(filled, replace(judging, protocol="matrix", verify="joint"), options, limit)
        separate_filled = await _judged(filled, replace(judging, protocol="matrix", verify="separate"), options, limit)
        comparisons.append(_ways("joint", "separate", count, joint_filled, separate_filled))
    return comparisons


Sample = tuple[Case, Response]


def _samples(plan: EvalPlan) -> list[Sample]:
    return [(case, plan.system.answers[case.query.repeat]) for case in plan.benchmark.cases()]


async def _judged(
    samples: Sequence[Sample], judging: Judging, options: ModelOptions, limit: asyncio.Semaphore
) -> _Judged:
    async with open_tools(judging, FIVE, options) as opened:

        async def judge_sample(case: Case, response: Response) -> tuple[Verdicts | None, list[Any], str]:
            async with limit:
                scores = await gather_all(*(score(metric, case, response) for metric in opened.metrics))
                verdicts: Verdicts | None = None
                why = next((result.reason for result in scores if result.status == "failed"), "")
                if judging.protocol == "ragas":
                    verdicts = _of_ragas(opened.metrics, scores)
                elif opened.tools.judge is not None:
                    try:
                        verdicts = verdicts_of(await opened.tools.judge.verify(case, response))
                    except JudgeFailed as error:
                        verdicts, why = None, str(error)
                return verdicts, scores, why

        judged = await gather_all(*(judge_sample(case, response) for case, response in samples))
    names = [metric.name.removeprefix("ragas.") for metric in opened.metrics]
    return _Judged(
        [verdicts for verdicts, _, _ in judged],
        {name: [scores[at].value for _, scores, _ in judged] for at, name in enumerate(names)},
        [why for _, _, why in judged],
    )


def _of_ragas(metrics: Sequence[Metric], scores: Sequence[Any]) -> Verdicts | None:
    """The one comparable verdict of the ragas protocol: whether a passage is useful. Its statements are its own and
    cannot be matched one by one. None where it failed; empty where it does not apply."""
    at = next(at for at, metric in enumerate(metrics) if metric.name == "ragas.context_precision")
    if scores[at].status == "failed":
        return None
    evidence = scores[at].evidence
    if not isinstance(evidence, dict) or "counted" not in evidence:
        return {}
    return {"useful": {(place,): place in evidence["counted"] for place in range(1, evidence["of"] + 1)}}


def _ways(first: str, second: str, passages: int | None, left: _Judged, right: _Judged) -> Ways:
    both = [(a, b) for a, b in zip(left.verdicts, right.verdicts, strict=True) if a is not None and b is not None]
    gaps = [gap(name, left.scores[name], right.scores[name]) for name in left.scores if name in right.scores]
    return Ways(
        first,
        second,
        passages,
        tuple(agreement([a for a, _ in both], [b for _, b in both])),
        tuple(item for item in gaps if item is not None),
        failed=len(left.verdicts) - len(both),
        samples=len(left.verdicts),
        why=next(
            (
                why
                for side in (left, right)
                for verdicts, why in zip(side.verdicts, side.why, strict=True)
                if verdicts is None and why
            ),
            "",
        ),
    )


def _filled(samples: Sequence[Sample], count: int, tokens: int) -> list[Sample]:
    """Each sample with `count` passages of about `tokens` tokens: its own first, each lengthened with texts of other
    samples, which are irrelevant to its question."""
    filled = []
    for at, (case, response) in enumerate(samples):
        others = [
            passage.text
            for step in range(1, len(samples))
            for passage in samples[(at + step) % len(samples)][1].passages
            if passage.text not in {own.text for own in response.passages}
        ]
        if not others:
            raise UsageError("There are no other samples to fill passages up with: add rows, or omit --passages.")
        place = 0
        passages = []
        for number in range(count):
            own = response.passages[number] if number < len(response.passages) else None
            text = own.text if own is not None else ""
            length = estimate_tokens(text)
            while length < tokens:
                more = others[place % len(others)]
                place += 1
                text = f"{text}\n{more}" if text else more
                length += max(1, estimate_tokens(more))
            passages.append(Passage(own.id if own is not None else f"filler-{number}", text))
        filled.append((case, changed(response, passages=tuple(passages))))
    return filled
