"""The spans of an answer and its passages that show why the answer was scored as it was."""

from collections.abc import Container, Iterable
from typing import Any, Literal

from ragstone.display import Span
from ragstone.text import find_answer
from ragstone.text.content_words import places
from ragstone.types import Record

_MOST_SPANS = 12  # spans shown for one alias in one text

Kind = Literal["match", "wrong", "refusal"]


def found_slots(record: Record) -> list[list[Span]]:
    """Where `answer_match` found each slot in the answer; [] if it was not computed."""
    evidence = _evidence(record, "answer_match")
    slots = evidence.get("slots")
    if not isinstance(slots, list):
        return []
    return [[_span("answer", hit["start"], hit["end"], "match") for hit in slot] for slot in slots]


def refusal_spans(record: Record) -> list[Span]:
    """The phrases by which `refusal` recognised that the answer declines."""
    spans = _evidence(record, "refusal").get("spans")
    return [_span("answer", start, end, "refusal") for start, end in spans] if isinstance(spans, list) else []


def _evidence(record: Record, metric: str) -> dict[str, Any]:
    score = record.scores.get(metric)
    return score.evidence if score is not None and isinstance(score.evidence, dict) else {}


def _span(field: str, start: int, end: int, kind: Kind) -> Span:
    return Span(field, int(start), int(end), kind)


def stated(aliases: Iterable[str], field: str, text: str, language: str, kind: Kind = "match") -> list[Span]:
    """Where a text states any of the aliases."""
    places = (place for alias in aliases for place in find_answer(alias, text, language)[:_MOST_SPANS])
    return [Span(field, start, end, kind) for start, end in places]


def word_spans(words: Container[str], field: str, text: str, language: str) -> list[Span]:
    """Where a text contains the words that a wrong answer took over. Adjacent words are joined into one span."""
    joined: list[Span] = []
    for word, start, end in places(text, language):
        if word not in words:
            continue
        last = joined[-1] if joined else None
        if last is not None and (start <= last.end or not text[last.end : start].strip()):
            joined[-1] = Span(field, last.start, max(last.end, end), "wrong")
        else:
            joined.append(Span(field, start, end, "wrong"))
    return joined[:_MOST_SPANS]


def separate(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans that do not overlap an earlier one, sorted by field and position."""
    separated: list[Span] = []
    for span in spans:
        clash = (
            previous.field == span.field and span.start < previous.end and previous.start < span.end
            for previous in separated
        )
        if span.start < span.end and not any(clash):
            separated.append(span)
    return tuple(sorted(separated, key=lambda span: (span.field, span.start)))
