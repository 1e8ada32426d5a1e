"""What a rubric's verdicts come to: where each element stands in the answer, which pairs are in order, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragstone.metrics._rubric_types import Element, Rubric, Scale
from ragstone.text.quotes import find_quote
from ragstone.types import Need

_DOCUMENT = """`{name}`: {about}

{asked}

Formula: (weights of the elements that are present + order_weight * share of pairs in order + scale.weight * step) /
(all weights that apply); 0 where a required element is missing. The step as a share of its scale, the order from where
the judge's quotes stand.
Range: 0 to 1{better}.
Needs: {needs}; a judge's model.
Evidence: {{"rubric", "elements": each with its status, quote and place, "order": each pair, "scale", "parts": what was
reached of how much, "reason": the judge's, "verdicts"}}.
Source: {source}.

| case | result |
|---|---|
| the answer declines | as the judge finds |
| the answer is empty | {empty} |
| the answer makes no claim | as the judge finds |
| no passages | {passages} |
| no reference | {reference} |
| nothing that the rubric asks for applies | not applicable |
| the judge failed | failed |
"""


def judged_elements(
    rubric: Rubric, verdicts: Sequence[Mapping[str, Any]], answer: str, language: str
) -> list[dict[str, Any]]:
    """Every element as the evidence has it. Missing ones of a group of which another is present are not needed."""
    said = {verdict["id"]: verdict for verdict in verdicts}
    elements = [_judged(element, said[number], answer, language) for number, element in enumerate(rubric.elements, 1)]
    present = {element["id"] for element in elements if element["status"] == "present"}
    satisfied = {name for group in rubric.any_of if present & {*group} for name in group}
    for element in elements:
        if element["id"] in satisfied and element["status"] == "missing":
            element["status"] = "not_needed"
    return elements


def counted(rubric: Rubric, elements: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The elements that the score counts: those that apply, and of each group of `any_of` one."""
    applying = {element["id"]: element for element in elements if element["status"] in ("present", "missing")}
    for group in rubric.any_of:
        members = [applying[name] for name in group if name in applying]
        members.sort(key=lambda element: (element["status"] == "present", element["weight"]))
        for element in members[:-1]:
            del applying[element["id"]]
    return list(applying.values())


def _judged(element: Element, verdict: Mapping[str, Any], answer: str, language: str) -> dict[str, Any]:
    """An element as the evidence has it: its verdict, and where in the answer the quoted words stand."""
    detail: dict[str, Any] = {
        "id": element.id, "text": element.text.to(language), "weight": element.weight, "if_known": element.if_known,
        "required": element.required, "status": verdict["status"],
    }  # fmt: skip
    if verdict["status"] == "present":
        place = find_quote(verdict["quote"], answer)
        detail |= {"quote": verdict["quote"].strip(), "found": place is not None}
        if place is not None:
            detail |= {"start": place[0], "end": place[1]}
    return detail


def ordered_pairs(rubric: Rubric, elements: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every ordered pair of elements that apply: right, wrong, or None where a quote is not from the answer."""
    by_id = {element["id"]: element for element in elements}
    pairs = []
    for first, second in rubric.pairs:
        both = [by_id[first], by_id[second]]
        if any(element["status"] in ("unknown", "not_needed") for element in both):
            continue
        right: bool | None = False
        if all(element["status"] == "present" for element in both):
            placed = all(element["found"] for element in both)
            right = both[0]["start"] <= both[1]["start"] if placed else None
        pairs.append({"first": first, "second": second, "right": right})
    return pairs


def step_of(scale: Scale, value: int, language: str) -> dict[str, Any]:
    texts = {anchor.value: anchor.text.to(language) for anchor in scale.anchors}
    return {"value": value, "min": scale.low, "max": scale.high, "anchor": texts.get(value, "")}


def summary(evidence: Mapping[str, Any]) -> str:
    """One line for tables and exports: what is missing, what is out of order, the step."""
    elements = evidence["elements"]
    parts = []
    if elements:
        applying = [element for element in elements if element["status"] in ("present", "missing")]
        missing = [element["id"] for element in applying if element["status"] == "missing"]
        parts.append(f"{len(applying) - len(missing)} of {len(applying)} elements")
        if missing:
            parts.append(f"missing: {', '.join(missing)}")
        if required := [element["id"] for element in applying if element["required"] and element["id"] in missing]:
            parts.append(f"required: {', '.join(required)}")
        present = {element["id"] for element in elements if element["status"] == "present"}
        swapped = [
            f"{pair['second']} before {pair['first']}"
            for pair in evidence["order"]
            if pair["right"] is False and {pair["first"], pair["second"]} <= present
        ]
        if swapped:
            parts.append(f"out of order: {', '.join(swapped)}")
    if scale := evidence.get("scale"):
        parts.append(f"{scale['value']} on {scale['min']}-{scale['max']}")
    return "; ".join(parts)


def documented(rubric: Rubric, needs: set[Need], source: str) -> str:
    """The docstring of the metric by this rubric, in the form that every metric's has."""
    words = ["the answer"]
    words += ["passages"] if Need.PASSAGES in needs else []
    words += ["a reference"] if Need.REFERENCES in needs else []
    lines = [f"Elements: {', '.join(element.id for element in rubric.elements)}."] if rubric.elements else []
    if rubric.scale is not None:
        steps = "; ".join(f"{anchor.value}: {anchor.text.to('en')}" for anchor in rubric.scale.anchors)
        lines.append(f"Scale: {steps}.")
    return _DOCUMENT.format(
        name=f"rubric.{rubric.name}",
        about=" ".join(rubric.question.to("en").split()),
        asked="\n".join(lines),
        better="" if rubric.better == "neither" else f", {rubric.better} is better",
        needs=", ".join(words),
        source=source,
        empty="0, and the judge is not asked" if rubric.better == "higher" else "not applicable",
        passages="not applicable" if Need.PASSAGES in needs else "scored; none are needed",
        reference="not applicable" if Need.REFERENCES in needs else "scored; none is needed",
    )
