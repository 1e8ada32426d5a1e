"""The file of labels: one SQLite file that several experts, processes and imports write to, and that loses nothing.

Every label is a version. When a method has returned, its effect is on the disk."""

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from ragstone.errors import UnknownName, UsageError
from ragstone.labels.file import CURRENT
from ragstone.labels.gold import GoldStore
from ragstone.labels.records import (
    Assigned,
    Kind,
    Label,
    LabelItem,
    Origin,
    Progress,
    checked_name,
)  # fmt: skip
from ragstone.labels.tasks import Task
from ragstone.structs import to_json

_KIND_ORDER = "CASE i.kind WHEN 'answer' THEN 0 WHEN 'pair' THEN 1 WHEN 'passage' THEN 2 ELSE 3 END"


class LabelStore(GoldStore):
    """An open file of labels: its round, and the versions of its labels.

    Work is either assigned to a team of named experts (`assign`), or everybody who asks for work (`next_item`) gets
    what still lacks labels."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._known: dict[str, Task] = {}

    # Setting up a round.

    def add_tasks(self, tasks: Iterable[Task]) -> None:
        """Adds these tasks after those that are there. One that is there keeps its texts, unless its choices changed,
        which is refused with UsageError: labels of two scales would be mixed."""
        for task in tasks:
            with self._writing():
                known = {old.name: old for old in self.tasks()}
                if (old := known.get(task.name)) is None:
                    self._run("INSERT INTO tasks (name, payload) VALUES (?, ?)", (task.name, to_json(task)))
                elif old.choices != task.choices:
                    raise UsageError(
                        f"{self.path}: the task {task.name} had other choices ({', '.join(_values(old))}; now "
                        f"{', '.join(_values(task))}). Use a new file of labels, or give the rubric another name."
                    )

    def tasks(self) -> tuple[Task, ...]:
        """The tasks, in the order in which they were added."""
        rows = self._rows("SELECT payload FROM tasks ORDER BY place")
        return tuple(self._decoded(payload, Task, "a task") for (payload,) in rows)

    def task(self, name: str) -> Task:
        """A task by its name. Raises UnknownName."""
        if name not in self._known:
            self._known = {task.name: task for task in self.tasks()}
        if name not in self._known:
            raise UnknownName("task in this file", name, self._known)
        return self._known[name]

    def add_items(self, items: Iterable[tuple[LabelItem, Origin, str]]) -> int:
        """Adds items, each with its origin and its place (a text by which they are sorted); returns how many are new.
        An item that is there stays as it is."""
        with self._writing():
            before = self._connection.total_changes
            self._many(
                "INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?, ?)",
                ((item.id, item.kind, place, to_json(item), to_json(origin)) for item, origin, place in items),
            )
            return self._connection.total_changes - before

    def add_experts(self, names: Iterable[str]) -> None:
        """Adds experts. Raises UsageError for a name that cannot be one."""
        rows = [(checked_name(name), time.time()) for name in names]
        with self._writing():
            self._many("INSERT OR IGNORE INTO experts VALUES (?, ?)", rows)

    def experts(self) -> tuple[str, ...]:
        """Everybody who was named or has given a label, sorted."""
        return tuple(str(name) for (name,) in self._rows("SELECT name FROM experts ORDER BY name"))

    def assign(self, rows: Iterable[tuple[str, str, str]]) -> None:
        """Assigns work: (task, item id, expert). What is assigned stays. From now on experts get assigned work only."""
        with self._writing():
            self._many("INSERT OR IGNORE INTO assignments VALUES (?, ?, ?)", rows)
            self._run("INSERT OR REPLACE INTO meta VALUES ('team', 'true')")

    def assigned(self, task: str) -> dict[str, tuple[str, ...]]:
        """Item id → the experts who have it, or have a label on it."""
        rows = self._rows(
            "SELECT item, expert FROM assignments WHERE task = ?1 UNION SELECT item, expert FROM labels"
            " WHERE task = ?1 AND adjudicated = 0 AND undoes IS NULL ORDER BY 1, 2",
            (task,),
        )
        found: dict[str, tuple[str, ...]] = {}
        for item, expert in rows:
            found[item] = (*found.get(item, ()), expert)
        return found

    def set(self, key: str, value: Any) -> None:
        """Keeps a setting of the round."""
        with self._writing():
            self._run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, to_json(value)))

    def get(self, key: str, default: Any = None) -> Any:
        """A setting of the round."""
        rows = self._rows("SELECT value FROM meta WHERE key = ?", (key,))
        return self._decoded(rows[0][0], object, f"the setting {key!r}") if rows else default

    # Labelling.

    def next_item(self, expert: str, *tasks: str, skip: Collection[tuple[str, str]] = ()) -> Assigned | None:
        """The next item of this expert, of these tasks or of all; None if nothing is left. `skip`: (item id, task) that
        the expert put off. Without a team, this call assigns an item that lacks labels."""
        checked_name(expert)
        wanted = tasks or tuple(known.name for known in self.tasks())
        put_off = {*skip}
        with self._lock:
            if (found := self._first(_ASSIGNED, expert, wanted, put_off)) is not None or self.get("team"):
                return found
        with self._writing():
            found = self._first(f"SELECT i.id, t.name {_OPEN} {_ORDER}", expert, wanted, put_off, self._per_item)
            if found is not None:
                self._run("INSERT OR IGNORE INTO experts VALUES (?, ?)", (expert, time.time()))
                self._run("INSERT OR IGNORE INTO assignments VALUES (?, ?, ?)", (found.task, found.item.id, expert))
            return found

    def _first(
        self, query: str, expert: str, tasks: Sequence[str], skip: Collection[tuple[str, str]], *more: int
    ) -> Assigned | None:
        rows = self._rows(
            query, (expert, json.dumps(tasks), json.dumps([f"{task}\n{item}" for item, task in skip]), *more)
        )
        return Assigned(self.item(rows[0][0]), str(rows[0][1])) if rows else None

    def work(self, expert: str, task: str | None = None) -> tuple[tuple[str, str, bool], ...]:
        """Items that this expert has been given or has labelled, of one task or of all, in the order of the round: item
        id, task, and whether a label stands."""
        wanted = [task] if task else [known.name for known in self.tasks()]
        rows = self._rows(_WORK, (expert, json.dumps(wanted)))
        return tuple((str(item), str(name), bool(labelled)) for item, name, labelled in rows)

    def size(self, task: str) -> int:
        """The number of items of a task."""
        return int(self._rows("SELECT count(*) FROM items WHERE kind = ?", (self.task(task).kind,))[0][0])

    def put(self, label: Label, *, uid: str = "") -> int:
        """Writes a label as the newest version of this expert on this item and task; returns its version, that of the
        same label if it is there already. `uid`: by which it is known again, by default `Label.uid`. Raises UsageError
        for an unknown item, task or value."""
        item = self.item(label.item)
        task = self.task(label.task)
        task.choice(label.value)
        if task.kind != item.kind:
            raise UsageError(f"The task {task.name} is about another kind of item than {item.id} ({item.kind}).")
        label = label.checked(item)
        if not label.when:
            label = replace(label, when=round(time.time(), 3))
        with self._writing():
            if known := self._rows("SELECT version FROM labels WHERE uid = ?", (uid or label.uid,)):
                return int(known[0][0])
            self._run("INSERT OR IGNORE INTO experts VALUES (?, ?)", (label.expert, time.time()))
            return self._insert(label, uid=uid)

    def _insert(self, label: Label, undoes: int | None = None, uid: str = "") -> int:
        row = (uid or label.uid, label.item, label.task, label.expert, int(label.adjudicated), undoes)
        cursor = self._run(
            "INSERT INTO labels (uid, item, task, expert, adjudicated, undoes, payload) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*row, to_json(replace(label, version=0))),
        )
        return int(cursor.lastrowid or 0)

    def undo(self, expert: str) -> Label | None:
        """Undoes the newest label of this expert that is not undone, by a version that says so; returns it, or None if
        there is none. What this expert had said before about the item stands again, and an edit of its question that
        came with the label is taken back."""
        with self._writing():
            rows = self._rows(
                "SELECT l.version, l.payload FROM labels l WHERE l.expert = ? AND l.undoes IS NULL AND NOT EXISTS"
                " (SELECT 1 FROM labels u WHERE u.undoes = l.version) ORDER BY l.version DESC LIMIT 1",
                (expert,),
            )
            if not rows:
                return None
            label = self._label(*rows[0])
            self._insert(replace(label, when=round(time.time(), 3)), label.version, f"undo {label.version}")
            if self.task(label.task).choice(label.value).edits:
                self._take_back(self.item(label.item).sample_id, expert, label.when)
            return label

    def progress(self) -> tuple[Progress, ...]:
        """Progress of each expert in each task. Without a team, the total is what the expert has done or may still
        get."""
        done: dict[tuple[str, str], tuple[int, float]] = {}
        total: dict[tuple[str, str], int] = {}
        with self._lock:
            for task, expert, count, seconds in self._rows(_DONE):
                done[task, expert] = (count, float(seconds or 0.0))
            for task, expert, count in self._rows("SELECT task, expert, count(*) FROM assignments GROUP BY 1, 2"):
                total[task, expert] = count
            if not self.get("team"):
                for expert in self.experts():
                    values = (expert, json.dumps([task.name for task in self.tasks()]), "[]", self._per_item)
                    for task, count in self._rows(_LEFT, values):
                        total[task, expert] = count + done.get((task, expert), (0, 0.0))[0]
        order = {task.name: place for place, task in enumerate(self.tasks())}
        keys = sorted(total.keys() | done.keys(), key=lambda key: (order.get(key[0], 0), key))
        rows = ((key, *done.get(key, (0, 0.0))) for key in keys)
        return tuple(Progress(*key, count, max(total.get(key, 0), count), seconds) for key, count, seconds in rows)

    @property
    def _per_item(self) -> int:
        number = self.get("per_item", 1)
        return number if isinstance(number, int) else 1

    # Reading.

    def items(self, task: str | None = None) -> Iterator[LabelItem]:
        """All items in the order of the round, or those of a task's kind; with the edits of their questions."""
        kinds = [self.task(task).kind] if task else [*get_args(Kind)]
        query = "SELECT payload FROM items i WHERE kind IN (SELECT value FROM json_each(?))"
        for (payload,) in self._rows(f"{query} ORDER BY {_KIND_ORDER}, place, id", (json.dumps(kinds),)):
            yield self._shown(self._decoded(payload, LabelItem, "an item"))

    def item(self, item_id: str) -> LabelItem:
        """An item by its id. Raises UsageError."""
        rows = self._rows("SELECT payload FROM items WHERE id = ?", (item_id,))
        if not rows:
            raise UsageError(f"{self.path} has no item {item_id[:60]!r}.")
        return self._shown(self._decoded(rows[0][0], LabelItem, f"the item {item_id}"))

    def origins(self) -> dict[str, Origin]:
        """Item id → where it is from. Not for the eyes of experts."""
        rows = self._rows("SELECT id, origin FROM items")
        return {str(item): self._decoded(payload, Origin, "an origin") for item, payload in rows}

    def labels(self, task: str | None = None, *, expert: str | None = None) -> tuple[Label, ...]:
        """The labels that stand: of each expert on each item and task the last version that is not undone."""
        rows = self._rows(
            f"SELECT version, payload FROM labels WHERE version IN ({CURRENT} AND (?1 IS NULL OR l.task = ?1)"
            " AND (?2 IS NULL OR l.expert = ?2) GROUP BY l.item, l.task, l.expert, l.adjudicated) ORDER BY version",
            (task, expert),
        )
        return tuple(self._label(*row) for row in rows)

    def history(self, item_id: str) -> tuple[tuple[Label, int | None], ...]:
        """Every version of the labels on an item, oldest first, with the version that it undoes, or None."""
        rows = self._rows("SELECT version, payload, undoes FROM labels WHERE item = ? ORDER BY version", (item_id,))
        return tuple((self._label(version, payload), undoes) for version, payload, undoes in rows)

    def knows(self, uid: str) -> bool:
        """True if a label with this `uid` was ever written."""
        return bool(self._rows("SELECT 1 FROM labels WHERE uid = ?", (uid,)))

    def _label(self, version: int, payload: object) -> Label:
        return replace(self._decoded(payload, Label, "a label"), version=version)

    def _shown(self, item: LabelItem) -> LabelItem:
        """The item with the question, the references and the mark as edited."""
        for edit in self.edits(item.sample_id):
            item = replace(item, **edit.texts)
            if edit.answerable is not None:
                item = replace(item, answerable=edit.answerable)
        return item


