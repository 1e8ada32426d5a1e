"""Rows as read from a file or from memory, before columns are mapped to fields."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragstone.storage import Spool
from ragstone.types import Response


@dataclass(slots=True)
class DataRow:
    """A row: its position ("line 3"), its cells by column, and the problem if it cannot be read.

    `recorded`: what a trace tells of the answer besides its text and passages. `error`: why the system gave none."""

    where: str
    cells: dict[str, Any]
    problem: str = ""
    recorded: Response | None = None
    error: str = ""


@dataclass
class Raw:
    """The content of a source; `rows` can be read only once, unless there is `names`, which gives the columns of each
    row at less cost: then they are of a file that is read again.

    `schema` and `mapping` (field → column) are set if the format determines them. In a `sparse` format an empty text
    means a missing value. `qrels`, `corpus` and `queries` are files next to it that belong to it. `warnings` is
    complete after all rows have been read.
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
    names: Callable[[], Iterable[Iterable[str]]] | None = None

    @property
    def source(self) -> str:
        """The name for messages: the path if there is one, else the name."""
        return str(self.path) if self.path else self.name


class Rows:
    """All rows of a source, on disk where they are many unless the source can be read again, and its columns in order
    of first appearance. `take` frees the rows."""

    def __init__(self, raw: Raw) -> None:
        columns: dict[str, None] = {}
        kept, self._count = Spool[DataRow](), 0
        for names in self._kept(raw.rows, kept) if raw.names is None else raw.names():
            columns.update(dict.fromkeys(names))
            self._count += 1
        self._rows: Iterable[DataRow] = kept if raw.names is None else raw.rows
        self.raw = raw
        self.columns = tuple(columns)

    @staticmethod
    def _kept(rows: Iterable[DataRow], kept: Spool[DataRow]) -> Iterator[Iterable[str]]:
        for row in rows:
            kept.append(row)
            yield row.cells

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[DataRow]:
        """Every row, which stays."""
        return iter(self._rows)

    def take(self) -> Iterator[DataRow]:
        """Yields every row once: they are gone afterwards."""
        rows, self._rows = self._rows, ()
        yield from rows

    def add(self, column: str, value: Callable[[Mapping[str, Any]], Any]) -> None:
        """Adds a column: the value that its function gives for the cells of each row."""
        rows = Spool[DataRow]()
        for row in self.take():
            row.cells[column] = value(row.cells)
            rows.append(row)
        self._rows = rows
        self.columns = (*self.columns, column)

    def instead(self, rows: Iterable[DataRow], *, schema: str, mapping: Mapping[str, str]) -> "Rows":
        """New rows that replace these, for the same source."""
        raw = self.raw
        return Rows(replace(raw, rows=rows, schema=schema, mapping=mapping, sparse=False, names=None))


def repeated(names: Iterable[str]) -> str | None:
    """The first name that occurs twice; None if all differ."""
    names_seen: set[str] = set()
    for name in names:
        if name in names_seen:
            return name
        names_seen.add(name)
    return None
