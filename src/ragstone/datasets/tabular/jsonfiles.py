"""Reads JSON lines, and JSON in the layouts of pandas, ragas, RAGChecker and others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragstone.datasets.jsonlines import kind_of, strict_json
from ragstone.datasets.tabular.paths import head_of
from ragstone.datasets.tabular.rows import DataRow, Raw
from ragstone.datasets.tabular.texts import encoding_of
from ragstone.datasets.tabular.words import is_question
from ragstone.errors import DataError
from ragstone.storage import reading

_WRAPPERS = (
    "results", "data", "samples", "rows", "records", "items", "examples", "test_cases", "testCases", "goldens",
    "evaluations", "spans",
)  # fmt: skip
_EXPECTED = "expected a list of objects, one for each row"
_SPACE = " \t\r\n"


def json_rows(path: Path, *, lines: bool, known: Sequence[str] = ()) -> Raw:
    """The rows of a JSON file. `lines`: the file's extension suggests JSON lines, but its content decides. JSON lines
    are streamed. `known`: columns named by the user. Raises DataError."""
    encoding, warning = encoding_of(path)
    raw = Raw(path.name, (), warnings=[warning] if warning else [])
    if _is_lines(path, encoding, lines):
        raw.rows = lines_of_file = _Lines(path, encoding)
        raw.names = lines_of_file.names if path.is_file() else None  # a pipe is read once
        return raw
    with reading(path):
        text = path.read_text(encoding=encoding)
    try:
        value = strict_json(text, constants=True)
    except ValueError as error:
        raise DataError(path, f"{error}; {_EXPECTED}.") from None
    raw.rows = _records(path, value, known, lines=lines)
    if isinstance(value, dict) and "resourceSpans" in value:
        raw.schema = "openinference"
    return raw


def _is_lines(path: Path, encoding: str, expected: bool) -> bool:
    """Whether the file is JSON lines: its first line is a complete object, and another line follows (or one was
    `expected`)."""
    with path.open(encoding=encoding, newline="\n") as stream:
        filled = (line for line in stream if line.strip(_SPACE))
        first = next(filled, "").strip(_SPACE)
        if not first.startswith("{"):
            return expected and not first.startswith("[")
        try:
            strict_json(first, constants=True)
        except ValueError:  # invalid, or the start of an object that continues on indented lines
            return expected and next(filled, "{").startswith("{")
        return next(filled, None) is not None


class _Lines:
    """The rows of JSON lines, read from the file each time."""

    def __init__(self, path: Path, encoding: str) -> None:
        self._path, self._encoding = path, encoding

    def __iter__(self) -> Iterator[DataRow]:
        return (_row(f"line {number}", line) for number, line in self._lines())

    def names(self) -> Iterator[Iterable[str]]:
        """The columns of each row; its values are not read."""
        return (_names(line) for _, line in self._lines())

    def _lines(self) -> Iterator[tuple[int, str]]:
        with reading(self._path):  # it may have been deleted since it was read first
            opened = self._path.open(encoding=self._encoding, newline="\n")
        with opened as stream:
            for number, line in enumerate(stream, 1):
                if line.strip(_SPACE):
                    yield number, line


_NAMES = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _names(line: str) -> Iterable[str]:
    try:
        return _NAMES.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):  # no object, or with NaN: what follows tells
        return _row("", line).cells


def _row(where: str, line: str) -> DataRow:
    try:
        value = strict_json(line, constants=True)
    except ValueError as error:
        return DataRow(where, {}, f"{error}; expected one JSON object a line.")
    if isinstance(value, dict):
        return DataRow(where, value)
    return DataRow(where, {}, f"found {kind_of(value)}; expected one JSON object a line.")


def _records(path: Path, value: Any, known: Sequence[str], *, lines: bool) -> Iterator[DataRow]:
    """The rows of a JSON value."""
    if isinstance(value, dict):
        value = _unwrapped(path, value, known, lines=lines)
    if not isinstance(value, list):
        raise DataError(path, f"found {kind_of(value)}; {_EXPECTED}.")
    for number, record in enumerate(value, 1):
        if isinstance(record, dict):
            yield DataRow(f"row {number}", record)
        else:
            yield DataRow(f"row {number}", {}, f"found {kind_of(record)}; expected an object.")


def _unwrapped(path: Path, value: dict[str, Any], known: Sequence[str], *, lines: bool) -> Any:
    """The list of rows in an object, in any of the usual layouts; a line of JSON `lines` is no table of columns."""
    if "resourceSpans" in value:  # OpenTelemetry's format, which `spans` reads
        return [value]
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):  # pandas, orient="split"
        return _split(path, value["columns"], value["data"])
    if any(name not in value and head_of(name) in value for name in known):  # a path into a column of one row
        return [value]
    questions = [name for name in value if name in known or is_question(name)]
    column = next((value[name] for name in questions if isinstance(value[name], (list, dict))), None)
    if column is not None and not lines and not _is_conversation(column):
        return _of_columns(path, value)
    if questions:
        return [value]
    for name in _WRAPPERS:
        if isinstance(value.get(name), list):
            return value[name]
    inner = list(value.values())
    if inner and all(isinstance(row, dict) for row in inner):
        if all(isinstance(score, (int, float)) for row in inner for score in row.values()):  # a run as in pytrec_eval
            return [
                {"query_id": query, "doc_id": doc, "score": score}
                for query, scores in value.items()
                for doc, score in scores.items()
            ]
        if any(name in known or is_question(name) for name in inner[0]):  # pandas, orient="index"
            return inner
    return [value]


def _is_conversation(column: Any) -> bool:
    return isinstance(column, list) and all(isinstance(turn, dict) for turn in column)


def _of_columns(path: Path, value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of an object of columns, each a list, or row name → value as written by pandas."""
    if all(isinstance(column, dict) for column in value.values()):
        names = dict.fromkeys(name for column in value.values() for name in column)
        return [{title: column.get(name) for title, column in value.items()} for name in names]
    lengths = {name: len(column) for name, column in value.items() if isinstance(column, list)}
    if len(lengths) < len(value) or len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} has {lengths.get(name, 'no list')}" for name in list(value)[:8])
        raise DataError(path, f"the columns are not of equal length ({shown}); {_EXPECTED}.")
    return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=True)]


def _split(path: Path, columns: list[Any], data: list[Any]) -> list[dict[str, Any]]:
    if any(not isinstance(row, list) or len(row) != len(columns) for row in data):
        raise DataError(path, f"a row of 'data' does not have as many values as 'columns' has names; {_EXPECTED}.")
    return [dict(zip(map(str, columns), row, strict=True)) for row in data]
