"""A judge that is fast and plausible: it answers the prompts of ragstone, ragas and deepeval by comparing words.

It reads what is to be judged out of each tool's own prompt, and answers in the form that the tool asked for, so that
each runs its whole course: every claim is there, and a verdict on each. The verdicts are no better than they need be.
"""

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bench.peers.data import split

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["answer"]

_JUDGED = re.compile(r"<judged (?P<code>\w+)>\n(?P<content>.*?)\n</judged (?P=code)>", re.DOTALL)
_STOP = frozenset({"the", "of", "a", "in", "an", "and", "to", "with", "on", "as", "was", "is"})


@lru_cache(maxsize=1 << 16)  # a judge's thinking is the server's delay, not its computing
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower())) - _STOP


def _states(text: str, claim: str) -> bool:
    """Whether nearly all words of the claim are in one text."""
    asked = _words(claim)
    return bool(asked) and len(asked & _words(text)) >= 0.9 * len(asked)


def answer(payload: dict[str, Any]) -> str:
    """What the judge replies to the body of a chat request, as JSON."""
    prompt = _text(payload["messages"][-1]["content"])
    if "<judged " in prompt:
        return json.dumps(_ragstone(payload))
    if "Now perform the same with the following input" in prompt:
        return json.dumps(_ragas(prompt))
    return json.dumps(_deepeval(prompt))


def _text(content: Any) -> str:
    """A message's text, which some tools send in parts."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


# --- ragstone ---------------------------------------------------------------------------------------------------------


def _ragstone(payload: dict[str, Any]) -> Any:
    prompt = next(turn["content"] for turn in reversed(payload["messages"]) if "<judged " in turn["content"])
    found = _JUDGED.search(prompt)
    assert found is not None
    judged = json.loads(found["content"])
    return _verify(judged) if "passages" in judged else _decompose(judged)


def _decompose(judged: dict[str, Any]) -> Any:
    claims = [{"sentence": int(number), "text": text, "relevant": True} for number, text in judged["answer"].items()]
    reference = [{"text": text} for text in split(judged.get("reference") or "")]
    return {
        "answer_claims": claims,
        "reference_claims": reference,
        "questions": [f"{words} {judged['question'][-11:]}" for words in ("Who worked?", "What was built?", "When?")],
        "noncommittal": False,
    }


def _verify(judged: dict[str, Any]) -> Any:
    passages, reference = judged["passages"], judged.get("reference")
    answers = " ".join(judged["answer_claims"].values())

    def claim(number: str, text: str, other: str, beside: str | None) -> dict[str, Any]:
        supported = [int(place) for place, passage in passages.items() if _states(passage, text)]
        seen = None if beside is None else _states(beside, text)
        quote = split(passages[str(supported[0])])[0] if supported else ""  # words of a passage that supports it
        return {"id": int(number), "supported_by": supported, "contradicted_by": [], other: seen, "quote": quote}

    useful = {
        place: reference is not None and any(_states(text, part) for part in split(reference))
        for place, text in passages.items()
    }
    return {
        "answer_claims": [claim(n, text, "in_reference", reference) for n, text in judged["answer_claims"].items()],
        "reference_claims": [
            claim(n, text, "in_answer", answers if judged["answer_claims"] else None)
            for n, text in judged["reference_claims"].items()
        ],
        "passages": [
            {"id": int(place), "relevant": True, "useful": None if reference is None else useful[place]}
            for place in passages
        ],
    }


# --- ragas ------------------------------------------------------------------------------------------------------------


def _ragas(prompt: str) -> Any:
    head, _, tail = prompt.rpartition("Now perform the same with the following input\n")
    given, _ = json.JSONDecoder().raw_decode(tail[tail.index("{") :])
    if "classifications" in head[:3000]:
        sentences = split(given["answer"])
        return {
            "classifications": [
                {"statement": text, "reason": "It is there.", "attributed": int(_states(given["context"], text))}
                for text in sentences
            ]
        }
    if "ground_truth" in given:
        return _ragas_correctness(given)
    if "statements" in given:
        return {
            "statements": [
                {"statement": text, "reason": "It is there.", "verdict": int(_states(given["context"], text))}
                for text in given["statements"]
            ]
        }
    if "context" in given:
        useful = any(_states(given["context"], text) for text in split(given["answer"]))
        return {"reason": "It is of use.", "verdict": int(useful)}
    if "question" in given:
        return {"statements": split(given["answer"])}
    return {"question": f"What is known about {given['response'][:60]}?", "noncommittal": 0}


def _ragas_correctness(given: dict[str, Any]) -> Any:
    def with_reason(texts: list[str]) -> list[dict[str, str]]:
        return [{"statement": text, "reason": "It is there."} for text in texts]

    truth, said = " ".join(given["ground_truth"]), " ".join(given["answer"])
    return {
        "TP": with_reason([text for text in given["answer"] if _states(truth, text)]),
        "FP": with_reason([text for text in given["answer"] if not _states(truth, text)]),
        "FN": with_reason([text for text in given["ground_truth"] if not _states(said, text)]),
    }


# --- deepeval ---------------------------------------------------------------------------------------------------------


def _between(prompt: str, start: str, end: str = "\n\nJSON:") -> str:
    return prompt.rpartition(f"\n{start}")[2].partition(end)[0].strip()


def _list(text: str) -> list[str]:
    """How many items a list that Python wrote has; their texts do not matter."""
    return [part for part in re.split(r"'\s*,\s*'|\"\s*,\s*\"|'\s*,\s*\"|\"\s*,\s*'", text) if part.strip("[]'\" ")]


def _verdicts(items: list[str], **more: str) -> Any:
    return {"verdicts": [{"verdict": "yes", "reason": "It is there.", **more} for _ in items]}


def _deepeval(prompt: str) -> Any:
    rules: list[tuple[str, Callable[[], Any]]] = [
        ('"reason" key', lambda: {"reason": "The score is what it is because of what is there."}),
        ("'reason' key providing the reason", lambda: {"reason": "The score is what it is."}),
        ('"truths" key', lambda: {"truths": split(_between(prompt, "Text:").replace("\n", " "))}),
        ('"claims" key', lambda: {"claims": split(_between(prompt, "AI Output:"))}),
        ('"statements" key', lambda: {"statements": split(_between(prompt, "Text:"))}),
        ("\nClaims:\n", lambda: _verdicts(_list(_between(prompt, "Claims:")))),
        ("\nStatements:\n", lambda: _verdicts(_list(_between(prompt, "Statements:")))),
        ("that of the contexts.\n", lambda: _verdicts(["1", "2", "3", "4", "5"])),
        ("\nExpected Output:\n", lambda: _verdicts(split(_between(prompt, "Expected Output:", "\n\nRetrieval")))),
        ("\nContext:\n", lambda: _verdicts(split(_between(prompt, "Context:")), statement="It says so.")),
    ]
    for mark, make in rules:
        if mark in prompt:
            return make()
    return {"reason": "There is nothing to say.", "verdicts": []}
