"""What can still be read of a run file that was cut short or damaged after its command ended, as a new run file.

SQLite refuses a file that is shorter than its first page says. Read as far as it goes, row by row, most of it is there:
the rows of pages that are lost are left out, and so is what refers to them, so that the new file is a whole one.
"""

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

from ragstone.errors import UsageError
from ragstone.runs.schema import LAYOUT
from ragstone.runs.text_store import references, unpacked, write_texts
from ragstone.storage import connect, storage_errors, transaction

_Row: TypeAlias = tuple[Any, ...]
_GAP = 10_000  # consecutive rows that cannot be read, after which nothing more is looked for


def salvage(source: Path, target: Path) -> int:
    """Writes what can be read of the run file `source` into the new file `target`; returns how many records that is.
    Failures, answers, and the scores and verdicts of these are kept with the cases that they need. UsageError if it is
    no run file, or one that has not even its settings."""
    reading = connect(source, LAYOUT, write=False, cut=True)
    with contextlib.closing(reading), _new(target) as writing:
        for table, columns in (("meta", 2), ("systems", 2), ("rows", 3), ("cells", 2)):
            _copy(writing, table, columns, _rows(reading, table))
        if not writing.execute("SELECT 1 FROM meta WHERE key = 'question'").fetchone():
            raise UsageError(f"{source}: nothing can be saved, its settings are lost. Use a copy of it.")
        known = _texts(reading, writing)
        for row in _rows(reading, "cases"):
            if references(row[1]).keys() <= known:
                _copy(writing, "cases", 2, [row])
        kept = 0
        for row in _rows(reading, "records"):
            key = (row[0], row[1])
            case = writing.execute("SELECT 1 FROM cases WHERE case_id = ?", (row[1],)).fetchone()
            if case and references(row[2]).keys() <= known:
                _copy(writing, "records", 5, [row])
                for table, columns in (("scores", 8), ("verdicts", 4)):
                    _copy(writing, table, columns, _of_case(reading, table, key))
                kept += 1
        _copy(writing, "planned", 4, _until_damage(reading, "SELECT * FROM planned"))
        writing.execute("DELETE FROM planned WHERE cell NOT IN (SELECT cell FROM cells)")
    return kept


@contextlib.contextmanager
def _new(target: Path) -> Iterator[sqlite3.Connection]:
    """A new run file, in one transaction."""
    with contextlib.closing(connect(target, LAYOUT)) as writing, storage_errors(target), transaction(writing):
        yield writing


def _copy(writing: sqlite3.Connection, table: str, columns: int, rows: Iterable[_Row]) -> None:
    writing.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * columns)})", rows)


def _rows(reading: sqlite3.Connection, table: str) -> Iterator[_Row]:
    """The rows of a table with rowids that can be read, in the order of these."""
    last, lost = 0, 0
    while lost < _GAP:
        try:
            for rowid, *row in reading.execute(f"SELECT rowid, * FROM {table} WHERE rowid > ? ORDER BY rowid", (last,)):
                if rowid <= last:
                    raise sqlite3.DatabaseError("a page with rows of another one")
                last, lost = rowid, 0
                yield tuple(row)
            return
        except sqlite3.DatabaseError:
            last, lost = last + 1, lost + 1


def _until_damage(reading: sqlite3.Connection, query: str) -> Iterator[_Row]:
    with contextlib.suppress(sqlite3.DatabaseError):
        yield from reading.execute(query)


def _of_case(reading: sqlite3.Connection, table: str, key: _Row) -> list[_Row]:
    """The rows of one record; none if one of them cannot be read."""
    try:
        return reading.execute(f"SELECT * FROM {table} WHERE system_id = ? AND case_id = ?", key).fetchall()
    except sqlite3.DatabaseError:
        return []


def _texts(reading: sqlite3.Connection, writing: sqlite3.Connection) -> set[str]:
    """Copies the long texts that can be read; returns their digests, which their contents tell."""
    known: set[str] = set()
    for _, packed in _rows(reading, "packs"):
        texts = {}
        with contextlib.suppress(ValueError, TypeError, RecursionError, zlib.error):
            for text in unpacked(packed):
                written = json.dumps(text)
                texts[blake2b(written.encode("ascii"), digest_size=12).hexdigest()] = written
        write_texts(writing, texts)
        known |= texts.keys()
    return known
