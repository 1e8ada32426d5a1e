"""Why a needle was missed: not retrieved, refused, found in part, not found; or invented where there was none."""

from collections.abc import Iterable, Mapping
from typing import Literal

from ragstone.benchmarks.niah.aggregate import GIVEN
from ragstone.messages import messages
from ragstone.types import Diagnosis, Record, Span

__all__ = ["explain"]


def explain(record: Record, *, language: str = "en") -> Diagnosis:
    """A control is right where it is refused; any other case where every needle is stated."""
    told = messages(__name__, language)
    condition = record.case.condition
    group = told.get(str(condition.get("needle", "")), str(condition.get("needle", "")))
    found, refused = record.scores.get("needle.found"), record.scores.get("needle.refused")
    said_no = refused is not None and refused.value == 1.0
    spans = _spans(record)
    if condition.get("ability") == "control":
        if refused is None or refused.value is None:
            return Diagnosis(None, group)
        if said_no:
            return Diagnosis(True, group, spans=spans)
        return _wrong("invented", group, told, told["reason_invented"], 0.6, spans)
    if found is None or found.value is None:
        return _by_score(record, group, told)
    if found.value >= 1.0:
        return Diagnosis(True, group, spans=spans)
    weight = 1.0 - found.value
    retrieved = record.scores.get("needle.retrieved")
    if retrieved is not None and retrieved.value == 0.0:
        return _wrong("not_retrieved", group, told, told["reason_not_retrieved"], weight, spans)
    if found.value > 0:
        return _wrong("partly", group, told, told["reason_partly"].format(share=f"{found.value:.0%}"), weight, spans)
    if said_no:
        depth = f"{float(condition.get('depth_reached', condition.get('depth', 0))):.0f}"
        return _wrong("refused", group, told, told["reason_refused"].format(depth=depth), weight, spans)
    return _wrong("missed", group, told, told["reason_missed"], weight, spans)


def _by_score(record: Record, group: str, told: Mapping[str, str]) -> Diagnosis:
    """By the score that a judge or somebody's results gave, where no rule applies."""
    for name in ("needle.judge", GIVEN):
        score = record.scores.get(name)
        if score is not None and score.value is not None:
            if score.value >= 1.0:
                return Diagnosis(True, group)
            reason = told["reason_score"].format(score=f"{1 + 9 * score.value:g}")
            return _wrong("missed" if score.value == 0 else "partly", group, told, reason, 1 - score.value, ())
    return Diagnosis(None, group)


def _wrong(
    cause: str, group: str, told: Mapping[str, str], reason: str, weight: float, spans: tuple[Span, ...]
) -> Diagnosis:
    return Diagnosis(False, group, cause, told[f"cause_{cause}"], reason, weight, spans)


def _spans(record: Record) -> tuple[Span, ...]:
    made: list[Span] = []
    kinds: tuple[tuple[str, Literal["match", "refusal"]], ...]
    kinds = (("needle.found", "match"), ("needle.refused", "refusal"))
    for name, kind in kinds:
        score = record.scores.get(name)
        held = score.evidence.get("spans") if score is not None and isinstance(score.evidence, dict) else None
        made += [Span("answer", start, end, kind) for start, end in _flat(held)]
    return tuple(made)


def _flat(held: object) -> Iterable[tuple[int, int]]:
    """Every [start, end] in a list of spans, or of lists of them."""
    if not isinstance(held, list):
        return
    if len(held) == 2 and all(isinstance(one, int) for one in held):
        yield held[0], held[1]
        return
    for one in held:
        yield from _flat(one)
