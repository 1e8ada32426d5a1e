"""What an evaluation is expected to cost, before it runs."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragstone.benchmarks.recorded.benchmark import RecordedAnswers
from ragstone.engine.judge_tools import DEFAULT_EMBEDDER, Judging, open_tools
from ragstone.engine.run_info import GROWING
from ragstone.evaluation.evaluate import EvalPlan, default_run, fitted
from ragstone.evaluation.extension import Extension
from ragstone.evaluation.questions import QuestionPlan, default_question_run, fitted_questions
from ragstone.metrics import steps_of
from ragstone.metrics.traits import estimate_of, traits_of
from ragstone.models import ModelOptions
from ragstone.plans import RetrievalCost
from ragstone.retrieval.chunkers import chunk_passages
from ragstone.retrieval.corpus import read_corpus
from ragstone.retrieval.cost_estimate import TextCount, estimate_cost
from ragstone.runs import Stored
from ragstone.systems import is_registered, system_name
from ragstone.systems.rag import RAG_TEMPLATES, RagTarget
from ragstone.systems.template import prompt_template
from ragstone.text import estimate_tokens
from ragstone.types import Case, Completion, Metric, Passage, Request, Response, Template, Usage

ANSWER_TOKENS = 60  # of an answer that is not there yet
_PASSAGES, _PASSAGE_TOKENS = 5, 200  # that a system returns, if nothing is known about its documents
_GUESSED_QUESTIONS = 3  # that the judge writes for an answer


@dataclass(frozen=True)
class EvalEstimate:
    """The expected cost of an evaluation: `usage` of the judge, and the tokens to embed with `embedder`. `done`: cases
    that the run file has with all their scores. `reasons`: of these tokens, those that the judge's reasons take."""

    usage: Usage
    embedder: str
    embedded: int
    done: int
    reasons: int = 0


async def estimate_evaluation(plan: EvalPlan, run: Path | None = None) -> EvalEstimate:
    """The requests and tokens of everything missing from the run file, ignoring the cache. Calls no model and needs no
    key. Raises `RunMismatch` if the file was made with different settings."""
    path = run or default_run(plan)
    plan, extension = fitted(plan, path)
    stored = _stored(plan.benchmark, plan.judging, path, extension)

    def recorded(case: Case) -> Response | None:
        return plan.system.answers.get(case.query.repeat)

    return await _judged(plan.benchmark, plan.system.id, plan.metrics, plan.judging, stored, recorded)


@dataclass(frozen=True)
class RunEstimate:
    """The expected cost of asking a system. `asked`: cases that it is still to answer; `done`: the others. `usage`: of
    its chat model; None where ragstone cannot know it. `retrievers`: of the models of its retriever. `judging`: of the
    scores."""

    asked: int
    done: int
    usage: Usage | None
    retrievers: tuple[RetrievalCost, ...]
    judging: EvalEstimate


async def estimate_questions(plan: QuestionPlan, run: Path | None = None) -> RunEstimate:
    """The same for questions that a system is yet to answer, with answers of `ANSWER_TOKENS` tokens; its passages are
    assumed to be like the corpus of `rag(…)`, else five of 200 tokens."""
    path, system = run or default_question_run(plan), system_name(plan.system)
    plan, extension = fitted_questions(plan, path)
    stored = _stored(plan.benchmark, plan.judging, path, extension)
    target: Any = plan.system
    template: Template = plan.benchmark.template
    chunks = chunks_of(target) if isinstance(target, RagTarget) else []
    passages = _assumed_passages(chunks, target.k if isinstance(target, RagTarget) else _PASSAGES)

    def respond(case: Case) -> Response:
        reference = " ".join(slot[0] for slot in case.sample.references if slot)
        return Response(reference or _words(ANSWER_TOKENS), passages)

    judging = await _judged(plan.benchmark, system, plan.metrics, plan.judging, stored, respond)
    asked = [case for case in plan.benchmark.cases() if not stored.has(system, case.id)]
    retrievers: list[RetrievalCost] = []
    if isinstance(target, RagTarget):
        template = RAG_TEMPLATES.get(target.template) or prompt_template(target.template)
        questions = TextCount(len(asked), sum(estimate_tokens(case.sample.question) for case in asked))
        pool = TextCount(len(chunks), sum(estimate_tokens(chunk.text) for chunk in chunks))
        retrievers = estimate_cost(target.retriever, pool, questions)
    usage: Usage | None = Usage()
    model = target.model if isinstance(target, RagTarget) else target
    if not isinstance(model, str) or is_registered(model):
        usage = None
    elif model not in ("local/extractive", "local/retrieval"):
        given = passages if isinstance(target, RagTarget) else None
        turns = [template.messages(replace(case.query, passages=given)) for case in asked]
        prompts = sum(estimate_tokens(turn.content) for turns_of_case in turns for turn in turns_of_case)
        usage = Usage(prompts, ANSWER_TOKENS * len(asked), requests=len(asked))
    return RunEstimate(len(asked), plan.benchmark.size - len(asked), usage, tuple(retrievers), judging)


