"""The file of a case index: columns of numbers, cut into chunks, beside the rows that are shown.

A filter reads whole columns: a million records have a few megabytes of each, which numpy compares in milliseconds,
whatever the combination of conditions. SQLite gives the file its transactions; it never scans rows for a filter.
"""

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ragstone.errors import StorageError, UsageError
from ragstone.storage import Layout, connect, storage_errors
from ragstone.storage.database import result_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

Codes: TypeAlias = "NDArray[np.uint32]"
Numbers: TypeAlias = "NDArray[np.float64]"

# Records in a chunk of a column: what is rewritten for one that changes.
CHUNK = 8_192
_LAYOUT_VERSION = 6
_BUSY_SECONDS = 10.0
_MOST_COLUMNS = 400  # a hostile file may have as many fields as records; further ones are left out
_SYSTEMS = 0  # in place of a column: the keys of systems, whole
_CHECKED_BYTES = 16 * 2**20  # up to here a file is checked in milliseconds; a larger one is trusted until it fails
_CACHED = 20_000  # codes of values kept in memory

_GRAMS = "text, tokenize='trigram case_sensitive 1', content='', detail=none, columnsize=0"
_PAIRS = "text, tokenize='unicode61 remove_diacritics 0', content='', detail=none, columnsize=0"

# A value of a column has a code from 1 (0: none). `details` is what a list of cases shows, as JSON.
LAYOUT = Layout(
    what="case index",
    application_id=0x52534358,  # "RSCX"
    version=_LAYOUT_VERSION,
    tables=(
        "CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE columns (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        "CREATE TABLE names (id INTEGER, code INTEGER, value TEXT, n INTEGER, PRIMARY KEY (id, code)) WITHOUT ROWID",
        "CREATE UNIQUE INDEX codes ON names (id, value)",
        "CREATE TABLE chunks (place INTEGER PRIMARY KEY, data BLOB NOT NULL)",
        "CREATE TABLE keys (n INTEGER PRIMARY KEY, system INTEGER, case_key TEXT, stamp TEXT)",
        "CREATE UNIQUE INDEX numbers ON keys (system, case_key)",
        "CREATE TABLE rows (n INTEGER PRIMARY KEY, details TEXT NOT NULL)",
        "CREATE TABLE texts (n INTEGER PRIMARY KEY, text TEXT NOT NULL)",
        f"CREATE VIRTUAL TABLE grams USING fts5({_GRAMS})",
        f"CREATE VIRTUAL TABLE pairs USING fts5({_PAIRS})",
        "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(grams, instance)",
    ),
    durable=False,
)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_TYPES = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<f8"}


class IndexDamaged(StorageError):
    """The file of an index cannot be read any more: it has to be made again."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: the index of the cases is damaged. It is made again when the run is opened.")


@contextlib.contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Errors of SQLite as one line; `IndexDamaged` where the file is the cause."""
    try:
        with storage_errors(path):
            yield
    except (sqlite3.Error, StorageError) as error:
        cause = error if isinstance(error, sqlite3.Error) else error.__cause__
        if isinstance(cause, sqlite3.Error) and (result_code(cause) in _DAMAGED or "no such" in str(cause)):
            raise IndexDamaged(path) from error
        raise


def open_store(path: Path, state: str) -> "Store":
    """Opens the index at this path, made for `state`: a text that names what the index depends on. A damaged file, one
    of another layout and one that was made for another state are replaced by an empty one."""
    for attempt in (1, 2):
        try:
            store = Store(connect(path, LAYOUT, busy_seconds=_BUSY_SECONDS), path)
            try:
                if store.start(state):
                    return store
            except BaseException:
                store.close()
                raise
            store.close()
        except (UsageError, StorageError) as error:
            if attempt == 2 or _is_busy(error) or not path.is_file():
                raise
        remove_store(path)
    raise StorageError(f"{path}: another process replaces this index again and again.")


def _is_busy(error: Exception) -> bool:
    """Whether another process has the file locked: it is at work on it, and nothing is wrong with it."""
    cause = error.__cause__
    return isinstance(cause, sqlite3.Error) and result_code(cause) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def remove_store(path: Path) -> None:
    """Deletes an index. Who has it open keeps what he has."""
    for tail in ("", "-journal", "-wal", "-shm"):
        with contextlib.suppress(OSError):
            Path(f"{path}{tail}").unlink(missing_ok=True)


