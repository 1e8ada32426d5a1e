"""A judge for tests of evaluation: decides by words, so that its verdicts are known beforehand."""

import json
import re
from typing import Any

import numpy as np

from ragstone.metrics.judge.envelope import opened
from ragstone.models.scripted import Scripted
from ragstone.text import sentences, words
from ragstone.types import Request

__all__ = ["Embedder", "scripted_judge", "supports", "verdict"]


def supports(text: str, claim: str) -> bool:
    """Whether a text has all words of a claim; citations are no words."""
    wanted = set(words(re.sub(r"\[\d+\]", "", claim)))
    return bool(wanted) and wanted <= set(words(text))


def verdict(request: Request) -> str:
    """The reply to any step of the judge. A claim is a sentence; a text supports it that has all its words."""
    shown: dict[str, Any] = opened(request.messages[-1].content)
    if request.schema_name.startswith("ragas_"):
        return json.dumps(_ragas(request.schema_name, shown))
    if "answer_claims" not in shown:
        return json.dumps(_decomposed(shown))
    if "passage" in shown:
        return json.dumps(_of_passage(shown))
    compared = _compared(shown)
    if "passages" not in shown:
        return json.dumps(compared)
    passages, reference = shown["passages"], shown["reference"]
    for at in ("answer_claims", "reference_claims"):
        for one in compared[at]:
            claim = shown[at][str(one["id"])]
            places = [int(place) for place, text in passages.items() if supports(text, claim)]
            one.update(supported_by=places, contradicted_by=[], quote=passages[str(places[0])] if places else "")
    useful = [
        {"id": int(place), "relevant": True, "useful": supports(text, reference) if reference else None}
        for place, text in passages.items()
    ]
    return json.dumps({**compared, "passages": useful})


def _decomposed(shown: dict[str, Any]) -> dict[str, Any]:
    answer, reference = shown["answer"], shown["reference"]
    declines = any("know" in text or "不知道" in text for text in answer.values())
    claims = [{"sentence": int(at), "text": text, "relevant": True} for at, text in answer.items()]
    return {
        "answer_claims": [] if declines else claims,
        "reference_claims": [{"text": reference}] if reference else [],
        "questions": [] if declines else [shown["question"]],
        "noncommittal": declines,
    }


def _of_passage(shown: dict[str, Any]) -> dict[str, Any]:
    text, reference = shown["passage"], shown["reference"]
    judged = {
        at: [
            {"id": int(number), "verdict": "supported", "quote": text}
            if supports(text, claim)
            else {"id": int(number), "verdict": "neither", "quote": ""}
            for number, claim in shown[at].items()
        ]
        for at in ("answer_claims", "reference_claims")
    }
    return {**judged, "relevant": True, "useful": supports(text, reference) if reference else None}


def _ragas(step: str, shown: dict[str, Any]) -> dict[str, Any]:
    if step == "ragas_statements":
        return {"statements": sentences(shown["text"])}
    if step == "ragas_question":
        return {"question": shown["answer"], "noncommittal": int("know" in shown["answer"])}
    if step == "ragas_context_precision":
        return {"reason": "", "verdict": int(supports(shown["context"], shown["answer"]))}
    if step == "ragas_context_recall":
        held = [(one, supports(shown["context"], one)) for one in sentences(shown["answer"])]
        return {"classification": [{"statement": one, "reason": "", "attributed": int(yes)} for one, yes in held]}
    if step == "ragas_faithfulness":
        return {
            "verdicts": [
                {"id": int(number), "reason": "", "verdict": int(supports(shown["context"], one))}
                for number, one in shown["statements"].items()
            ]
        }
    truth, said = " ".join(shown["ground_truth"].values()), " ".join(shown["answer"].values())
    return {
        "answer": [
            {"id": int(number), "reason": "", "verdict": "TP" if supports(truth, one) else "FP"}
            for number, one in shown["answer"].items()
        ],
        "ground_truth": [
            {"id": int(number), "reason": "", "verdict": "found" if supports(said, one) else "FN"}
            for number, one in shown["ground_truth"].items()
        ],
    }


def _compared(shown: dict[str, Any]) -> dict[str, Any]:
    reference, said = shown["reference"], " ".join(shown["answer_claims"].values())
    return {
        "answer_claims": [
            {"id": int(number), "in_reference": supports(reference, claim) if reference else None}
            for number, claim in shown["answer_claims"].items()
        ],
        "reference_claims": [
            {"id": int(number), "in_answer": supports(said, claim) if shown["answer_claims"] else None}
            for number, claim in shown["reference_claims"].items()
        ],
    }


def scripted_judge(name: str = "scripted/judge") -> Scripted:
    """The judge as a model that keeps what it was asked in `requests`."""
    return Scripted(verdict, id=name)


class Embedder:
    """Vectors by words: texts with the same words are the same. `asked` counts the requests."""

    id = "test/words"

    def __init__(self) -> None:
        self.asked = 0

    async def embed(self, texts: Any, /, *, kind: str = "passage") -> "np.ndarray[Any, Any]":
        self.asked += 1
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for at, text in enumerate(texts):
            for word in words(text) or [""]:
                rows[at, hash_of(word) % 64] += 1
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def hash_of(word: str) -> int:
    """A hash that is the same in every process."""
    return sum(ord(char) * 31**place for place, char in enumerate(word))
