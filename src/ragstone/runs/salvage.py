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

from ragstone.errors import DataError, UsageError
from ragstone.runs.schema import LAYOUT, decode
from ragstone.runs.text_store import references, unpacked, write_texts
from ragstone.storage import connect, storage_errors, transaction
from ragstone.types import Case, Response, Score

_Row: TypeAlias = tuple[Any, ...]
_GAP = 10_000  # consecutive rows that cannot be read, after which nothing more is looked for


def salvage(source: Path, target: Path) -> int:
    """Writes what can be read of the run file `source` into the new file `target`; returns how many records that is.
    Failures, answers, and the scores and verdicts of these are kept with the cases that they need. UsageError if it is
    no run file, or one that has not even its settings."""
    reading = connect(source, LAYOUT, write=False, cut=True)
    with contextlib.closing(reading), _new(target) as writing:
        for table, columns in (("meta", 2), ("systems", 2), ("rows", 3), ("cells", 2)):
            rows = (row for row in _rows(reading, table) if table == "rows" or _is_whole(row[1], object))
            _copy(writing, table, columns, rows)
        if not writing.execute("SELECT 1 FROM meta WHERE key = 'question'").fetchone():
            raise UsageError(f"{source}: nothing can be saved, its settings are lost. Use a copy of it.")
        known = _texts(reading, writing)
        for row in _rows(reading, "cases"):
            if _is_whole(row[1], Case) and references(row[1]).keys() <= known:
                _copy(writing, "cases", 2, [row])
        kept = 0
        for row in _rows(reading, "records"):
            system, case, response, error, _ = row
            whole = _is_whole(response, Response) if error is None else _is_whole(error, str)
            if whole and references(response).keys() <= known and _has(writing, system, case):
                _copy(writing, "records", 5, [row])
                _copy_scores(reading, writing, (system, case))
                kept += 1
        planned = _until_damage(reading, "SELECT * FROM planned")
        _copy(writing, "planned", 4, (row for row in planned if all(isinstance(row[at], str) for at in (0, 1, 3))))
        writing.execute(
            "DELETE FROM planned WHERE cell NOT IN (SELECT cell FROM cells)"
            " OR system_id NOT IN (SELECT system_id FROM systems)"
        )
    return kept


def _is_whole(text: object, kind: Any) -> bool:
    """Whether a payload can be read: a page that was cut within ends in zeros."""
    try:
        decode(text, kind, "", "")  # type: ignore[arg-type]
    except DataError:
        return False
    return isinstance(text, str)


def _has(writing: sqlite3.Connection, system: object, case: object) -> bool:
    query = "SELECT 1 FROM cases JOIN systems WHERE case_id = ? AND system_id = ?"
    return writing.execute(query, (case, system)).fetchone() is not None


def _copy_scores(reading: sqlite3.Connection, writing: sqlite3.Connection, key: _Row) -> None:
    """The scores of a record that are whole, with all of their verdicts."""
    verdicts = [row for row in _of_case(reading, "verdicts", key) if _is_whole(row[3], object)]
    there = {row[2] for row in verdicts}
    scores = [row for row in _of_case(reading, "scores", key) if _is_whole(row[5], Score)]
    _copy(writing, "scores", 8, (row for row in scores if {*str(row[7]).split()} <= there))
    _copy(writing, "verdicts", 4, verdicts)


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
