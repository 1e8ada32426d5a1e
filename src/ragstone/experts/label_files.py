"""`export_labels` and `import_labels_of`: rounds of labels as CSV, JSON lines, JSON of Label Studio, and as a form to
fill in."""

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragstone.datasets.tabular.rows import Rows
from ragstone.datasets.tabular.sources import open_source
from ragstone.engine.public_functions import public
from ragstone.errors import DataError, UnknownName, UsageError
from ragstone.labels import Label, LabelItem, LabelStore, Task
from ragstone.labels.exchange import Imported, exported, import_labels
from ragstone.labels.label_studio import config_of, from_task, is_task, task_of
from ragstone.labels.tables import COLUMNS, TYPED, from_row, rows_of, unguarded
from ragstone.optional import load
from ragstone.report.records_table import guarded
from ragstone.report.sanitize import readable
from ragstone.storage import write_file
from ragstone.structs import to_json

_SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".json": "label-studio", ".html": "form"}


@public
def export_labels(
    store: LabelStore, target: str | Path, kind: str = "", *, tasks: Sequence[str] = (), expert: str | None = None,
    language: str = "en", force: bool = False,
) -> list[Path]:  # fmt: skip
    """Writes the items of a round, with the labels that stand on them, and returns the paths written. `kind`: one of
    `FORMATS`, by default that of the file's ending. `expert`: only this expert's part. Label Studio also gets the
    interface of its project, as XML; "form" is one HTML page for a colleague to fill in, with what the expert has
    not labelled. Nothing in the file tells a judge's scores or a system's name. Raises UsageError
    for an existing file unless `force`."""
    path = Path(target)
    kind = kind or _SUFFIXES.get(path.suffix.lower(), "")
    if kind not in FORMATS:
        raise UnknownName("format of labels", kind or path.suffix, FORMATS)
    paths = [path, *([path.with_suffix(".xml")] if kind == "label-studio" else [])]
    for one in paths:
        if one.exists() and not force:
            raise UsageError(f"{one} already exists: name another file, or add --force.")
    texts = FORMATS[kind](store, tasks, expert, language)
    return [write_file(one, text, parents=True) for one, text in zip(paths, texts, strict=True)]


@public
def import_labels_of(
    store: LabelStore, source: str | Path, *, expert: str = "", names: Mapping[str, str] | None = None,
    replaces: bool = False,
) -> Imported:  # fmt: skip
    """Reads labels from CSV, JSON lines or JSON, a form filled in offline, or a file of Label Studio.

    `expert`: whose labels these are where the file does not say; `names`: users of another tool →
    names of experts. A label that contradicts the expert's own is told and left out, unless it is newer or `replaces`.
    Raises DataError and UsageError."""
    known, rows = names or {}, count()
    read = _read(Path(source), expert, rows)
    labels = ((where, replace(label, expert=known.get(label.expert, label.expert))) for where, label in read)
    done = import_labels(store, labels, source=Path(source).name, replaces=replaces)
    return dataclasses.replace(done, rows=next(rows))


def _read(path: Path, expert: str, rows: "count[int]") -> Iterator[tuple[str, Label]]:
    """The labels of a file, each with its place there; `rows` counts its rows."""
    raw = open_source(path, known=COLUMNS)
    for row in Rows(raw).take():
        next(rows)
        if row.problem:
            raise DataError(path, f"{row.where}: {row.problem}")
        cells = row.cells
        if raw.sparse:  # a sheet
            cells |= {name: unguarded(str(cells[name])) for name in TYPED if cells.get(name)}
        try:
            yield from _labels(cells, row.where, expert)
        except UsageError as error:
            raise DataError(path, str(error)) from error


def _labels(cells: dict[str, Any], where: str, expert: str) -> Iterator[tuple[str, Label]]:
    if is_task(cells):
        yield from ((where, label) for label in from_task(cells, where))
    elif isinstance(cells.get("labels"), list) and "format" in cells:  # a form filled in offline
        for number, label in enumerate(cells["labels"], 1):
            if isinstance(label, Mapping):
                place = f"label {number}"
                if found := from_row({"expert": cells.get("expert"), **label}, place, expert):
                    yield place, found
    elif "label" in cells or "value" in cells:
        if found := from_row(cells, where, expert):
            yield where, found
    else:
        raise UsageError(
            f"{where} has no label; expected the columns {', '.join(COLUMNS[:4])}, or JSON of Label Studio."
        )


def _csv(store: LabelStore, tasks: Sequence[str], expert: str | None, language: str) -> list[str]:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for row in _rows(store, tasks, expert):
        writer.writerow([_typed(row[column]) if column in TYPED else _cell(row[column]) for column in COLUMNS])
    return ["\ufeff" + stream.getvalue()]  # with its mark spreadsheets read UTF-8


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = readable(json.dumps(value, ensure_ascii=False)) if value else ""
    if isinstance(value, bool):
        return "1" if value else ""
    return guarded(readable(value)) if isinstance(value, str) else value


def _typed(text: str) -> str:
    """A cell that no spreadsheet runs, and that `unguarded` reads back as it was."""
    return f"'{text}" if guarded(text) != text or unguarded(text) != text else text


def _jsonl(store: LabelStore, tasks: Sequence[str], expert: str | None, language: str) -> list[str]:
    return ["".join(f"{to_json(row)}\n" for row in _rows(store, tasks, expert))]


def _rows(store: LabelStore, tasks: Sequence[str], expert: str | None) -> Iterator[dict[str, Any]]:
    for item, task, labels in exported(store, tasks, expert):
        yield from rows_of(item, task, labels, expert or "")


def _label_studio(store: LabelStore, tasks: Sequence[str], expert: str | None, language: str) -> list[str]:
    chosen = [task for task in store.tasks() if not tasks or task.name in tasks]
    if len({task.kind for task in chosen}) > 1:
        names = ", ".join(task.name for task in chosen)
        raise UsageError(f"A project of Label Studio has one interface; {names} need several: choose with --task.")
    found: dict[str, tuple[LabelItem, list[tuple[Task, Label]]]] = {}
    for item, task, labels in exported(store, tasks, expert):
        found.setdefault(item.id, (item, []))[1].extend((task, label) for label in labels)
    document = [task_of(item, labels, number) for number, (item, labels) in enumerate(found.values(), 1)]
    return [to_json(document) + "\n", config_of(chosen, language)]


def _form(store: LabelStore, tasks: Sequence[str], expert: str | None, language: str) -> list[str]:
    module = load("ragstone.report.offline_form", extra="report", purpose="A form to fill in")
    found = exported(store, tasks, expert)
    work = ((item, task) for item, task, labels in found if not (expert and labels))
    return [module.offline_form(work, language=language, expert=expert or "", file=Path(store.path).stem)]


FORMATS: Mapping[str, Callable[[LabelStore, Sequence[str], str | None, str], list[str]]] = {
    "csv": _csv, "jsonl": _jsonl, "label-studio": _label_studio, "form": _form,
}  # fmt: skip
"""Format → what writes it: the texts of its files."""
