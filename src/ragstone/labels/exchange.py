"""Labels out of a store and into one: what an export holds, and what an import changes."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from ragstone.errors import UsageError
from ragstone.labels.records import CANNOT_TELL, Label, LabelItem
from ragstone.labels.store import LabelStore
from ragstone.labels.tasks import Task

ANSWERS = ("answer", "answer_2")
"""Names of the two answers of an item in files."""


@dataclass(frozen=True)
class Conflict:
    """A label of the file that differs from the one in the store, which was kept because it is not older."""

    where: str
    item: str
    task: str
    expert: str
    kept: str
    found: str


@dataclass
class Imported:
    """The result of an import: labels `added`, `changed` (newer than those of the store), `unchanged`, and those left
    out: `conflicts`, and `unknown` items or tasks, each with its place in the file. `rows`: how many were read."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    rows: int = 0

    @property
    def labels(self) -> int:
        """The labels of the file."""
        return self.added + self.changed + self.unchanged + len(self.conflicts) + len(self.unknown)


def exported(
    store: LabelStore, tasks: Sequence[str] = (), expert: str | None = None
) -> Iterator[tuple[LabelItem, Task, tuple[Label, ...]]]:
    """Each item of the round with each of its tasks (all, or these), and the labels that stand on it. `expert`: only
    what this expert has, or may still get, and this expert's labels."""
    given: dict[tuple[str, str], list[Label]] = {}
    for label in store.labels():
        if expert is None or label.expert == expert:
            given.setdefault((label.item, label.task), []).append(label)
    chosen = [task for task in store.tasks() if not tasks or task.name in tasks]
    assigned = {task.name: store.assigned(task.name) for task in chosen} if expert and store.get("team") else None
    for item in store.items():
        for task in chosen:
            mine = assigned is None or expert in assigned[task.name].get(item.id, ())
            if task.kind == item.kind and mine:
                yield item, task, tuple(given.get((item.id, task.name), ()))


def import_labels(
    store: LabelStore, labels: Iterable[tuple[str, Label]], *, source: str, replaces: bool = False
) -> Imported:
    """Writes the labels of a file, each with its place there. Its `item` may be the id of a question where that is
    enough, its `task` a name as other tools allow it, its `value` what `value_of` reads.

    One that was ever read before changes nothing, so that a file may be read twice. A label that differs from the
    expert's own in the store becomes a new version if the file says that it is newer, or with `replaces`; otherwise the
    store's is kept and the conflict told. Raises UsageError for a label that cannot be, with its place; labels before
    it are kept."""
    done = Imported()
    items = _Items(store)
    standing = {(label.item, label.task, label.expert, label.adjudicated): label for label in store.labels()}
    for where, found in labels:
        task = items.task(found.task)
        item = items.item(found.item, task) if task is not None else None
        if task is None or item is None:
            done.unknown.append(f"{where}: {found.item} {found.task}")
            continue
        try:
            value = value_of(task, found.value)
            label = replace(found, item=item.id, task=task.name, value=value, source=source).checked(item)
        except UsageError as error:
            raise UsageError(f"{source}, {where}: {error}") from error
        key = (label.item, label.task, label.expert, label.adjudicated)
        old = standing.get(key)
        if store.knows(label.uid) or (old is not None and old.same_as(label)):
            done.unchanged += 1
        elif old is not None and not replaces and label.when <= old.when:
            done.conflicts.append(Conflict(where, label.item, label.task, label.expert, old.value, label.value))
        else:
            store.put(label, uid=label.uid)
            standing[key] = label
            done.added += old is None
            done.changed += old is not None
    return done


class _Items:
    """Finds items by their ids, or by those of their questions."""

    def __init__(self, store: LabelStore) -> None:
        self._tasks = {task.name: task for task in store.tasks()}
        self._tasks |= {slug(name): task for name, task in self._tasks.items()}
        self._items: dict[str, LabelItem] = {}
        self._of_question: dict[tuple[str, str], list[LabelItem]] = {}
        for item in store.items():
            self._items[item.id] = item
            self._of_question.setdefault((item.kind, item.sample_id), []).append(item)

    def task(self, name: str) -> Task | None:
        return self._tasks.get(name)

    def item(self, name: str, task: Task) -> LabelItem | None:
        item = self._items.get(name)
        if item is not None:
            return item if item.kind == task.kind else None
        same = self._of_question.get((task.kind, name), [])
        return same[0] if len(same) == 1 else None


def slug(name: str) -> str:
    """The name of a task as other tools allow it: `rubric-tone`."""
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name.lower())


def value_of(task: Task, text: object) -> str:
    """The value of a choice from what a file says: the value, its key, its title in English or Chinese, or its number.
    Raises UsageError."""
    wanted = str(text).strip().casefold()
    for choice in task.choices:
        names = {choice.value, choice.key, choice.title.en, choice.title.zh, choice.value.replace("_", " ")}
        if wanted and wanted in {name.casefold() for name in names}:
            return choice.value
    if wanted in ("n/a", "-", "无法判断"):
        return CANNOT_TELL
    try:
        number = float(wanted) if wanted not in ("true", "false") else float(wanted == "true")
    except ValueError:
        number = math.nan
    match = next((choice.value for choice in task.choices if choice.number == number), None)
    return match if match is not None else task.choice(str(text)).value


def iso(when: float) -> str:
    """A time as ISO 8601 in UTC; "" for an unknown one."""
    return datetime.fromtimestamp(when, UTC).isoformat().replace("+00:00", "Z") if when else ""


def seconds_of(value: Any, where: str = "") -> float:
    """The time that a file gives, as seconds since 1970: a number, or ISO 8601; 0 for none. Raises UsageError."""
    if value in (None, ""):
        return 0.0
    try:
        if isinstance(value, int | float) or str(value).replace(".", "", 1).isdigit():
            return float(value)
        moment = datetime.fromisoformat(str(value).strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{where}{str(value)[:40]!r} is no time; expected ISO 8601.") from None


def shown_texts(item: LabelItem) -> dict[str, str]:
    """The texts of an item as other tools show them: question, answers, references and passages."""
    return {
        "question": item.question, **dict(zip(ANSWERS, item.answers, strict=False)),
        "references": "; ".join(" / ".join(slot) for slot in item.references),
        "passages": "\n\n".join(f"[{passage.id}] {passage.title}\n{passage.text}" for passage in item.passages),
    }  # fmt: skip


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a JSON list; none of anything else."""
    return [element for element in value if isinstance(element, Mapping)] if isinstance(value, list) else []
