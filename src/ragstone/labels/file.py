"""The file of labels: its layout, its transactions, and how payloads are read from it."""

import contextlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from ragstone.errors import RESTORE, DataError, UsageError
from ragstone.storage import Layout, connect, storage_errors, transaction
from ragstone.structs import from_json

T = TypeVar("T")

LARGEST = 64 * 1024 * 1024
"""Bytes of the largest payload that is read."""

# Payloads are ASCII JSON. Nothing is deleted from `labels` and `edits`: an undo is a row that names the version it
# undoes. `place` is the order in which experts see items, drawn by the seed of the round.
_TABLES = """
CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE tasks (place INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, payload TEXT NOT NULL);
CREATE TABLE experts (name TEXT NOT NULL PRIMARY KEY, since REAL NOT NULL);
CREATE TABLE items (
    id TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, place TEXT NOT NULL, payload TEXT NOT NULL, origin TEXT NOT NULL
);
CREATE INDEX items_in_order ON items (kind, place, id);
CREATE TABLE assignments (
    task TEXT NOT NULL, item TEXT NOT NULL, expert TEXT NOT NULL,
    PRIMARY KEY (task, item, expert)
) WITHOUT ROWID;
CREATE INDEX assignments_of_expert ON assignments (expert, task, item);
CREATE TABLE labels (
    version INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, item TEXT NOT NULL, task TEXT NOT NULL,
    expert TEXT NOT NULL, adjudicated INTEGER NOT NULL, undoes INTEGER UNIQUE, payload TEXT NOT NULL
);
CREATE INDEX labels_of_item ON labels (item, task, expert, adjudicated, version);
CREATE INDEX labels_of_expert ON labels (expert, version);
CREATE TABLE samples (id TEXT NOT NULL PRIMARY KEY, row INTEGER NOT NULL, payload TEXT NOT NULL);
CREATE TABLE edits (version INTEGER PRIMARY KEY, sample TEXT NOT NULL, payload TEXT NOT NULL);
CREATE INDEX edits_of_sample ON edits (sample, version);
-- The data sets that were written: the hash of their rows, and the last edit that is in them.
CREATE TABLE exports (
    sha256 TEXT NOT NULL PRIMARY KEY, edit INTEGER NOT NULL, written REAL NOT NULL, rows INTEGER NOT NULL
)
"""
LAYOUT = Layout(
    what="file of labels",
    application_id=0x52534C42,  # "RSLB"
    version=1,
    tables=tuple(_TABLES.split(";")),
)

# The labels that stand: the last version of each expert on each item and task that is not undone.
CURRENT = """
SELECT max(l.version) AS version FROM labels l
WHERE l.undoes IS NULL AND NOT EXISTS (SELECT 1 FROM labels u WHERE u.undoes = l.version)
"""


class LabelFile:
    """An open file of labels. `open` opens or creates it; a context manager. One object may be used by several
    threads."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        self._connection, self._lock = connection, threading.RLock()

    @classmethod
    def open(cls, path: str | Path, *, write: bool = True) -> Self:
        """Opens a file of labels; with `write` it is created if it is not there. Any other file is refused with
        UsageError and left unchanged."""
        return cls(Path(path), connect(path, LAYOUT, write=write))

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _decoded(self, text: object, kind: type[T], what: str) -> T:
        """A payload; `DataError` names what is damaged if it is not a `kind`."""
        try:
            if not isinstance(text, str):
                raise TypeError(f"found {type(text).__name__}")
            return from_json(text, kind)
        except (ValueError, TypeError, RecursionError) as error:
            problem = f"the file is damaged: {what} cannot be read ({error})."
            raise DataError(self.path, problem, advice=RESTORE) from error

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock, self._errors():
            return self._connection.execute(query, _bound(values)).fetchall()

    def _run(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        with self._errors():
            return self._connection.execute(query, _bound(values))

    def _many(self, query: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._errors():
            self._connection.executemany(query, map(_bound, rows))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        with storage_errors(self.path, as_input=True):
            try:
                yield
            except sqlite3.DataError as error:
                raise UsageError(f"{self.path} has a row of more than {LARGEST >> 20} MiB: it is damaged.") from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that excludes all other writers, threads and processes."""
        with self._lock, self._errors(), transaction(self._connection):
            yield


def _bound(values: Sequence[Any]) -> tuple[Any, ...]:
    """The values as SQLite takes them: a lone surrogate in an id, which is no UTF-8, as its escape."""
    return tuple(
        value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value for value in values
    )
