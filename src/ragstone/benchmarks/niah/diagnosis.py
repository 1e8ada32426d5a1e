"""Why a needle was missed: not retrieved, refused, found in part, not found; or an answer invented without a needle."""

from collections.abc import Iterable, Mapping
from typing import Literal

from ragstone.benchmarks.niah.aggregate import GIVEN
from ragstone.display import Diagnosis, Span
from ragstone.messages import messages
from ragstone.types import Record


def explain(record: Record, *, language: str = "en") -> Diagnosis:
    """A control is right if the answer refuses; any other case if the answer states every needle."""
    texts = messages(__name__, language)
    condition = record.case.condition
    group = texts.get(str(condition.get("needle", "")), str(condition.get("needle", "")))
    found, refused = record.scores.get("needle.found"), record.scores.get("needle.refused")
    said_no = refused is not None and refused.value == 1.0
    spans = _spans(record)
    if condition.get("ability") == "control":
        if refused is None or refused.value is None:
            return Diagnosis(None, group)
        if said_no:
            return Diagnosis(True, group, spans=spans)
        return _wrong("invented", group, texts, texts["reason_invented"], 0.6, spans)
    if found is None or found.value is None:
        return _by_score(record, group, texts)
    if found.value >= 1.0:
        return Diagnosis(True, group, spans=spans)
    weight = 1.0 - found.value
    retrieved = record.scores.get("needle.retrieved")
    if retrieved is not None and retrieved.value == 0.0:
        return _wrong("not_retrieved", group, texts, texts["reason_not_retrieved"], weight, spans)
    if mixed := _mixed(record):
        reason = texts["reason_mixed"].format(unbound=mixed[0], extra=mixed[1])
        return _wrong("mixed", group, texts, reason, weight, spans)
    if found.value > 0:
        return _wrong("partly", group, texts, texts["reason_partly"].format(share=f"{found.value:.0%}"), weight, spans)
    if said_no:
        depth = condition.get("depth_reached", condition.get("depth"))
        reason = texts["reason_refused" if depth is not None else "reason_refused_anywhere"]
        return _wrong("refused", group, texts, reason.format(depth=f"{float(depth or 0):.0f}"), weight, spans)
    return _wrong("missed", group, texts, texts["reason_missed"], weight, spans)


def _mixed(record: Record) -> tuple[int, int] | None:
    """How many of the values that are asked for stand without their key, and how many others the answer names; None
    where neither is what is wrong."""
    evidence = record.scores["needle.found"].evidence
    if not isinstance(evidence, dict) or "keys" not in evidence:
        return None
    keys = record.case.sample.meta.get("keys") or []
    bare = {""} if len(set(keys)) == 1 else set()
    unbound = sum(bool(own) and not set(own) <= {key, *bare} for own, key in zip(evidence["keys"], keys, strict=False))
    extra = len(evidence["extra"])
    return (unbound, extra) if unbound or extra else None


def _by_score(record: Record, group: str, texts: Mapping[str, str]) -> Diagnosis:
    """By the score of a judge or of imported results, if the rule does not apply."""
    for name in ("needle.judge", GIVEN):
        score = record.scores.get(name)
        if score is not None and score.value is not None:
            if score.value >= 1.0:
                return Diagnosis(True, group)
            reason = texts["reason_score"].format(score=f"{1 + 9 * score.value:g}")
            return _wrong("missed" if score.value == 0 else "partly", group, texts, reason, 1 - score.value, ())
    return Diagnosis(None, group)


def _wrong(
    cause: str, group: str, texts: Mapping[str, str], reason: str, weight: float, spans: tuple[Span, ...]
) -> Diagnosis:
    return Diagnosis(False, group, cause, texts[f"cause_{cause}"], reason, weight, spans)


def _spans(record: Record) -> tuple[Span, ...]:
    spans: list[Span] = []
    kinds: tuple[tuple[str, Literal["match", "refusal"]], ...]
    kinds = (("needle.found", "match"), ("needle.refused", "refusal"))
    for name, kind in kinds:
        score = record.scores.get(name)
        recorded = score.evidence.get("spans") if score is not None and isinstance(score.evidence, dict) else None
        spans += [Span("answer", start, end, kind) for start, end in _flat(recorded)]
    return tuple(spans)


def _flat(value: object) -> Iterable[tuple[int, int]]:
    """Every [start, end] in a nested list of spans."""
    if not isinstance(value, list):
        return
    if len(value) == 2 and all(isinstance(item, int) for item in value):
        yield value[0], value[1]
        return
    for item in value:
        yield from _flat(item)
