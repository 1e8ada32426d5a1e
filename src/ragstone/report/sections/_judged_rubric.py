"""The rubrics of a judged sample: elements present or missing, elements out of order, the point on the scale."""

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from ragstone.display import Span
from ragstone.report.number_format import number
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas
from ragstone.types import Score

_RUBRIC = """
<h4>{{ w.rubric }}: <bdi>{{ title }}</bdi> <span class="mono">{{ value }}</span></h4>
{% if question %}<p{{ lang }}><bdi>{{ question }}</bdi></p>{% endif %}
{% if elements %}<div class="scroll" role="region" aria-label="{{ w.rubric }}: {{ title }}" tabindex="0"><table class="elements">
<thead><tr><th scope="col">{{ w.element }}</th><th scope="col">{{ w.verdict }}</th><th scope="col" class="num">{{ w.weight }}</th><th scope="col">{{ w.words_of_answer }}</th></tr></thead>
<tbody>
{% for element in elements %}<tr><th scope="row"><span{{ lang }}><bdi>{{ element.text }}</bdi></span><small class="mono"><bdi>{{ element.id }}</bdi></small></th>
<td><span class="badge{{ ' ' ~ element.tone if element.tone }}">{{ element.status }}</span></td><td class="num">{{ element.weight }}</td>
<td class="txt">{% if element.quote %}<q{{ lang }}><bdi>{{ element.quote }}</bdi></q>{% if element.misquoted %} <span class="badge bad">{{ w.misquoted }}</span>{% endif %}{% endif %}</td></tr>
{% endfor %}
</tbody></table></div>{% endif %}
{% if order %}<p>{{ order }}{% for first, second in swapped %} {{ w.swapped.format(first=first, second=second) }}{% endfor %}{% if undecided %} {{ w.undecided.format(n=undecided) }}{% endif %}</p>{% endif %}
{% if step or anchor %}<p><b>{{ step }}</b>{% if anchor %} <span{{ lang }}><bdi>{{ anchor }}</bdi></span>{% endif %}</p>{% endif %}
{% if reason %}<p class="said">{{ w.judge_says }} <bdi>{{ reason }}</bdi></p>{% endif %}
"""  # noqa: E501  a template

_ELEMENTS, _SWAPPED, _RUBRICS, _LINE, _SHORT = 40, 6, 12, 300, 80
_TONES = {"present": "good", "missing": "bad", "unknown": "", "not_needed": ""}


def rubrics_html(canvas: Canvas, w: Mapping[str, str], judged: Mapping[str, Score], lang: Markup) -> Markup:
    """Every rubric of the sample; "" where there is none."""
    shown = [
        canvas.html(_RUBRIC, w=w, lang=lang, **_rubric_values(name, score, w))
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
