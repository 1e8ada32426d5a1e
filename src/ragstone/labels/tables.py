"""Labels as rows, for CSV and JSON lines: one of each item, task and expert."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ragstone.errors import UsageError
from ragstone.labels.exchange import iso, seconds_of
from ragstone.labels.records import Label, LabelItem, Marked
from ragstone.labels.tasks import Task
from ragstone.structs import from_json

COLUMNS = (
    "item", "task", "expert", "label", "comment", "marks", "seconds", "when", "adjudicated", "question_id", "question",
    "answer", "answer_2", "references", "passages",
)  # fmt: skip
"""Columns of a table of labels. To import one, `item` (or `id`, that of the question), `task`, `expert` and `label` are
enough."""
TYPED = ("expert", "comment")
"""The columns of texts that people typed, and that an import reads."""
_FORMULA = ("'", "=", "+", "-", "@", "＝", "＋", "－", "＠")


def rows_of(item: LabelItem, task: Task, labels: Iterable[Label], expert: str = "") -> Iterator[dict[str, Any]]:
    """The rows of an item: one for each label, or an empty one to be filled in, by this expert."""
    about = {
        "question_id": item.sample_id, "question": item.question, "answer": item.answers[0] if item.answers else "",
        "answer_2": item.answers[1] if len(item.answers) > 1 else "",
        "references": [list(slot) for slot in item.references] if "references" in task.shows else [],
        "passages": [passage.text for passage in item.passages] if "passages" in task.shows else [],
    }  # fmt: skip
    empty: dict[str, Any] = {"label": "", "comment": "", "marks": [], "seconds": None, "when": "", "adjudicated": False}
    found = False
    for label in labels:
        found = True
        marks = [
            {"start": span.start, "end": span.end, "answer": span.answer, "text": span.text} for span in label.spans
        ]
        yield {"item": item.id, "task": task.name, "expert": label.expert, "label": label.value,
               "comment": label.comment, "marks": marks, "seconds": label.seconds, "when": iso(label.when),
               "adjudicated": label.adjudicated, **about}  # fmt: skip
    if not found:
        yield {"item": item.id, "task": task.name, "expert": expert, **empty, **about}


def from_row(row: Mapping[str, Any], where: str, expert: str = "") -> Label | None:
    """The label of a row; None where none is filled in. `expert`: whose labels these are where the row does not say.
    Raises UsageError."""
    value = row.get("label", row.get("value"))
    if value is None or not str(value).strip():
        return None
    item, task = _text(row, "item") or _text(row, "id") or _text(row, "question_id"), _text(row, "task")
    name = _text(row, "expert") or expert
    missing = [key for key, text in (("item", item), ("task", task), ("expert", name)) if not text]
    if missing:
        advice = " Add --as NAME." if missing == ["expert"] else ""
        raise UsageError(f"{where} has a label but no {' and no '.join(missing)}.{advice}")
    comment = str(row.get("comment") or "")
    return Label(
        item, task, name, str(value), _marks(row.get("marks", row.get("spans")), where), comment,
        _seconds(row.get("seconds"), where), seconds_of(row.get("when"), f"{where}: "),
        str(row.get("adjudicated") or "").strip().lower() in ("1", "true", "yes"),
    )  # fmt: skip


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return "" if value is None else str(value).strip()


def unguarded(text: str) -> str:
    """The text of a cell without the apostrophe by which an export keeps a spreadsheet from running it."""
    return text[1:] if text[:1] == "'" and text[1:].lstrip()[:1] in _FORMULA else text


def _seconds(value: Any, where: str) -> float | None:
    if value in (None, ""):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{where}: seconds {str(value)[:40]!r} is no number.") from None


def _marks(value: Any, where: str) -> tuple[Marked, ...]:
    try:
        marks = json.loads(value) if isinstance(value, str) and value.strip() else value or []
        return tuple(from_json(json.dumps(mark), Marked) for mark in marks)
    except (ValueError, TypeError, RecursionError):
        raise UsageError(f"{where}: the marks cannot be read; expected a list of objects with start and end.") from None
