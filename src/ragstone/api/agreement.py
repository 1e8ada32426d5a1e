"""What the saving of joint verdicts costs: the same answers judged jointly, a passage at a time, and as ragas does."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec.structs import replace as changed

from ragstone.analysis.agreement import Agreement, MetricGap, Verdicts, agreement, gap, verdicts_of
from ragstone.api.blocking import blocking, public
from ragstone.api.evaluate import Plan, plan_evaluation
from ragstone.api.execute import cache_folder, concurrency_of
from ragstone.api.judging import Judging, open_tools
from ragstone.datasets.tabular import EvalData
from ragstone.errors import UsageError
from ragstone.metrics import GROUPS
from ragstone.metrics.judge import JudgeFailed
from ragstone.models import ModelOptions
from ragstone.models.concurrency import gather_all
from ragstone.runs.scoring import score
from ragstone.text import estimate_tokens
from ragstone.types import Case, Metric, Passage, Response

__all__ = ["Ways", "agreement_of_protocols", "agreement_of_protocols_async"]

FIVE = GROUPS["five"]
_CONCURRENCY = 16


@dataclass(frozen=True)
class Ways:
    """Two ways to judge the same samples. `passages` is how many each sample had (None: its own). `failed` of `samples`
    could not be judged in both ways; `why` is what went wrong with the first of them."""

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
    """What one way made of the samples: verdicts and the five metrics; None for a sample that failed, and why."""

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

    `passages`: compare joint and separate also with so many passages of about `tokens` tokens each; what a sample lacks
    is filled up with passages of other samples, and the passages that are there stay whole. Raises UsageError.
    """
    if judging.model is None:
        raise UsageError("Agreement needs a judge: name one with --judge PROVIDER/MODEL.")
    plan = plan_evaluation(data, FIVE, replace(judging, protocol="matrix"))
    options = model_options or ModelOptions(cache=cache_folder())
    limit = asyncio.Semaphore(concurrency or concurrency_of([judging.model], _CONCURRENCY))
    found = []
    samples = _samples(plan)
    joint = await _judged(samples, replace(judging, protocol="matrix", verify="joint"), options, limit)
    apart = await _judged(samples, replace(judging, protocol="matrix", verify="separate"), options, limit)
    found.append(_ways("joint", "separate", None, joint, apart))
    if ragas:
        there = await _judged(samples, replace(judging, protocol="ragas"), options, limit)
        found += [_ways("joint", "ragas", None, joint, there), _ways("separate", "ragas", None, apart, there)]
    for count in passages:
        filled = _filled(samples, count, tokens)
        many = await _judged(filled, replace(judging, protocol="matrix", verify="joint"), options, limit)
        each = await _judged(filled, replace(judging, protocol="matrix", verify="separate"), options, limit)
        found.append(_ways("joint", "separate", count, many, each))
    return found


agreement_of_protocols: Callable[..., list[Ways]] = blocking(
    agreement_of_protocols_async, name="agreement_of_protocols"
)

Sample = tuple[Case, Response]


def _samples(plan: Plan) -> list[Sample]:
    return [(case, plan.system.answers[case.query.repeat]) for case in plan.benchmark.cases()]


async def _judged(
    samples: Sequence[Sample], judging: Judging, options: ModelOptions, limit: asyncio.Semaphore
) -> _Judged:
    async with open_tools(judging, FIVE, options) as opened:

        async def one(case: Case, response: Response) -> tuple[Verdicts | None, list[Any], str]:
            async with limit:
                scores = await gather_all(*(score(metric, case, response) for metric in opened.metrics))
                verdicts: Verdicts | None = None
                why = next((each.reason for each in scores if each.status == "failed"), "")
                if judging.protocol == "ragas":
                    verdicts = _of_ragas(opened.metrics, scores)
                elif opened.tools.judge is not None:
                    try:
                        verdicts = verdicts_of(await opened.tools.judge.verify(case, response))
                    except JudgeFailed as error:
                        verdicts, why = None, str(error)
                return verdicts, scores, why

        made = await gather_all(*(one(case, response) for case, response in samples))
    names = [metric.name.removeprefix("ragas.") for metric in opened.metrics]
    return _Judged(
        [verdicts for verdicts, _, _ in made],
        {name: [scores[at].value for _, scores, _ in made] for at, name in enumerate(names)},
        [why for _, _, why in made],
    )


def _of_ragas(metrics: Sequence[Metric], scores: Sequence[Any]) -> Verdicts | None:
    """The one verdict of the ragas protocol that is about the same items: whether a passage is useful. Its statements
    are its own, and cannot be compared one by one. None where it failed; no verdict where it does not apply."""
    at = next(at for at, metric in enumerate(metrics) if metric.name == "ragas.context_precision")
    if scores[at].status == "failed":
        return None
    evidence = scores[at].evidence
    if not isinstance(evidence, dict) or "counted" not in evidence:
        return {}
    return {"useful": {(place,): place in evidence["counted"] for place in range(1, evidence["of"] + 1)}}


def _ways(first: str, second: str, passages: int | None, one: _Judged, other: _Judged) -> Ways:
    both = [(a, b) for a, b in zip(one.verdicts, other.verdicts, strict=True) if a is not None and b is not None]
    gaps = [gap(name, one.scores[name], other.scores[name]) for name in one.scores if name in other.scores]
    return Ways(
        first,
        second,
        passages,
        tuple(agreement([a for a, _ in both], [b for _, b in both])),
        tuple(each for each in gaps if each is not None),
        failed=len(one.verdicts) - len(both),
        samples=len(one.verdicts),
        why=next(
            (
                why
                for held in (one, other)
                for each, why in zip(held.verdicts, held.why, strict=True)
                if each is None and why
            ),
            "",
        ),
    )


def _filled(samples: Sequence[Sample], count: int, tokens: int) -> list[Sample]:
    """Each sample with `count` passages of about `tokens` tokens: its own first, each lengthened with texts of other
    samples, which do not bear on its question."""
    made = []
    for at, (case, response) in enumerate(samples):
        others = [
            passage.text
            for step in range(1, len(samples))
            for passage in samples[(at + step) % len(samples)][1].passages
            if passage.text not in {own.text for own in response.passages}
        ]
        if not others:
            raise UsageError("Passages can be filled up only with those of other samples, and there are none.")
        place = 0
        passages = []
        for number in range(count):
            own = response.passages[number] if number < len(response.passages) else None
            text = own.text if own is not None else ""
            held = estimate_tokens(text)
            while held < tokens:
                more = others[place % len(others)]
                place += 1
                text = f"{text}\n{more}" if text else more
                held += max(1, estimate_tokens(more))
            passages.append(Passage(own.id if own is not None else f"filler-{number}", text))
        made.append((case, changed(response, passages=tuple(passages))))
    return made
