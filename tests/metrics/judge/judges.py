"""Judges for tests: one that compares words and so gives the same verdict on the same texts in every protocol, and
samples to show it.

A claim is a sentence without its full stop. A passage supports a claim that stands in it, and contradicts one that
stands in it behind "not: ". A sentence that begins with "Sorry" makes no claim.
"""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ragstone.metrics.judge import MatrixJudge
from ragstone.metrics.judge.envelope import opened
from ragstone.models.scripted import Scripted
from ragstone.types import Case, Passage, Query, Request, Response, Sample

__all__ = [
    "ANSWER", "BARE", "CASE", "GIVEN", "PASSAGES", "REFERENCE", "Embedder", "careful", "case", "changed", "claim",
    "claims_of", "in_turn", "judge_by", "reply_to", "response", "shown_in", "spoiling",
]  # fmt: skip

QUESTION = "When did the mill open, and who built it?"


def case(question: str = QUESTION, reference: str | None = None, *, language: str = "", repeat: int = 0) -> Case:
    references = () if reference is None else ((reference,),)
    condition: dict[str, str | int | float | bool] = {"judge_repeat": repeat} if repeat else {}
    return Case("c", Sample("s", question, references, language=language), condition, Query(question))


def response(answer: str, passages: Sequence[str] = ()) -> Response:
    return Response(answer, tuple(Passage(f"p{place}", text) for place, text in enumerate(passages)))


ANSWER = "The mill opened in 1902. Ada built it. The mill, by the way, is red."
REFERENCE = "The mill opened in 1902. Bo built it."
PASSAGES = (
    "In short: The mill opened in 1902, in May.",
    "It rained. not: Ada built it. Bo built it, and",
    "Ferries are slow.",
)
CASE, GIVEN = case(reference=REFERENCE), response(ANSWER, PASSAGES)
BARE = case()


def shown_in(request: Request) -> dict[str, Any]:
    """What is judged in a request, also in one that asks again."""
    turns = [turn for turn in request.messages if turn.role == "user" and turn.content.startswith("<judged ")]
    return opened(turns[-1].content)


def claims_of(text: str) -> list[str]:
    """The claims of a text by the rule of these tests."""
    found = [part.strip() for part in re.split(r"(?<=[.。])", text) if part.strip()]
    return [part.rstrip(".。") for part in found if not part.startswith(("Sorry", "抱歉"))]


def reply_to(request: Request) -> dict[str, Any]:
    """The careful judge's reply, as an object."""
    shown = shown_in(request)
    if request.schema_name == "decompose":
        return _decompose(shown)
    if request.schema_name == "verify":
        return _verify(shown)
    if request.schema_name == "verify_passage":
        return _verify_passage(shown)
    assert request.schema_name == "verify_reference"
    return {
        "answer_claims": [
            {"id": int(number), "in_reference": text in (shown["reference"] or "")}
            for number, text in shown["answer_claims"].items()
        ],
        "reference_claims": [
            {"id": int(number), "in_answer": text in shown["answer_claims"].values()}
            for number, text in shown["reference_claims"].items()
        ],
    }


def careful(request: Request) -> str:
    """The careful judge's reply, as it is sent."""
    return json.dumps(reply_to(request), ensure_ascii=False)


def judge_by(script: Callable[[Request], Any] = careful, **options: Any) -> tuple[MatrixJudge, Scripted]:
    """A judge with a scripted model, and the model, which keeps what it was asked."""
    model = Scripted(script)
    return MatrixJudge(model, **options), model


class Embedder:
    """Unit vectors that depend on the texts; keeps what it was asked."""

    id = "stub/embedder"

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def embed(self, texts: Sequence[str], /, *, kind: str) -> "np.ndarray[Any, Any]":
        self.asked.append(list(texts))
        await asyncio.sleep(0)
        rows = np.array([[1.0, len(text) / 10] for text in texts], dtype=np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def changed(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda reply: reply | changes


def claim(index: int = 0, at: str = "answer_claims", **changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The reply with one claim changed."""

    def spoil(reply: dict[str, Any]) -> dict[str, Any]:
        items = [dict(item) for item in reply[at]]
        items[index] |= changes
        return reply | {at: items}

    return spoil


def spoiling(step: str, spoil: Callable[[dict[str, Any]], Any], times: int) -> Callable[[Request], Any]:
    """The careful judge, who spoils the first replies to a step."""
    return in_turn(step, [spoil] * times)


def in_turn(step: str, spoils: Sequence[Callable[[dict[str, Any]], Any]]) -> Callable[[Request], Any]:
    """The careful judge, who spoils its first replies to a step in these ways, one after another. A reply that is
    asked for again is that to the same material."""
    left = list(spoils)

    def script(request: Request) -> Any:
        reply = reply_to(request)
        if request.schema_name == step and left:
            spoiled = left.pop(0)(reply)
            return json.dumps(spoiled) if isinstance(spoiled, dict) else spoiled
        return json.dumps(reply)

    return script


def _decompose(shown: dict[str, Any]) -> dict[str, Any]:
    claims = [
        {"sentence": int(number), "text": claim, "relevant": "by the way" not in claim}
        for number, sentence in shown["answer"].items()
        for claim in claims_of(sentence)
    ]
    return {
        "answer_claims": claims,
        "reference_claims": [{"text": claim} for claim in claims_of(shown["reference"] or "")],
        "questions": [f"What about {claim['text']}?" for claim in claims[:2]],
        "noncommittal": not claims,
    }


def _stands(claim: str, text: str) -> bool:
    return claim in text.replace(f"not: {claim}", "")


def _verify(shown: dict[str, Any]) -> dict[str, Any]:
    passages = {int(number): text for number, text in shown["passages"].items()}

    def verdict(number: str, claim: str) -> dict[str, Any]:
        support = [place for place, text in passages.items() if _stands(claim, text)]
        against = [place for place, text in passages.items() if f"not: {claim}" in text and place not in support]
        quote = claim if support else ""
        return {"id": int(number), "supported_by": support, "contradicted_by": against, "quote": quote}

    said = shown["answer_claims"]
    return {
        "answer_claims": [
            verdict(number, claim) | {"in_reference": claim in shown["reference"] if shown["reference"] else None}
            for number, claim in said.items()
        ],
        "reference_claims": [
            verdict(number, claim) | {"in_answer": claim in said.values() if said else None}
            for number, claim in shown["reference_claims"].items()
        ],
        "passages": [
            {"id": place, "relevant": _relevant(text), "useful": _useful(shown, text)}
            for place, text in passages.items()
        ],
    }


def _verify_passage(shown: dict[str, Any]) -> dict[str, Any]:
    text = shown["passage"]

    def verdict(number: str, claim: str) -> dict[str, Any]:
        if _stands(claim, text):
            return {"id": int(number), "verdict": "supported", "quote": claim}
        return {"id": int(number), "verdict": "contradicted" if f"not: {claim}" in text else "neither", "quote": ""}

    return {
        "answer_claims": [verdict(number, claim) for number, claim in shown["answer_claims"].items()],
        "reference_claims": [verdict(number, claim) for number, claim in shown["reference_claims"].items()],
        "relevant": _relevant(text),
        "useful": _useful(shown, text),
    }


def _relevant(text: str) -> bool:
    return "mill" in text or "磨坊" in text


def _useful(shown: dict[str, Any], text: str) -> bool | None:
    """By the reference itself, which every request shows whole."""
    if not shown["reference"]:
        return None
    return any(claim in text for claim in claims_of(shown["reference"]))
