"""The rubrics of a judged sample: elements present or missing, elements out of order, the point on the scale."""

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from ragstone.display import Span
from ragstone.report.number_format import number
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas
from ragstone.types import Score

_ELEMENTS, _SWAPPED, _RUBRICS, _LINE, _SHORT = 40, 6, 12, 300, 80
_TONES = {"present": "good", "missing": "bad", "unknown": "", "not_needed": ""}


def rubrics_html(canvas: Canvas, w: Mapping[str, str], judged: Mapping[str, Score], lang: Markup) -> Markup:
    """Every rubric of the sample; "" where there is none."""
    shown = [
        canvas.html("report/rubric.html", w=w, lang=lang, **_rubric_values(name, score, w))
        for name, score in list(_rubrics(judged))[:_RUBRICS]
    ]
    return Markup().join(shown)


def answer_spans(judged: Mapping[str, Score]) -> list[Span]:
    """The parts of the answer that rubrics quote."""
    return [
        Span("answer", element["start"], element["end"])
        for _, score in _rubrics(judged)
        for element in _objects(score.evidence, "elements")
        if type(element.get("start")) is int and type(element.get("end")) is int
    ]


def _rubrics(judged: Mapping[str, Score]) -> Iterator[tuple[str, Score]]:
    for name, score in judged.items():
        if isinstance(score.evidence, Mapping) and isinstance(score.evidence.get("rubric"), Mapping):
            yield name, score


def _rubric_values(name: str, score: Score, w: Mapping[str, str]) -> dict[str, Any]:
    evidence, rubric = score.evidence, score.evidence["rubric"]
    elements = list(_objects(evidence, "elements"))
    pairs = list(_objects(evidence, "order"))
    right = [pair.get("right") for pair in pairs]
    decided = [verdict for verdict in right if isinstance(verdict, bool)]
    texts = {_line(element, "id"): _line(element, "text") for element in elements}
    present = {_line(element, "id") for element in elements if element.get("status") == "present"}
    ends = [(_line(pair, "first"), _line(pair, "second")) for pair in pairs if pair.get("right") is False]
    swapped = [(texts.get(a, a), texts.get(b, b)) for a, b in ends if {a, b} <= present]
    scale = evidence.get("scale")
    valid = isinstance(scale, Mapping) and all(type(scale.get(key)) is int for key in ("value", "min", "max"))
    return {
        "title": _line(rubric, "title") or one_line(name, _SHORT),
        "value": number(score.value) if score.value is not None else w[score.status],
        "question": _line(rubric, "question"),
        "elements": [_element(element, w) for element in elements[:_ELEMENTS]],
        "order": w["in_order"].format(n=sum(decided), of=len(decided)) if decided else "",
        "swapped": swapped[:_SWAPPED],
        "undecided": len(right) - len(decided),
        "step": w["step"].format(value=scale["value"], low=scale["min"], high=scale["max"]) if valid and scale else "",
        "anchor": _line(scale, "anchor") if isinstance(scale, Mapping) else "",
        "reason": _line(evidence, "reason"),
    }


def _element(element: Mapping[str, Any], w: Mapping[str, str]) -> dict[str, Any]:
    status = _line(element, "status")
    weight = element.get("weight")
    return {
        "id": one_line(_line(element, "id"), _SHORT),
        "text": _line(element, "text"),
        "status": w[status] if status in _TONES else status,
        "tone": _TONES.get(status, ""),
        "weight": number(weight) if isinstance(weight, int | float) and 0 <= weight <= 1_000 else "",
        "quote": _line(element, "quote"),
        "misquoted": element.get("found") is False,
    }


def _objects(evidence: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    value = evidence.get(key)
    if isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, Mapping))


def _line(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    return one_line(value, _LINE) if isinstance(value, str) else ""