def _values(task: Task) -> list[str]:
    return [choice.value for choice in task.choices]


_UNLABELLED = """NOT EXISTS (
    SELECT 1 FROM labels l WHERE l.item = i.id AND l.task = t.name AND l.expert = ?1 AND l.adjudicated = 0
    AND l.undoes IS NULL AND NOT EXISTS (SELECT 1 FROM labels u WHERE u.undoes = l.version)
)"""
_WANTED = """t.name IN (SELECT value FROM json_each(?2))
AND t.name || char(10) || i.id NOT IN (SELECT value FROM json_each(?3))"""
_ORDER = f"ORDER BY {_KIND_ORDER}, i.place, i.id, t.place LIMIT 1"
_ASSIGNED = f"""
SELECT i.id, t.name FROM assignments a JOIN items i ON i.id = a.item JOIN tasks t ON t.name = a.task
WHERE a.expert = ?1 AND {_WANTED} AND {_UNLABELLED} {_ORDER}
"""
# An item that fewer other experts than ?4 have, or have a label on.
_OPEN = f"""
FROM items i JOIN tasks t ON i.kind = json_extract(t.payload, '$.kind')
WHERE {_WANTED} AND {_UNLABELLED} AND (
    SELECT count(DISTINCT expert) FROM (
        SELECT expert FROM assignments WHERE task = t.name AND item = i.id AND expert <> ?1
        UNION ALL SELECT expert FROM labels WHERE task = t.name AND item = i.id AND expert <> ?1 AND adjudicated = 0
    )
) < ?4
"""
_LEFT = f"SELECT t.name, count(*) {_OPEN} GROUP BY t.name"
_DONE = f"""
SELECT task, expert, count(*), sum(json_extract(payload, '$.seconds')) FROM labels
WHERE version IN ({CURRENT} GROUP BY l.item, l.task, l.expert, l.adjudicated) AND adjudicated = 0 GROUP BY 1, 2
"""
_WORK = f"""
SELECT i.id, t.name, NOT {_UNLABELLED} AS labelled
FROM items i JOIN tasks t ON i.kind = json_extract(t.payload, '$.kind')
WHERE t.name IN (SELECT value FROM json_each(?2)) AND (labelled OR EXISTS (
    SELECT 1 FROM assignments a WHERE a.task = t.name AND a.item = i.id AND a.expert = ?1
)) {_ORDER.removesuffix(" LIMIT 1")}
"""
