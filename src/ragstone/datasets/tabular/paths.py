"""Columns inside columns: `--map question=inputs.question` names a value by a JMESPath expression."""

from collections.abc import Iterable, Mapping
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from ragstone.datasets.tabular.cells import is_missing, listed
from ragstone.datasets.tabular.rows import Rows
from ragstone.errors import DataError, UsageError

_SIGNS = frozenset(".[]|()*@{}\"`'")


def head_of(column: str) -> str:
    """The column in which a path begins."""
    for place, character in enumerate(column):
        if character in _SIGNS:
            return column[:place]
    return column


def add_paths(rows: Rows, columns: Iterable[str]) -> None:
    """Adds a cell to each row for each of these columns that is no column but a path into one; JSON in a text cell is
    read. Raises UsageError for an invalid path, DataError if no row has a value there."""
    for column in columns:
        if column in rows.columns or not _SIGNS & set(column):
            continue
        try:
            path = jmespath.compile(column)
        except JMESPathError as error:
            problem = str(error).splitlines()[0]
            raise UsageError(f"--map: {column!r} is neither a column nor a JMESPath expression ({problem}).") from None
        head, known, found = head_of(column), rows.columns, list[bool]()

        def value(cells: Mapping[str, Any], column: str = column, path: Any = path, found: list[bool] = found) -> Any:
            read = _value(path, cells, column)
            if not found and not is_missing(read):
                found.append(True)
            return read

        rows.add(column, value)
        if not found and len(rows):
            listed_columns = ", ".join(map(repr, known[:20]))
            advice = (
                f"The columns are: {listed_columns}." if head not in known else f"Look into {head!r}: no row has it."
            )
            raise DataError(rows.raw.source, f"has no value at {column!r}.", advice=advice)


def _value(path: Any, cells: Mapping[str, Any], column: str) -> Any:
    head = head_of(column)
    read = {**cells, head: listed(cells[head])} if isinstance(cells.get(head), str) else cells
    try:
        return path.search(read)
    except JMESPathError as error:
        raise UsageError(f"--map: {column!r} cannot be evaluated ({str(error).splitlines()[0]}).") from None
