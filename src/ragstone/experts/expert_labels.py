"""Labels of experts, read from a table or from a file of labels (`ragstone annotate`)."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from ragstone.datasets.tabular.rows import Rows
from ragstone.datasets.tabular.sources import open_source
from ragstone.errors import DataError, UsageError
from ragstone.labels import LabelStore, Origin
from ragstone.labels.items import RECORDED
from ragstone.labels.sampling import NOT_RANDOM
from ragstone.structs import to_json

ByTask: TypeAlias = dict[str, dict[str, dict[str, float]]]

_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0, "是": 1.0, "否": 0.0, "对": 1.0, "错": 0.0}
_BLANK = ("", "cannot tell", "cannot_tell", "n/a", "无法判断")
_NO_TASK = ("id", "expert", "comment", "seconds", "system")
_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True)
class ExpertLabels:
    """Labels by task, question and expert, from 0 to 1. `settled`: task → question → the label that settles a dispute.
    `comments`: task → question → what the experts said. `picked`: items were not drawn at
    random, but as the most doubtful or in the viewer.
    `sha256`: of the file or of the rows."""

    name: str
    by_task: Mapping[str, Mapping[str, Mapping[str, float]]]
    settled: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    comments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    picked: bool = False
    sha256: str = ""

    def means(self, task: str) -> dict[str, float]:
        """The label of each question: the settled one, else the mean of its labels."""
        return {
            item: self.settled.get(task, {}).get(item, math.fsum(values.values()) / max(1, len(values)))
            for item, values in self.by_task[task].items()
            if values or item in self.settled.get(task, {})
        }


def read_labels(
    labels: str | Path | Sequence[Mapping[str, Any]], scale: tuple[float, float] = (0.0, 1.0), *, system: str = "",
    source: str = "",
) -> ExpertLabels:  # fmt: skip
    """The labels of a table, of rows, or of a file that `ragstone annotate` made. `system`: of several, whose answers
    these are. `source`: the id of the run that they are about: where some are of this run, others do not count.
    Raises UsageError and DataError."""
    if isinstance(labels, str | Path) and _is_store(Path(labels)):
        return _of_store(Path(labels), system, source)
    low, high = scale
    if not low < high:
        raise UsageError(f"The scale {low:g}..{high:g} should go from the lowest to the highest label.")
    name = str(labels) if isinstance(labels, str | Path) else "the labels"
    table: ByTask = defaultdict(lambda: defaultdict(dict))
    comments: dict[str, dict[str, str]] = defaultdict(dict)
    for data_row in Rows(open_source(labels)).take():
        row, where = data_row.cells, data_row.where
        if data_row.problem:
            raise DataError(name, f"{where}: {data_row.problem}")
        if system and str(row.get("system") or system) != system:
            continue
        item, expert = _text(row, "id", where, name), _text(row, "expert", where, name)
        for task, value in _tasks(row):
            number = _number(value, where, name)
            if number is None:
                table[task][item]
                continue
            if not low <= number <= high:
                raise DataError(name, f"{where}: the label {value!r} is outside of {low:g}..{high:g}; set the scale.")
            table[task][item][expert] = (number - low) / (high - low)
            if row.get("comment"):
                comments[task][item] = str(row["comment"])
    if not any(values for items in table.values() for values in items.values()):
        raise UsageError(
            f"{name} has no label. Expected columns: id, expert, and task and label, or a column per task."
        )
    return ExpertLabels(name, table, {}, comments, sha256=_hash(labels, table))


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False  # reported when it is read


def _of_store(path: Path, system: str, source: str) -> ExpertLabels:
    """The labels in a file of labels: of the answers of a `system`; without one, also those of passages and of pairs,
    which are about no metric's score."""
    table: ByTask = defaultdict(lambda: defaultdict(dict))
    settled: dict[str, dict[str, float]] = defaultdict(dict)
    comments: dict[str, dict[str, str]] = defaultdict(dict)
    with LabelStore.open(path, write=False) as store:
        origins, tasks = store.origins(), {task.name: task for task in store.tasks()}
        known = any(origin.source == source for origin in origins.values())
        systems = {origin.systems for origin in origins.values() if len(origin.systems) == 1}
        drawn = set()
        for label in store.labels():
            origin, task = origins[label.item], tasks.get(label.task)
            if task is None or (known and origin.source != source):
                continue
            if system and origin.systems not in ((system,), (RECORDED,)):
                continue
            item = _name(origin, several=len(systems) > 1 and not system)
            drawn.add(origin.drawn)
            number = task.choice(label.value).number
            if number is None:
                table[task.name][item]
                continue
            low, high = task.scale
            value = (number - low) / (high - low)
            if label.adjudicated:
                settled[task.name][item] = value
            else:
                table[task.name][item][label.expert] = value
            if label.comment:
                comments[task.name][item] = label.comment
    if not table:
        raise UsageError(f"{path} has no label{f' of an answer of {system}' if system else ''} yet.")
    content = sha256(to_json([table, settled]).encode()).hexdigest()
    return ExpertLabels(str(path), table, settled, comments, not NOT_RANDOM.isdisjoint(drawn), content)


def _name(origin: Origin, *, several: bool) -> str:
    """The name of an item for those who read the figures: its question, with the passage or the systems if needed."""
    if origin.passage or not origin.systems:
        return f"{origin.sample_id} · {origin.passage}"
    return (
        f"{', '.join(origin.systems)}: {origin.sample_id}" if several or len(origin.systems) > 1 else origin.sample_id
    )


def _hash(labels: Any, table: ByTask) -> str:
    if isinstance(labels, str | Path) and Path(labels).is_file():
        return sha256(Path(labels).read_bytes()).hexdigest()
    return sha256(to_json(table).encode()).hexdigest()


def _text(row: Mapping[str, Any], column: str, where: str, name: str) -> str:
    value = row.get(column)
    if value in (None, ""):
        raise DataError(name, f"{where} has no {column}; expected columns: id, expert, and task and label.")
    return str(value)


def _tasks(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if "task" in row and "label" in row:
        yield str(row["task"]), row["label"]
        return
    yield from ((key, value) for key, value in row.items() if key not in _NO_TASK)


def _number(value: Any, where: str, name: str) -> float | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in _BLANK):
        return None
    known = _WORDS.get(str(value).strip().lower())
    try:
        number = float(value) if known is None else known
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DataError(name, f"{where}: the label {str(value)[:40]!r} is neither yes or no nor a number.")
    return number
