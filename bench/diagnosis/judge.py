"""The scripted judge: a chat model that is told which value each question means, and replies to ragstone's prompts.

It does not compare the answer with the reference: it knows the world, as a person would who understands both wordings.
"""

import json
from typing import Any

from bench.diagnosis.worlds import World

from ragstone.metrics.judge.envelope import opened
from ragstone.models.scripted import Scripted
from ragstone.types import Model, Request

__all__ = ["GATE", "METRIC", "world_judge"]

METRIC, GATE = "ragchecker.f1", 0.8
"""The metric of correctness that is judged without an embedder; half of an answer reaches 0.67."""


def world_judge(world: World) -> Model:
    """A judge of the answers to the questions of a world."""

    def reply(request: Request) -> str:
        shown = opened(next(turn.content for turn in reversed(request.messages) if "<judged " in turn.content))
        return json.dumps(_verdicts(world, shown) if "answer_claims" in shown else _claims(world, shown))

    model = Scripted(reply, id="scripted/world-judge")
    model.requests = _Nothing()
    return model


class _Nothing(list[Request]):
    """Keeps no requests: there are thousands, each with its passages."""

    def append(self, item: Request, /) -> None: ...


def _claims(world: World, shown: dict[str, Any]) -> dict[str, Any]:
    """A claim for each sentence of the answer, and for each value of the reference."""
    question = world.by_text[shown["question"].partition("\n\n")[0]]
    claims = [{"sentence": int(n), "text": text, "relevant": True} for n, text in shown["answer"].items()]
    return {
        "answer_claims": claims,
        "reference_claims": [{"text": value} for value in question.values] if shown["reference"] else [],
        "questions": [shown["question"]],
        "noncommittal": world.refuses(" ".join(shown["answer"].values())),
    }


def _verdicts(world: World, shown: dict[str, Any]) -> dict[str, Any]:
    values = world.by_text[shown["question"].partition("\n\n")[0]].values
    said = " ".join(shown["answer_claims"].values())
    nothing: dict[str, Any] = {"quote": "", "supported_by": [], "together": None, "contradicted_by": []}
    by_passages = nothing if "passages" in shown else {}
    verdicts: dict[str, Any] = {
        "answer_claims": [
            {"id": int(n), **by_passages, "in_reference": any(value in text for value in values)}
            for n, text in shown["answer_claims"].items()
        ],
        "reference_claims": [
            {"id": int(n), **by_passages, "in_answer": value in said} for n, value in shown["reference_claims"].items()
        ],
    }
    if "passages" in shown:
        verdicts["passages"] = [{"id": int(n), "relevant": False, "useful": False} for n in shown["passages"]]
    return verdicts
