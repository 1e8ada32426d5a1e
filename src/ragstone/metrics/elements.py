"""The elements of rubrics as metrics of their own: `rubric.NAME.ELEMENT`, which gates can name."""

from collections.abc import Iterator, Mapping

from ragstone.types import Score

_VALUES = {"present": 1.0, "missing": 0.0}


def element_scores(scores: Mapping[str, Score]) -> dict[str, Score]:
    """The scores of the elements of all rubrics among these scores: 1 where the answer has the element, 0 where it does
    not; not applicable where it is not known or not needed. A rubric that failed has none."""
    rubrics = [name for name in scores if name.startswith("rubric.")]
    return {f"{name}.{key}": score for name in rubrics for key, score in _elements(scores[name])}


def _elements(rubric: Score) -> Iterator[tuple[str, Score]]:
    elements = rubric.evidence.get("elements") if isinstance(rubric.evidence, Mapping) else ()
    for element in elements if isinstance(elements, list | tuple) else ():
        if isinstance(element, Mapping) and isinstance(element.get("id"), str):
            status = str(element.get("status"))
            value = _VALUES.get(status)
            yield element["id"], Score.not_applicable(status) if value is None else Score.of(value)