async def _judged(
    benchmark: RecordedAnswers, system: str, metrics: Sequence[str | Metric], judging: Judging, stored: Stored,
    respond: Callable[[Case], Response | None],
) -> EvalEstimate:  # fmt: skip
    """What the scores take that the run file does not have."""
    usage, embedded, done = Usage(), 0, 0
    async with open_tools(without_models(judging), metrics, ModelOptions()) as opened:
        for case in benchmark.cases():
            missing = [metric for metric in opened.metrics if not stored.has(system, case.id, frozenset({metric.name}))]
            done += not missing
            response = respond(case)
            if response is None:  # a recorded error
                continue
            if opened.tools.judge is not None and (steps := steps_of(missing)):
                shared = opened.tools.judge.estimate(case, response, steps=steps)
                usage += sum([shared] * len(judging.judges), Usage())
            for metric in missing:
                usage += estimate_of(metric, case, response)
            if any("embedder" in traits_of(metric).uses for metric in missing):
                embedded += _embedded(case, response)
    chosen = judging.embedder or DEFAULT_EMBEDDER
    name = chosen if isinstance(chosen, str) else chosen.id
    reasons = 0
    if judging.reasons:
        without = dataclasses.replace(judging, reasons=False)
        plain = (await _judged(benchmark, system, metrics, without, stored, respond)).usage
        reasons = usage.prompt_tokens + usage.completion_tokens - plain.prompt_tokens - plain.completion_tokens
    return EvalEstimate(usage, name if embedded else "", embedded, done, reasons)


def _stored(benchmark: RecordedAnswers, judging: Judging, path: Path, extension: Extension) -> Stored:
    judge = {"model": judging.model} if isinstance(judging.model, str) else {}
    return Stored(path, {**benchmark.question, "judge": judge}, GROWING, extension.replaces)


def _assumed_passages(chunks: Sequence[Passage], k: int) -> tuple[Passage, ...]:
    """`k` passages as a system is expected to return them: like the chunk of median length, if its chunks are known."""
    texts = sorted((chunk.text for chunk in chunks), key=estimate_tokens) or [_words(_PASSAGE_TOKENS)]
    count = min(k, len(texts)) if chunks else k
    return tuple(Passage(str(number), texts[len(texts) // 2]) for number in range(1, count + 1))


def chunks_of(target: RagTarget) -> list[Passage]:
    """The chunks of the corpus of a pipeline."""
    return chunk_passages(read_corpus(target.corpus).passages, size=target.chunk)


def _words(tokens: int) -> str:
    return " ".join(["word"] * tokens)


def _embedded(case: Case, response: Response) -> int:
    """About the tokens of the texts that are compared by vectors: question, questions like it, answer, references."""
    references = [alias for slot in case.sample.references for alias in slot]
    texts = [*[case.sample.question] * (1 + _GUESSED_QUESTIONS), response.answer, *references]
    return sum(estimate_tokens(text) for text in texts)


def without_models(judging: Judging) -> Judging:
    """The same judging with models that cannot be called, for estimates."""
    judges = tuple(_NoModel(judge if isinstance(judge, str) else judge.id) for judge in judging.judges)
    first = judges[0] if judges else None
    return dataclasses.replace(judging, model=first, others=judges[1:], embedder=_NoModel())


class _NoModel:
    """A model and an embedder that are never called."""

    def __init__(self, name: str = "none") -> None:
        self.id = name

    async def generate(self, request: Request, /) -> Completion:
        raise AssertionError("an estimate called a model")

    async def embed(self, texts: Sequence[str], /, *, kind: str) -> Any:
        raise AssertionError("an estimate called an embedder")
