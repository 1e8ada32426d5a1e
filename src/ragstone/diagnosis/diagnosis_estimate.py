"""What a diagnosis may take, before anything is asked: the least and the most."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ragstone.benchmarks.recorded.benchmark import RecordedRow
from ragstone.diagnosis.changes import changed_target, proposable
from ragstone.diagnosis.diagnose import DiagnosisPlan
from ragstone.diagnosis.interventions.conditions import CONDITIONS, SEARCHES
from ragstone.diagnosis.interventions.observations import SOURCES
from ragstone.diagnosis.interventions.standing import MOST_TRIED
from ragstone.engine.judge_tools import open_tools
from ragstone.evaluation.estimate import chunks_of, without_models
from ragstone.metrics import steps_of
from ragstone.metrics.traits import estimate_of
from ragstone.models import ModelOptions
from ragstone.prices import Price
from ragstone.retrieval.cost_estimate import TextCount, estimate_cost
from ragstone.systems import is_registered
from ragstone.systems.rag import RAG_TEMPLATES, RagTarget
from ragstone.systems.template import prompt_template
from ragstone.text import estimate_tokens
from ragstone.types import Case, Passage, Query, Response, Template, Usage

_PROBES = 5  # questions that find out what a system takes
_GOLD = 6  # passages by which a condition may make a prompt longer
_LONGEST = 500  # tokens of an answer
_OFF = 1.3  # by this factor, the tokens of an endpoint may differ from estimated ones
_JUDGED = 12  # passages that a judge looks at to find the gold ones


@dataclass(frozen=True)
class Range:
    """The requests of something and their tokens: the least and the most."""

    least: Usage
    most: Usage

    def cost(self, price: Price) -> tuple[float, float]:
        """The least and the most at a price, without a discount for cached prompts."""
        return price.cost(replace(self.least, cached_tokens=0)), price.cost(self.most)


@dataclass(frozen=True)
class DiagnosisEstimate:
    """`answers`: of the system, the least (as is alone) and the most; searches are not counted. `model`: of the chat
    model of `rag(…)` or named as the system, with that of its retriever; None for a system of the user's own, whose
    tokens nobody knows. `judge`: of all judges together."""

    questions: int
    answers: tuple[int, int]
    model: Range | None
    judge: Range

    @property
    def requests(self) -> tuple[int, int]:
        """All requests that `--max-requests` counts: of the system, and of models."""
        own = self.answers if self.model is None else (self.model.least.requests, self.model.most.requests)
        return own[0] + self.judge.least.requests, own[1] + self.judge.most.requests


def answers_of(plan: DiagnosisPlan) -> int:
    """The most answers that one question may take."""
    every = [name for name in CONDITIONS if name not in SEARCHES]
    if plan.recorded:
        return 0
    needed = {"as_is", *(name for names in SOURCES.values() for name in names)} - {*SEARCHES}
    return len(every) if plan.full else min(len(every), len(needed) + MOST_TRIED)


async def estimate_diagnosis(plan: DiagnosisPlan, changes: Sequence[str] = ()) -> DiagnosisEstimate:
    """The requests, tokens and judgements of a diagnosis of all questions and of these changes that are tried after it,
    without what a run file or the cache has. Calls no model and needs no key."""
    n, most = len(plan.rows), answers_of(plan)
    answers = (0, 0) if plan.recorded else (n, n * most + _PROBES)
    model, judge = _model(plan, most), await _judge(plan, max(most, 1))
    for tried, times in _tried(plan, changes):
        more = _model(tried, times)
        answers = answers[0], answers[1] + n * times
        model = None if model is None or more is None else Range(model.least, model.most + more.most)
        judge = Range(judge.least, judge.most + (await _judge(tried, times)).most)
    return DiagnosisEstimate(n, answers, model, judge)


def _tried(plan: DiagnosisPlan, changes: Sequence[str]) -> Iterator[tuple[DiagnosisPlan, int]]:
    """The systems that `--try` asks, with the most answers of each to a question: the one as is, and those changed. One
    that is given its own passages in another way is asked for these first."""
    names = [name for change in changes for name in (proposable(plan) if change == "auto" else [change])]
    if names:
        yield plan, 1
    for change in dict.fromkeys(names):
        target = changed_target(change, plan.system)
        yield dataclasses.replace(plan, system=target or plan.system), 1 if target else 2


def _model(plan: DiagnosisPlan, most: int) -> Range | None:
    target: Any = plan.system
    model = target.model if isinstance(target, RagTarget) else target
    if plan.recorded or not isinstance(model, str) or is_registered(model):
        return Range(Usage(), Usage()) if plan.recorded else None
    if model in ("local/extractive", "local/retrieval"):
        reader = Range(Usage(), Usage())
    else:
        name = target.template if isinstance(target, RagTarget) else "rag"
        template: Template = RAG_TEMPLATES.get(name) or prompt_template(name)
        chunks = chunks_of(target) if isinstance(target, RagTarget) else []
        k = target.k if isinstance(target, RagTarget) else 0
        long = max((chunk.text for chunk in chunks), key=estimate_tokens, default="")
        sizes = [4 * k + _GOLD, 2 * k + _GOLD, *[k + _GOLD] * max(0, most - 2)]
        few = sum(_prompt(template, row, "", 0) for row in plan.rows)
        much = sum(_prompt(template, row, long, size) for row in plan.rows for size in sizes)
        probes = _PROBES * max((_prompt(template, row, long, k + _GOLD) for row in plan.rows), default=0)
        asked = len(plan.rows) * most + _PROBES
        reader = Range(
            Usage(round(few / _OFF), len(plan.rows), requests=len(plan.rows)),
            Usage(round(_OFF * (much + probes)), _LONGEST * asked, requests=asked),
        )
    return reader if not isinstance(target, RagTarget) else _with_retriever(reader, target, plan.rows, most)


def _with_retriever(reader: Range, target: RagTarget, rows: Sequence[RecordedRow], most: int) -> Range:
    """With the chat models of a retriever: at each search of a question, and once for the documents."""
    chunks = chunks_of(target)
    pool = TextCount(len(chunks), sum(estimate_tokens(chunk.text) for chunk in chunks))

    def usage(times: int, off: float) -> Usage:
        questions = TextCount(len(rows) * times, times * sum(estimate_tokens(row.sample.question) for row in rows))
        costs = estimate_cost(target.retriever, pool, questions)
        return Usage(round(off * sum(cost.tokens for cost in costs)), requests=sum(cost.requests for cost in costs))

    least, all_of_it = usage(1, 1 / _OFF), usage(most + len(SEARCHES) + 1, _OFF)
    return Range(reader.least + replace(least, requests=0), reader.most + all_of_it)


def _prompt(template: Template, row: RecordedRow, text: str, size: int) -> int:
    """The tokens of the prompt of a question with so many passages of this text."""
    passages = tuple(Passage(str(number), text) for number in range(size))
    query = Query(row.sample.question, passages, row.history, row.sample.language)
    return sum(estimate_tokens(turn.content) for turn in template.messages(query))


async def _judge(plan: DiagnosisPlan, most: int) -> Range:
    """The judges' requests: at least one judgement of a short answer without passages for every second question, as
    others may fail; at most of long ones with many passages under every condition, each asked twice, and those that
    look for gold passages."""
    least, everything = Usage(), Usage()
    if not plan.judging.judges:
        return Range(least, everything)
    long = max((chunk.text for chunk in (plan.corpus.passages if plan.corpus else ())), key=len, default="")
    passages = tuple(Passage(str(number), long[:2_000]) for number in range(_JUDGED))
    async with open_tools(without_models(plan.judging), plan.metrics, ModelOptions()) as opened:
        judge, steps = opened.tools.judge, steps_of(opened.metrics)
        for row in plan.rows:
            case = Case(row.sample.id, row.sample, {}, Query(row.sample.question))
            for response, short in ((Response("no"), True), (Response("word " * _LONGEST, passages), False)):
                usage = sum((estimate_of(metric, case, response) for metric in opened.metrics), Usage())
                if judge is not None and steps:
                    usage += sum([judge.estimate(case, response, steps=steps)] * len(plan.judging.judges), Usage())
                if short:
                    least += usage
                else:
                    everything += usage
    times = 2 * (most + 1) * _OFF  # one more for the gold passages
    return Range(_scaled(least, 1 / (2 * _OFF)), _scaled(everything, times))


def _scaled(usage: Usage, factor: float) -> Usage:
    """So many times this usage; cached tokens are not assumed."""
    return Usage(
        round(factor * usage.prompt_tokens), round(factor * usage.completion_tokens),
        requests=round(factor * usage.requests),
    )  # fmt: skip
