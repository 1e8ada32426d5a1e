"""Rows as they come out of a file or from memory, before anybody knows what their columns mean."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Raw", "Row", "Rows"]


@dataclass(slots=True)
class Row:
    """A row: where it is ("line 3"), its cells by column, or what keeps it from being read."""

    where: str
    cells: dict[str, Any]
    problem: str = ""


@dataclass
class Raw:
    """What a file holds, to be read once. `schema` is set where the format says what the columns are; `warnings` are
    complete when all rows have been taken. In `sparse` formats an empty text is a cell without anything in it."""

    name: str
    rows: Iterable[Row]
    schema: str = ""
    sparse: bool = False
    warnings: list[str] = field(default_factory=list)


class Rows:
    """All rows of a source, and its columns in the order in which they were first seen. Taking them frees them."""

    def __init__(self, raw: Raw) -> None:
        self.name, self.schema, self.sparse = raw.name, raw.schema, raw.sparse
        columns: dict[str, None] = {}
        self._rows: deque[Row] = deque()
        for row in raw.rows:
            columns.update(dict.fromkeys(row.cells))
            self._rows.append(row)
        self.columns = tuple(columns)
        self.warnings = list(raw.warnings)

    def __len__(self) -> int:
        return len(self._rows)

    def peek(self, count: int) -> list[Row]:
        """The first `count` rows, left in their place."""
        return [self._rows[place] for place in range(min(count, len(self._rows)))]

    def take(self) -> Iterable[Row]:
        """Every row, once."""
        while self._rows:
            yield self._rows.popleft()
