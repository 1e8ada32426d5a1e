"""Labels as Label Studio's JSON: tasks with `data` and `annotations`, as in its guide "Label Studio Task Format".

A task is an item; an annotation is one label of one expert, with results of the types `choices` (the label), `textarea`
(the comment) and `labels` (marked parts of the answer). Offsets count code points, as Label Studio's do."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from ragstone.labels.exchange import ANSWERS, iso, objects, seconds_of, shown_texts, slug
from ragstone.labels.records import Label, LabelItem, Marked
from ragstone.labels.tasks import Task

_OFFSET = re.compile("[0-9]{1,9}")
_COMMENT, _MARKS = "_comment", "_marks"


def is_task(row: Mapping[str, Any]) -> bool:
    """True for a JSON object that is a task of Label Studio."""
    return isinstance(row.get("data"), Mapping) and ("annotations" in row or "completions" in row)


def task_of(item: LabelItem, labels: Iterable[tuple[Task, Label]], number: int) -> dict[str, Any]:
    """The task of an item, with the labels on it as annotations."""
    data = {"item": item.id, "question_id": item.sample_id, **shown_texts(item)}
    annotations = [_annotation(task, label, f"{number}-{place}") for place, (task, label) in enumerate(labels, 1)]
    return {"id": number, "data": data, "annotations": annotations, "predictions": []}


def _annotation(task: Task, label: Label, name: str) -> dict[str, Any]:
    target = ANSWERS[0] if task.kind in ("answer", "pair") else "passages"

    def result(kind: str, suffix: str, value: dict[str, Any], to: str = target) -> dict[str, Any]:
        return {"id": f"{name}-{len(results)}", "from_name": slug(task.name) + suffix, "to_name": to, "type": kind,
                "origin": "manual", "value": value}  # fmt: skip

    results: list[dict[str, Any]] = []
    results.append(result("choices", "", {"choices": [label.value]}))
    if label.comment:
        results.append(result("textarea", _COMMENT, {"text": [label.comment]}))
    for span in label.spans:
        value = {"start": span.start, "end": span.end, "text": span.text, "labels": ["marked"]}
        results.append(result("labels", _MARKS, value, ANSWERS[span.answer]))
    return {
        "result": results, "completed_by": {"email": label.expert}, "was_cancelled": False,
        "ground_truth": label.adjudicated, "lead_time": label.seconds, "created_at": iso(label.when),
        "updated_at": iso(label.when),
    }  # fmt: skip


def from_task(row: Mapping[str, Any], where: str) -> Iterator[Label]:
    """The labels of a task. Drafts, predictions and annotations that were skipped are no labels."""
    data = row.get("data")
    item = str(data.get("item") or data.get("question_id") or data.get("id") or "") if isinstance(data, Mapping) else ""
    for annotation in objects(row.get("annotations", row.get("completions"))):
        if annotation.get("was_cancelled"):
            continue
        results = objects(annotation.get("result"))
        choices = [result for result in results if result.get("type") in ("choices", "rating")]
        spent = annotation.get("lead_time")
        seconds = float(spent) / max(1, len(choices)) if isinstance(spent, int | float) else None
        for choice in choices:
            name = str(choice.get("from_name") or "")
            yield Label(
                item, name, _person(annotation), _value(choice.get("value")), _marks(results, name),
                _comment(results, name), seconds,
                seconds_of(annotation.get("updated_at") or annotation.get("created_at"), f"{where}: "),
                annotation.get("ground_truth") is True,
            )  # fmt: skip


def _person(annotation: Mapping[str, Any]) -> str:
    """The expert: the e-mail address, else the number of the user."""
    by = annotation.get("completed_by")
    if isinstance(by, Mapping):
        return str(by.get("email") or by.get("username") or by.get("id") or "")
    return "" if by is None else str(by)


def _value(value: Any) -> str:
    if not isinstance(value, Mapping):
        return ""
    choices = value.get("choices")
    found = choices[0] if isinstance(choices, list) and choices else value.get("rating", "")
    return str(found)


def _comment(results: Sequence[Mapping[str, Any]], task: str) -> str:
    for result in results:
        value = result.get("value")
        if result.get("from_name") == task + _COMMENT and isinstance(value, Mapping):
            text = value.get("text")
            return "\n".join(map(str, text)) if isinstance(text, list) else str(text or "")
    return ""


def _marks(results: Sequence[Mapping[str, Any]], task: str) -> tuple[Marked, ...]:
    marks = []
    for result in results:
        value = result.get("value")
        if result.get("from_name") == task + _MARKS and isinstance(value, Mapping):
            start, end = str(value.get("start")), str(value.get("end"))
            if _OFFSET.fullmatch(start) and _OFFSET.fullmatch(end):
                marks.append(Marked(int(start), int(end), "", int(result.get("to_name") == ANSWERS[1])))
    return tuple(marks)


def config_of(tasks: Sequence[Task], language: str) -> str:
    """The labelling interface of a project for these tasks, all of one kind, to paste into its settings."""
    kind = tasks[0].kind
    shown = ["question", *(name for name in ("references", "passages") if any(name in task.shows for task in tasks))]
    shown[1:1] = ANSWERS[: {"answer": 1, "pair": 2}.get(kind, 0)]
    lines = ["<View>", *(f'  <Text name="{name}" value="${name}"/>' for name in shown)]
    target = ANSWERS[0] if kind in ("answer", "pair") else "passages"
    for task in tasks:
        name = slug(task.name)
        lines.append(f"  <Header value={quoteattr(task.question.to(language))}/>")
        lines.append(f'  <Choices name="{name}" toName="{target}" choice="single" required="true">')
        for choice in task.choices:
            title = choice.title.to(language) or choice.value
            lines.append(f"    <Choice alias={quoteattr(choice.value)} value={quoteattr(title)}/>")
        lines.append("  </Choices>")
        lines.append(f'  <TextArea name="{name}{_COMMENT}" toName="{target}"/>')
        if kind in ("answer", "pair"):
            lines.append(f'  <Labels name="{name}{_MARKS}" toName="{target}"><Label value="marked"/></Labels>')
    return "\n".join([*lines, "</View>"]) + "\n"
