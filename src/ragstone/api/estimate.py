"""What an evaluation is expected to cost, before it runs."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.api.evaluate import EvalPlan, default_run, fitted
from ragstone.api.execute import GROWING
from ragstone.api.judging import DEFAULT_EMBEDDER, Judging, open_tools
from ragstone.metrics import steps_of
from ragstone.models import ModelOptions
from ragstone.runs import Stored
from ragstone.text import estimate_tokens
from ragstone.types import Case, Completion, Request, Response, Usage

__all__ = ["EvalEstimate", "estimate_evaluation"]

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
    offline = _without_models(plan.judging)
    path = run or default_run(plan)
    plan, growth = fitted(plan, path)
    judge = {"model": plan.judging.model} if isinstance(plan.judging.model, str) else {}
    stored = Stored(path, {**plan.benchmark.question, "judge": judge}, GROWING, growth.replaces)
    usage, embedded, done = Usage(), 0, 0
    async with open_tools(offline, plan.metrics, ModelOptions()) as opened:
        for case in plan.benchmark.cases():
            missing = [
                metric for metric in opened.metrics if not stored.has(plan.system.id, case.id, frozenset({metric.name}))
            ]
            done += not missing
            response = plan.system.answers.get(case.query.repeat)
            if response is None:  # a recorded error
                continue
            if opened.tools.judge is not None and (steps := steps_of(missing)):
                shared = opened.tools.judge.estimate(case, response, steps=steps)
                usage += sum([shared] * len(plan.judging.judges), Usage())
            for metric in missing:
                if hasattr(metric, "estimate"):
                    usage += metric.estimate(case, response)
            if any("embedder" in getattr(metric, "uses", ()) for metric in missing):
                embedded += _embedded(case, response)
    chosen = plan.judging.embedder or DEFAULT_EMBEDDER
    name = chosen if isinstance(chosen, str) else chosen.id
    reasons = 0
    if plan.judging.reasons:
        without = dataclasses.replace(plan, judging=dataclasses.replace(plan.judging, reasons=False))
        plain = (await estimate_evaluation(without, path)).usage
        reasons = usage.prompt_tokens + usage.completion_tokens - plain.prompt_tokens - plain.completion_tokens
    return EvalEstimate(usage, name if embedded else "", embedded, done, reasons)


def _embedded(case: Case, response: Response) -> int:
    """About the tokens of the texts that are compared by vectors: question, questions like it, answer, references."""
    references = [alias for slot in case.sample.references for alias in slot]
    texts = [*[case.sample.question] * (1 + _GUESSED_QUESTIONS), response.answer, *references]
    return sum(estimate_tokens(text) for text in texts)


def _without_models(judging: Judging) -> Judging:
    """The same judging with models that cannot be called, for estimates."""
    judges = tuple(_NoModel(f"none {number}") for number, _ in enumerate(judging.judges))
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
