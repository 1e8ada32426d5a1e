"""A judge's evidence as it stands in a run file, read for the page.

Run files come from anywhere: whatever has not the form that `metrics/judge` writes is left out, and nothing here
raises. Numbers of claims, sentences and passages count from 1; texts are as they were written.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragstone.text.quoting import find_quote
from ragstone.types import Record, Score, Span

__all__ = ["Claim", "Matrix", "Quote", "Step", "judged_scores", "matrix_of", "quote_spans", "steps_of"]

_MOST = 9_999  # a claim, a sentence or a passage with a larger number is none
_SEARCHED = 60_000  # characters of a passage that quotes are looked for in
_QUOTES = 4  # of one claim


@dataclass(frozen=True)
class Quote:
    """Words that a judge quotes for a verdict; `place` is the passage that they are said to be from, 0 if untold."""

    text: str
    place: int = 0


@dataclass
class Claim:
    """A claim of the answer or of the reference with its verdicts. `shared`: the other text holds it too (None:
    nobody asked); `judged`: somebody was asked which passages speak of it."""

    id: int
    text: str
    sentence: int = 0
    relevant: bool = True
    support: set[int] = field(default_factory=set)
    against: set[int] = field(default_factory=set)
    shared: bool | None = None
    judged: bool = False
    quotes: list[Quote] = field(default_factory=list)


@dataclass
class Matrix:
    """The claim matrix of a record. `passages`: of a place, (relevant, useful), each None where it was not told."""

    sentences: list[str] = field(default_factory=list)
    answer: dict[int, Claim] = field(default_factory=dict)
    reference: dict[int, Claim] = field(default_factory=dict)
    passages: dict[int, tuple[bool | None, bool | None]] = field(default_factory=dict)
    noncommittal: bool = False


@dataclass(frozen=True)
class Step:
    """One request to a judge: `held` is everything that is kept of it."""

    name: str
    model: str
    prompt: str
    reply: str
    problem: str
    tokens: tuple[int, int]
    held: Mapping[str, Any]


def judged_scores(record: Record) -> dict[str, Score]:
    """The scores of a record that rest on a judge's replies, by metric."""
    return {name: score for name, score in record.scores.items() if _verdicts(score)}


def steps_of(record: Record) -> list[Step]:
    """What a judge was asked about a record, each request once however many metrics rest on it."""
    found: dict[tuple[str, ...], Step] = {}
    for name in sorted(record.scores):
        for held in _verdicts(record.scores[name]):
            step = _step(held)
            found.setdefault((step.name, step.prompt, step.model, step.reply, step.problem), step)
    return list(found.values())


def _verdicts(score: Score) -> list[Mapping[str, Any]]:
    held = score.evidence.get("verdicts") if isinstance(score.evidence, Mapping) else None
    return [one for one in held if isinstance(one, Mapping)] if isinstance(held, list | tuple) else []


def _step(held: Mapping[str, Any]) -> Step:
    usage = held.get("usage")
    told = usage if isinstance(usage, Mapping) else {}
    tokens = (_count(told.get("prompt_tokens")), _count(told.get("completion_tokens")))
    reply = held.get("reply")
    return Step(
        _text(held.get("step")), _text(held.get("model")), _text(held.get("prompt")),
        reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False, default=str) if reply else "",
        _text(held.get("problem")), tokens, held,
    )  # fmt: skip


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else 0


def _place(value: object) -> int:
    """The number of a claim, a sentence or a passage; 0 where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST else 0


def _yes(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _objects(held: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    value = held.get(key)
    if isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, Mapping))


def matrix_of(steps: Iterable[Step]) -> Matrix:
    """The claims with all verdicts of these steps put together, as the judge puts them: a passage that supports a
    claim does not also contradict it."""
    matrix = Matrix()
    for step in steps:
        if step.problem:
            continue
        if step.name.startswith("decompose"):
            _decomposed(matrix, step.held)
        elif step.name.startswith("verify"):
            _verified(matrix, step.held)
    for claim in (*matrix.answer.values(), *matrix.reference.values()):
        claim.against -= claim.support
    return matrix


def _decomposed(matrix: Matrix, held: Mapping[str, Any]) -> None:
    sentences = held.get("sentences")
    if isinstance(sentences, list | tuple):
        matrix.sentences += [text for text in sentences if isinstance(text, str)]
    for key, side in (("answer_claims", matrix.answer), ("reference_claims", matrix.reference)):
        for item in _objects(held, key):
            number, text = _place(item.get("id")), _text(item.get("text"))
            if number and text:
                claim = Claim(number, text, _place(item.get("sentence")), item.get("relevant") is not False)
                side.setdefault(number, claim)
    matrix.noncommittal = matrix.noncommittal or held.get("noncommittal") is True


def _verified(matrix: Matrix, held: Mapping[str, Any]) -> None:
    sides = (("answer_claims", matrix.answer, "in_reference"), ("reference_claims", matrix.reference, "in_answer"))
    for key, side, shared in sides:
        for item in _objects(held, key):
            claim = side.get(_place(item.get("id")))
            if claim is None:
                continue
            support, against = _places(item.get("supported_by")), _places(item.get("contradicted_by"))
            claim.judged = claim.judged or "supported_by" in item
            claim.support |= support
            claim.against |= against
            if claim.shared is None:
                claim.shared = _yes(item.get(shared))
            if (text := _text(item.get("quote")).strip()) and len(claim.quotes) < _QUOTES:
                place = next(iter(support | against)) if len(support | against) == 1 else 0
                claim.quotes.append(Quote(text, place))
    for item in _objects(held, "passages"):
        if place := _place(item.get("id")):
            relevant, useful = matrix.passages.get(place, (None, None))
            matrix.passages[place] = (_either(relevant, item.get("relevant")), _either(useful, item.get("useful")))


def _places(value: object) -> set[int]:
    return {place for item in value if (place := _place(item))} if isinstance(value, list | tuple) else set()


def _either(before: bool | None, now: object) -> bool | None:
    """Of two pieces of one passage: what one of them is, the passage is."""
    return before or _yes(now) if before is not None else _yes(now)


def quote_spans(matrix: Matrix, texts: Sequence[str]) -> tuple[dict[int, list[Span]], set[str]]:
    """Where the quotes stand: highlights by passage (`match` where it supports, `wrong` where it only contradicts),
    and the quotes that stand in none of the passages that they are for. `texts` are the passages in their order."""
    spans: dict[int, list[Span]] = {}
    lost: set[str] = set()
    for claim in (*matrix.answer.values(), *matrix.reference.values()):
        for quote in claim.quotes:
            places = sorted(claim.support) + sorted(claim.against)
            found = False
            for place in [quote.place] if quote.place else places:
                text = texts[place - 1][:_SEARCHED] if place <= len(texts) else ""
                if (at := find_quote(quote.text, text)) is not None:
                    found = True
                    kind = "match" if place in claim.support else "wrong"
                    spans.setdefault(place, []).append(Span(str(place), *at, kind))  # type: ignore[arg-type]
            if not found:
                lost.add(quote.text)
    return spans, lost