class Store:
    """An open index file, for use by one thread at a time."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path
        self.damaged = False  # found while it was read
        self._codes: dict[tuple[int, str], int] = {}
        self._pending: dict[int, dict[int, float]] = {}  # column → position → value

    def start(self, state: str) -> bool:
        """Whether the file is sound and was made for this state; an empty one becomes that."""
        with _errors(self.path):
            self._connection.execute("PRAGMA cache_size=-16384")
            self._connection.execute("PRAGMA cache_spill=OFF")  # a spill would lock readers out before the commit
            checked = self.path.stat().st_size < _CHECKED_BYTES
            if checked and self.all("PRAGMA quick_check(1)")[0][0] != "ok":
                return False
        if self.note("state") is None:  # else nothing is written: another process may be at work on the index
            with self.writing():
                if self.note("state") is None:
                    self.set_note("state", state)
        return bool(self.note("state") == state)

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the file for several queries."""
        try:
            with _errors(self.path):
                self._connection.execute("BEGIN")
                try:
                    yield
                finally:
                    self._end("COMMIT")
        except IndexDamaged:
            self.damaged = True
            raise

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that excludes other writers. Nothing of it remains if it fails."""
        with _errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._flush()
                self._end("COMMIT")
            except BaseException:
                self._pending.clear()
                self._codes.clear()  # those of this transaction do not exist any more
                self._end("ROLLBACK")
                raise

    def _end(self, statement: str) -> None:
        if self._connection.in_transaction:
            self._connection.execute(statement)

    def all(self, query: str, *values: Any) -> list[Any]:
        """The rows of a query."""
        with _errors(self.path):
            return self._connection.execute(query, values).fetchall()

    def integers(self, query: str, *values: Any) -> "NDArray[np.int64]":
        """The only column of a query."""
        with _errors(self.path):
            return np.fromiter(chain.from_iterable(self._connection.execute(query, values)), np.int64)

    @property
    def version(self) -> int:
        """A number that changes when another connection writes into the file."""
        return int(self.all("PRAGMA data_version")[0][0])

    def many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Writes rows, inside a transaction."""
        self._connection.executemany(statement, rows)

    def note(self, key: str) -> Any:
        """A note about the index, None if there is none."""
        found = self.all("SELECT value FROM meta WHERE key = ?", key)
        return json.loads(found[0][0]) if found else None

    def set_note(self, key: str, value: Any) -> None:
        """Writes a note, inside a transaction."""
        self.many("INSERT OR REPLACE INTO meta VALUES (?, ?)", [(key, json.dumps(value))])

    def find(self, system_id: str, case_key: str) -> tuple[int, str] | None:
        """The position and the stamp of a record, None if the index does not have it."""
        query = "SELECT n, stamp FROM keys WHERE system = ? AND case_key = ?"
        found = self.all(query, self.code(_SYSTEMS, system_id, create=False), case_key)
        return (int(found[0][0]), str(found[0][1])) if found else None

    def set_row(self, position: int, system_id: str, case_key: str, stamp: str, details: str) -> None:
        """Writes the key, the stamp and the details of a record, inside a transaction."""
        system = self.code(_SYSTEMS, system_id, position)
        self.many("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)", [(position, system, case_key, stamp)])
        self.many("INSERT OR REPLACE INTO rows VALUES (?, ?)", [(position, details)])

    def clear(self) -> None:
        """Empties the index, inside a transaction."""
        for table in ("columns", "names", "chunks", "keys", "rows", "texts"):
            self._connection.execute(f"DELETE FROM {table}")
        self._connection.execute("DELETE FROM meta WHERE key <> 'state'")
        for table in ("grams", "pairs"):
            self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
        self._codes.clear()
        self._pending.clear()

    @property
    def size(self) -> int:
        """The number of records in the index. Positions are 0 to size - 1."""
        return int(self.all("SELECT coalesce(max(n) + 1, 0) FROM keys")[0][0])

    def columns(self) -> dict[str, int]:
        """Name → id of each column."""
        return dict(self.all("SELECT name, id FROM columns ORDER BY id"))

    def add_column(self, name: str) -> int | None:
        """The id of a column, which is created if needed; None if there are too many. Inside a transaction."""
        if found := self.all("SELECT id FROM columns WHERE name = ?", name):
            return int(found[0][0])
        if self.all("SELECT count(*) FROM columns")[0][0] >= _MOST_COLUMNS:
            return None
        self.many("INSERT INTO columns (name) VALUES (?)", [(name,)])
        return int(self.all("SELECT id FROM columns WHERE name = ?", name)[0][0])

    def code(self, column: int, value: str, example: int = 0, *, create: bool = True) -> int:
        """The code of a value, 0 if it has none and none is to be created. A new one is created inside a transaction;
        `example` is its first record."""
        if (known := self._codes.get((column, value))) is not None:
            return known
        found = self.all("SELECT code FROM names WHERE id = ? AND value = ?", column, value)
        if not found and not create:
            return 0
        if found:
            code = int(found[0][0])
        else:
            code = 1 + int(self.all("SELECT coalesce(max(code), 0) FROM names WHERE id = ?", column)[0][0])
            self.many("INSERT INTO names VALUES (?, ?, ?, ?)", [(column, code, value, example)])
        if len(self._codes) >= _CACHED:
            self._codes.clear()
        self._codes[column, value] = code
        return code

    def codes_of(self, column: int, values: Iterable[str]) -> list[int]:
        """The codes of these values, as far as they occur."""
        query = "SELECT code FROM names WHERE id = ? AND value IN (SELECT value FROM json_each(?))"
        return [int(code) for (code,) in self.all(query, column, json.dumps(list(values)))]

    def names_of(self, column: int, codes: Iterable[int]) -> dict[int, tuple[str, int]]:
        """Code → (value, position of its first record)."""
        query = "SELECT code, value, n FROM names WHERE id = ? AND code IN (SELECT value FROM json_each(?))"
        return {
            code: (value, example) for code, value, example in self.all(query, column, json.dumps([*map(int, codes)]))
        }

    def put(self, column: int, position: int, value: float) -> None:
        """Sets a value of a column when the transaction ends."""
        self._pending.setdefault(column, {})[position] = value

    def codes(self, column: int | None, size: int) -> Codes:
        """The codes of a column for all records; 0 where it has none."""
        codes = np.zeros(size, np.uint32)
        self._read(column, codes)
        return codes

    def numbers(self, column: int | None, size: int) -> Numbers:
        """The numbers of a column for all records; NaN where it has none."""
        numbers = np.full(size, np.nan)
        self._read(column, numbers)
        return numbers

    def _read(self, column: int | None, values: Any) -> None:
        if column is not None:
            query = "SELECT place, data FROM chunks WHERE place BETWEEN ? AND ? ORDER BY place"
            with _errors(self.path):
                for place, data in self._connection.execute(query, (column << 32, (column << 32) + 2**32 - 1)):
                    start = (place & (2**32 - 1)) * CHUNK
                    part = self._unpacked(data)[: max(0, len(values) - start)]
                    values[start : start + len(part)] = part

    def set_numbers(self, column: int, values: Numbers) -> None:
        """Replaces a whole column, inside a transaction."""
        rows = [
            ((column << 32) + start // CHUNK, _packed(values[start : start + CHUNK]))
            for start in range(0, len(values), CHUNK)
        ]
        self.many("INSERT OR REPLACE INTO chunks VALUES (?, ?)", rows)

    def in_order_of_ids(self) -> "NDArray[np.int64]":
        """The positions of all records by case id, then by system; numbers in ids count as numbers."""
        self._connection.create_function("natural_key", 1, _natural, deterministic=True)
        query = "SELECT n FROM keys ORDER BY natural_key(case_key), case_key, system"
        with _errors(self.path):
            return np.fromiter((n for (n,) in self._connection.execute(query)), np.int64)

    def _unpacked(self, data: bytes) -> Any:
        kind = _TYPES.get(data[0]) if data else None
        if kind is None or (len(data) - 1) % data[0]:
            raise IndexDamaged(self.path)
        return np.frombuffer(data, kind, offset=1)

    def _flush(self) -> None:
        """Writes the pending values: each chunk that they are in is rewritten."""
        for column, values in self._pending.items():
            by_chunk: dict[int, dict[int, float]] = {}
            for position, value in values.items():
                by_chunk.setdefault(position // CHUNK, {})[position % CHUNK] = value
            for chunk, part in by_chunk.items():
                self._rewrite((column << 32) + chunk, part)
        self._pending.clear()

    def _rewrite(self, place: int, values: Mapping[int, float]) -> None:
        found = self.all("SELECT data FROM chunks WHERE place = ?", place)
        old = self._unpacked(found[0][0]) if found else np.zeros(0)
        numbers = isinstance(next(iter(values.values())), float)
        length = max(len(old), max(values) + 1)
        array: Any = np.full(length, np.nan) if numbers else np.zeros(length, np.uint32)
        array[: len(old)] = old
        array[list(values)] = list(values.values())
        self.many("INSERT OR REPLACE INTO chunks VALUES (?, ?)", [(place, _packed(array))])


_DIGITS = re.compile("[0-9]+")


def _natural(key: str) -> str:
    """The key with its numbers padded, so that their order is that of their values."""
    return _DIGITS.sub(lambda match: match[0].lstrip("0").rjust(12, "0"), key[:200])


def _packed(values: Any) -> bytes:
    """A chunk as bytes: the size of an item, then the items, as small as the largest allows."""
    if values.dtype == np.float64:
        size = 8
    else:
        largest = int(values.max(initial=0))
        size = 1 if largest < 2**8 else 2 if largest < 2**16 else 4
    return bytes([size]) + bytes(values.astype(_TYPES[size]).data)
