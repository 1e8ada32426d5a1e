"""Labels as Argilla's JSON of records (`Dataset.records.to_json`, Argilla 2): a list of objects with `id`, `fields`,
`metadata`, `suggestions`, `responses`, `vectors` and `_server_id`.

A record is an item. Its responses are, by question, lists of `value` and `user_id`: the label under the name of the
task (`rubric.tone` as `rubric-tone`), the comment under it with `-comment`, marked parts with `-marks`. Argilla's
users are UUIDs: those of experts here are made from their names."""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragstone.labels.exchange import objects, shown_texts, slug
from ragstone.labels.records import Label, LabelItem, Marked
from ragstone.labels.tasks import Task

_NAMESPACE = uuid.UUID("6d0f5f8e-2f6b-5a67-9c39-0f0c9b1b9e55")
_COMMENT, _MARKS = "-comment", "-marks"
_LABELS = ("marked", "marked_2")  # of the first answer, and of the second


def user_id(expert: str) -> str:
    """The UUID that stands for an expert in an export."""
    return str(uuid.uuid5(_NAMESPACE, expert.encode("utf-8", "backslashreplace").decode("utf-8")))


def is_record(row: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a record of Argilla."""
    return isinstance(row.get("fields"), Mapping) and isinstance(row.get("responses"), Mapping)


def record_of(item: LabelItem, labels: Iterable[tuple[Task, Label]]) -> dict[str, Any]:
    """The record of an item, with the labels on it as responses."""
    responses: dict[str, list[dict[str, Any]]] = {}
    for task, label in labels:
        if label.adjudicated:
            continue  # Argilla has one response of a user
        name, user = slug(task.name), user_id(label.expert)
        marks = [{"start": span.start, "end": span.end, "label": _LABELS[span.answer]} for span in label.spans]
        for question, value in ((name, label.value), (name + _COMMENT, label.comment), (name + _MARKS, marks)):
            if value:
                responses.setdefault(question, []).append({"value": value, "user_id": user})
    return {"id": item.id, "fields": shown_texts(item), "metadata": {"question_id": item.sample_id}, "suggestions": {},
            "responses": responses, "vectors": {}, "_server_id": None}  # fmt: skip


def from_record(row: Mapping[str, Any], experts: Sequence[str] = ()) -> Iterator[Label]:
    """The labels of a record. `experts`: names whose UUIDs are known; other users keep theirs."""
    names = {user_id(expert): expert for expert in experts}
    item = str(row.get("id") or "")
    answers = {str(name): value for name, value in row["responses"].items()}
    for question, given in answers.items():
        if question.endswith((_COMMENT, _MARKS)):
            continue
        for response in objects(given):
            user, value = str(response.get("user_id") or ""), response.get("value")
            if user and isinstance(value, str | int | float):
                comment = _of_user(answers.get(question + _COMMENT), user)
                marks = _of_user(answers.get(question + _MARKS), user)
                comment = comment if isinstance(comment, str) else ""
                yield Label(item, question, names.get(user, user), str(value), _marks(marks), comment)


def _of_user(given: Any, user: str) -> Any:
    return next((response.get("value") for response in objects(given) if str(response.get("user_id")) == user), None)


def _marks(value: Any) -> tuple[Marked, ...]:
    return tuple(
        Marked(mark["start"], mark["end"], "", int(mark.get("label") == _LABELS[1]))
        for mark in objects(value)
        if isinstance(mark.get("start"), int) and isinstance(mark.get("end"), int)
    )
