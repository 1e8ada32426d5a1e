"""Rows as they come out of a file or from memory, before anybody knows what their columns mean."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

__all__ = ["DataRow", "Raw", "Rows", "repeated"]


@dataclass(slots=True)
class DataRow:
    """A row: where it is ("line 3"), its cells by column, or what keeps it from being read."""

    where: str
    cells: dict[str, Any]
    problem: str = ""


@dataclass
class Raw:
    """What a source holds, to be read once.

    `schema` and `mapping` (our word → column) are set where the format says what it is. In a `sparse` format an empty
    text is a cell with nothing in it. `qrels`, `corpus` and `queries` are files that lie beside it and belong to it.
    `warnings` are complete when all rows have been taken.
    """

    name: str
    rows: Iterable[DataRow]
    schema: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    sparse: bool = False
    qrels: Path | None = None
    corpus: Path | None = None
    queries: Path | None = None
    warnings: list[str] = field(default_factory=list)
    path: Path | None = None

    @property
    def source(self) -> str:
        """The name in messages: the path, else the name."""
        return str(self.path) if self.path else self.name


class Rows:
    """All rows of a source, and its columns in the order in which they were first seen. Taking them frees them."""

    def __init__(self, raw: Raw) -> None:
        columns: dict[str, None] = {}
        self._rows: deque[DataRow] = deque()
        for row in raw.rows:
            columns.update(dict.fromkeys(row.cells))
            self._rows.append(row)
        self.raw = raw
        self.columns = tuple(columns)

    def __len__(self) -> int:
        return len(self._rows)

    def take(self) -> Iterator[DataRow]:
        """Every row, once."""
        while self._rows:
            yield self._rows.popleft()

    def instead(self, rows: Iterable[DataRow], *, schema: str, mapping: Mapping[str, str]) -> "Rows":
        """New rows derived from these, in their place."""
        raw = self.raw
        return Rows(replace(raw, rows=rows, schema=schema, mapping=mapping, sparse=False))


def repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs twice; None if all differ."""
    names_seen: set[str] = set()
    for name in names:
        if name in names_seen:
            return name
        names_seen.add(name)
    return None
