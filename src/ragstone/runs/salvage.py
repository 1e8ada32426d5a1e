"""What can still be read of a run file that was cut short or damaged after its command ended, as a new run file.

SQLite refuses a file that is shorter than its first page says. Read as far as it goes, row by row, most of it is there:
the rows of pages that are lost are left out, and so is what refers to them, so that the new file is a whole one.
"""

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

from ragstone.errors import RESTORE, DataError, UsageError
from ragstone.runs.outbox import LeftOut, absorb_file, outbox_files
from ragstone.runs.record_pages import RecordPages
from ragstone.runs.schema import LAYOUT, META, decode, text_of
from ragstone.runs.text_store import references, unpacked, write_texts
from ragstone.storage import connect, storage_errors, transaction
from ragstone.structs import to_json
from ragstone.types import Response

Expected: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Any], Callable[[str], bool]]  # as `RecordPages.expect`
_Row: TypeAlias = tuple[Any, ...]
_GAP = 10_000  # consecutive rows that cannot be read, after which nothing more is looked for


_DANGLING = (
    "SELECT count(*) FROM scores s WHERE NOT EXISTS"
    " (SELECT 1 FROM records r WHERE r.system_id = s.system_id AND r.case_id = s.case_id)"
)
# Without a whole first page nothing else can be found.
_CUT = replace(LAYOUT, remedy=f"Nothing can be read. {RESTORE}")


@dataclass
class Salvaged:
    """What was kept of a damaged file: how many `records`; and what was left out because it cannot be read: how many
    `scores` of these, and the names of `entries` (of its settings) and `systems`. `damaged`: whether anything was.
    `lines`: how many lines of what a killed process left beside it cannot be read."""

    records: int = 0
    scores: int = 0
    lines: int = 0
    entries: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    damaged: bool = False


def salvage(source: Path, target: Path, expected: Callable[[Mapping[str, Any], Path], Expected]) -> Salvaged:
    """Writes what can be read of the run file `source`, and the answers that a killed process left beside it, into the
    new file `target`. Failures, answers, and the scores and verdicts of these are kept with the cases that they need.
    `expected`: of the settings, which types and metrics to check. UsageError if it is no run file, or one that has not
    even its settings or no record."""
    reading = connect(source, _CUT, write=False, cut=True)
    with contextlib.closing(reading), _new(target) as writing:
        return _Salvage(source, reading, writing).run(expected)


