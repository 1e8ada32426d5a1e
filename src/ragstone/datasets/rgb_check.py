"""Checks RGB files: everything that is wrong with them, not only the first thing, and what weakens a measurement.

An error is what keeps a file from being read. A warning is about a file that can be read: a question that has too few
documents, a "positive" document without the answer, a "negative" one that has it. Aliases are looked for as the
official scoring does, lower-cased anywhere in a text, so that a warning says what that scoring would count.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from ragstone.datasets.jsonlines import Line, json_lines
from ragstone.datasets.rgb import Kind, RGBRow, kind_of_rows, name_of, official_kind, read_row, rgb_files
from ragstone.errors import DataError
from ragstone.structs import Frozen

PASSAGES = 5
"""Documents that the paper shows with each question."""

_NAMED = 8  # places that a warning names


class DataProblem(Frozen, frozen=True):
    """What is wrong. `line` counts from 1 (0: the file as a whole); `field` is the name in the row ("": all of it)."""

    path: str
    line: int
    field: str
    problem: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        where = (
            self.path + (f", line {self.line}" if self.line else "") + (f", field {self.field!r}" if self.field else "")
        )
        return f"{self.severity}: {where}: {self.problem}"


def check_rgb(paths: Iterable[str | Path]) -> list[DataProblem]:
    """Every problem of these files, and of the RGB files in these folders, by file and line. [] where all is well."""
    problems: list[DataProblem] = []
    for given in map(Path, paths):
        try:
            files = list(rgb_files(given).values()) if given.is_dir() else [given]
        except DataError as error:
            problems.append(_from(error))
            continue
        if not files:
            problems.append(
                DataProblem(str(given), 0, "", "holds no RGB file (*.json or *.jsonl, one JSON object a line).")
            )
        for path in files:
            problems.extend(_check_file(path))
    return problems


def _check_file(path: Path) -> Iterator[DataProblem]:
    try:
        lines = list(json_lines(path))
    except DataError as error:
        yield _from(error)
        return
    if not lines:
        yield DataProblem(str(path), 0, "", "has no rows; expected one JSON object a line.")
    kind = official_kind(name_of(path)) or kind_of_rows(line.row for line in lines if line.row is not None)
    first_lines: dict[tuple[type, object], int] = {}
    for line in lines:
        yield from _check_line(str(path), line, kind, first_lines)


def _check_line(
    path: str, line: Line, kind: Kind, first_lines: dict[tuple[type, object], int]
) -> Iterator[DataProblem]:
    if line.row is None:
        yield DataProblem(path, line.number, "", line.problem)
        return
    row, faults = read_row(line.row, kind)
    for fault in faults:
        yield DataProblem(path, line.number, fault.field, fault.problem)
    row_id = line.row.get("id")
    if isinstance(row_id, (int, str)) and not isinstance(row_id, bool):
        first = first_lines.setdefault((type(row_id), row_id), line.number)
        if first != line.number:
            yield DataProblem(path, line.number, "id", f"{row_id!r} is the id of line {first} too.")
    if row is not None:
        for field, warning in _warnings(row, kind):
            yield DataProblem(path, line.number, field, warning, "warning")


def _warnings(row: RGBRow, kind: Kind) -> Iterator[tuple[str, str]]:
    """(field, what weakens a measurement with this question)."""
    if any(not alias.strip() for slot in row.slots for alias in slot):
        yield "answer", "an alias is empty: the official scoring finds it in every answer."
    yield from _few(row, kind)
    groups = row.positive
    for place, group in enumerate(groups):
        if kind == "integration" and not group:
            yield "positive", f"group {place} has no documents: this part of the question cannot be answered."
        without = [_place(place, i, kind) for i, text in enumerate(group) if not _holds_any(text, row.slots)]
        if without:
            yield "positive", f"{_count(without, 'document')} without any alias of the answer: {_listed(without)}."
    holding = [str(i) for i, text in enumerate(row.negative) if _holds_all(text, row.slots)]
    if holding:
        yield "negative", f"{_count(holding, 'document')} with the answer: {_listed(holding)}."
    if kind == "counterfactual":
        yield from _false(row)


def _few(row: RGBRow, kind: Kind) -> Iterator[tuple[str, str]]:
    positives = sum(map(len, row.positive))
    if positives < PASSAGES:
        shown = "positive_wrong" if kind == "counterfactual" else "positive"
        yield shown, f"has {positives}, fewer than the {PASSAGES} documents that are shown without noise."
    if kind == "base" and len(row.negative) < PASSAGES:
        yield "negative", f"has {len(row.negative)}, fewer than the {PASSAGES} documents that are shown for rejection."


def _false(row: RGBRow) -> Iterator[tuple[str, str]]:
    if not row.fake:
        yield "fakeanswer", "is missing: nobody can see which answer is the false one."
    for fake in row.fake:
        if _holds_all(fake, row.slots):
            yield "fakeanswer", f"{fake!r} contains the true answer: repeating it counts as stating the true one."
    still = [str(i) for i, text in enumerate(row.positive_wrong) if _holds_all(text, row.slots)]
    if still:
        yield "positive_wrong", f"{_count(still, 'document')} that still holds the true answer: {_listed(still)}."
    if row.fake:
        lacking = [str(i) for i, text in enumerate(row.positive_wrong) if not _holds_any(text, (row.fake,))]
        if lacking:
            yield "positive_wrong", f"{_count(lacking, 'document')} without the false answer: {_listed(lacking)}."


def _holds_any(text: str, slots: Sequence[Sequence[str]]) -> bool:
    lowered = text.lower()
    return any(alias.lower() in lowered for slot in slots for alias in slot)


def _holds_all(text: str, slots: Sequence[Sequence[str]]) -> bool:
    lowered = text.lower()
    return all(any(alias.lower() in lowered for alias in slot) for slot in slots)


def _place(group: int, index: int, kind: Kind) -> str:
    return f"{group}:{index}" if kind == "integration" else str(index)


def _count(places: Sequence[str], noun: str) -> str:
    return f"{len(places)} {noun}{'' if len(places) == 1 else 's'}"


def _listed(places: Sequence[str]) -> str:
    return ", ".join(places[:_NAMED]) + (", …" if len(places) > _NAMED else "")


def _from(error: DataError) -> DataProblem:
    """A file that cannot be read at all."""
    message = str(error).removeprefix(f"{error.path}: ")
    return DataProblem(error.path, error.line, error.field, message)