class _Salvage:
    """Copies from one connection to the other, and notes what it leaves out."""

    def __init__(self, source: Path, reading: sqlite3.Connection, writing: sqlite3.Connection) -> None:
        self._source, self._reading, self._writing = source, reading, writing
        self._pages = RecordPages(source, writing)
        self._left = Salvaged()

    def run(self, expected: Callable[[Mapping[str, Any], Path], Expected]) -> Salvaged:
        meta = self._copy_meta()
        if "question" not in meta:
            raise self._lost()
        try:
            checks = expected(meta, self._source)
        except DataError:  # a benchmark does without its options
            meta.pop("options", None)
            checks = expected(meta, self._source)
            self._writing.execute("DELETE FROM meta WHERE key = 'options'")
            self._left.entries += ("options",)
            self._left.damaged = True
        self._pages.expect(*checks)
        self._copy_systems()
        _copy(self._writing, "rows", 3, self._rows("rows"))
        known = self._texts()
        for row in self._rows("cases"):
            whole = self._reads(text_of, row[0]) and self._reads(self._pages.case, row[1], "", None)
            if whole and references(row[1]).keys() <= known:
                _copy(self._writing, "cases", 2, [row])
        for row in self._rows("records"):
            system, case, response, error, _ = row
            whole = self._is_whole(response, Response) if error is None else self._is_whole(error, str)
            if whole and references(response).keys() <= known and _has(self._writing, system, case):
                _copy(self._writing, "records", 5, [row])
                self._copy_scores((system, case))
            else:
                self._left.damaged = True
        self._copy_plan()
        self._absorb(checks[2])
        for dangling, *_ in self._until_damage(_DANGLING):
            self._left.scores += dangling
            self._left.damaged |= dangling > 0
        if self._left.damaged or self._left.scores:  # what then lacks a score is unfinished, whatever scores it
            later = sorted({*meta.get("scored_later", ()), *meta.get("metrics", ())})
            self._writing.execute(
                "INSERT OR REPLACE INTO meta (key, value) VALUES ('scored_later', ?)", (to_json(later),)
            )
        (self._left.records,) = self._writing.execute("SELECT count(*) FROM records").fetchone()
        if not self._left.records:
            raise UsageError(f"{self._source}: nothing can be read, it has no whole answer. {RESTORE}")
        return self._left

    def _copy_meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = {}
        for name, value in self._rows("meta"):
            if self._reads(text_of, name) and self._is_whole(value, META.get(name, object)):
                meta[name] = decode(value, object, "", "")
                _copy(self._writing, "meta", 2, [(name, value)])
            else:
                self._left.entries += (str(name),)
        return meta

    def _copy_systems(self) -> None:
        for name, spec in self._rows("systems"):
            if self._reads(text_of, name) and self._is_whole(spec, dict[str, Any]):
                _copy(self._writing, "systems", 2, [(name, spec)])
            else:
                self._left.systems += (str(name),)
        if not self._writing.execute("SELECT 1 FROM systems").fetchone():
            raise self._lost()

    def _lost(self) -> UsageError:
        return UsageError(f"{self._source}: nothing can be saved, its settings are lost. {RESTORE}")

    def _copy_plan(self) -> None:
        """The planned cases of known systems. A cell that is lost is that of its cases, if one of them was kept."""
        for cell, condition in self._rows("cells"):
            if self._reads(self._check_condition, condition):
                _copy(self._writing, "cells", 2, [(cell, condition)])
        planned = self._until_damage("SELECT * FROM planned")
        _copy(
            self._writing, "planned", 4, (row for row in planned if all(isinstance(row[at], str) for at in (0, 1, 3)))
        )
        query = (
            "SELECT p.cell, min(c.payload) FROM planned p JOIN cases c ON c.case_id = p.case_id"
            " WHERE p.cell NOT IN (SELECT cell FROM cells) GROUP BY p.cell"
        )
        for cell, payload in self._writing.execute(query).fetchall():
            axes = dict(sorted(self._pages.case(payload, "", None).condition.items()))
            _copy(self._writing, "cells", 2, [(cell, to_json(axes))])
        self._writing.execute(
            "DELETE FROM planned WHERE cell NOT IN (SELECT cell FROM cells)"
            " OR system_id NOT IN (SELECT system_id FROM systems)"
        )

    def _absorb(self, is_share: Callable[[str], bool]) -> None:
        """The answers that wait beside the file, as far as its id, which marks them, can be read."""
        if self._writing.execute("SELECT 1 FROM meta WHERE key = 'file_id'").fetchone():
            for file in outbox_files(self._source):
                left_out = absorb_file(self._writing, file, is_share=is_share)
                self._left.lines += left_out.lines
                self._left.scores += left_out.scores
                self._left.damaged |= left_out != LeftOut()

    def _check_condition(self, condition: Any) -> None:
        self._pages.check_condition(decode(condition, dict[str, str | int | float | bool], "", ""), "")

    def _copy_scores(self, key: _Row) -> None:
        """The scores of a record that are whole, with all of their verdicts."""
        verdicts = [row for row in self._of_case("verdicts", key) if self._is_whole(row[3], object)]
        there = {row[2] for row in verdicts}
        for row in self._of_case("scores", key):
            _, case, metric, _, status, payload, _, digests = row
            whole = self._reads(text_of, metric) and self._reads(self._pages.score, case, metric, status, payload)
            if whole and {*str(digests).split()} <= there:
                _copy(self._writing, "scores", 8, [row])
            else:
                self._left.scores += 1
                self._left.damaged = True
        _copy(self._writing, "verdicts", 4, verdicts)

    def _reads(self, check: Callable[..., object], *values: Any) -> bool:
        """Whether this check of the text of a payload, or of what it is about, finds nothing."""
        try:
            check(*values)
        except (DataError, TypeError, ValueError):  # a value of another type, or a key that is none
            self._left.damaged = True
            return False
        return True

    def _is_whole(self, text: object, kind: Any) -> bool:
        """Whether a payload can be read: a page that was cut within ends in zeros."""
        return self._reads(decode, text, kind, "", "") and isinstance(text, str)

    def _rows(self, table: str) -> Iterator[_Row]:
        """The rows of a table with rowids that can be read, in the order of these."""
        last, lost = 0, 0
        query = f"SELECT rowid, * FROM {table} WHERE rowid > ? ORDER BY rowid"
        while lost < _GAP:
            try:
                for rowid, *row in self._reading.execute(query, (last,)):
                    if rowid <= last:
                        raise sqlite3.DatabaseError("a page with rows of another one")
                    last, lost = rowid, 0
                    yield tuple(row)
                return
            except sqlite3.DatabaseError:
                self._left.damaged = True
                last, lost = last + 1, lost + 1

    def _until_damage(self, query: str) -> Iterator[_Row]:
        try:
            yield from self._reading.execute(query)
        except sqlite3.DatabaseError:
            self._left.damaged = True

    def _of_case(self, table: str, key: _Row) -> list[_Row]:
        """The rows of one record; none if one of them cannot be read."""
        try:
            query = f"SELECT * FROM {table} WHERE system_id = ? AND case_id = ?"
            return self._reading.execute(query, key).fetchall()
        except sqlite3.DatabaseError:
            self._left.damaged = True
        if table == "scores":
            with contextlib.suppress(sqlite3.DatabaseError):
                self._left.scores += self._reading.execute(query.replace("*", "count(*)"), key).fetchone()[0]
        return []

    def _texts(self) -> set[str]:
        """Copies the long texts that can be read; returns their digests, which their contents tell."""
        known: set[str] = set()
        for _, packed in self._rows("packs"):
            texts = {}
            with contextlib.suppress(ValueError, TypeError, RecursionError, zlib.error):
                for text in unpacked(packed):
                    written = json.dumps(text)
                    texts[blake2b(written.encode("ascii"), digest_size=12).hexdigest()] = written
            write_texts(self._writing, texts)
            known |= texts.keys()
        return known


def _has(writing: sqlite3.Connection, system: object, case: object) -> bool:
    query = "SELECT 1 FROM cases JOIN systems WHERE case_id = ? AND system_id = ?"
    return writing.execute(query, (case, system)).fetchone() is not None


@contextlib.contextmanager
def _new(target: Path) -> Iterator[sqlite3.Connection]:
    """A new run file, in one transaction."""
    with contextlib.closing(connect(target, LAYOUT)) as writing, storage_errors(target), transaction(writing):
        yield writing


def _copy(writing: sqlite3.Connection, table: str, columns: int, rows: Iterable[_Row]) -> None:
    writing.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * columns)})", rows)
