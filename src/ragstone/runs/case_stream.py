"""The stream of cases from a benchmark to the workers: checked, in batches of bounded size, with flat memory."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ragstone.errors import UsageError
from ragstone.runs.entries import CaseRow
from ragstone.runs.schema import key_of, text_of
from ragstone.storage import storage_errors
from ragstone.structs import to_json
from ragstone.types import Case

BATCH_BYTES = 2**20  # a batch is in memory several times while it is leased


class StreamedCase(Struct, gc=False):
    """A case and the row that is written for it."""

    case: Case
    row: CaseRow


def batches(cases: Iterable[Case], size: Callable[[], int]) -> Iterator[list[StreamedCase]]:
    """The cases in lists of at most `size()` cases and about `BATCH_BYTES`. `UsageError` names a case that cannot be
    written: its record could not say what was asked."""
    batch: list[StreamedCase] = []
    limit, total_bytes = size(), 0
    for case in cases:
        try:
            payload = to_json(replace(case, lane="") if case.lane else case)  # the grouping is not part of its content
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError(f"Case {case.id!r} cannot be written as JSON: {' '.join(str(error).split())}.") from error
        batch.append(StreamedCase(case, CaseRow(key_of(case.id), payload, key_of(case.lane) if case.lane else "")))
        total_bytes += len(payload)
        if len(batch) >= limit or total_bytes > BATCH_BYTES:
            yield batch
            batch = []
            limit, total_bytes = size(), 0
    if batch:
        yield batch


class Ledger:
    """What a run remembers of all its cases: the ids that it has seen, and the cases that other processes have. It is a
    temporary SQLite database, on disk beyond its first megabyte."""

    _WHERE = "a temporary database"

    def __init__(self) -> None:
        with storage_errors(self._WHERE):
            self._db = sqlite3.connect("", isolation_level=None)
            for statement in (
                "PRAGMA journal_mode=OFF",
                "PRAGMA synchronous=OFF",
                "PRAGMA cache_size=-1024",
                "CREATE TABLE seen (case_id TEXT PRIMARY KEY) WITHOUT ROWID",
                "CREATE TABLE deferred (system_id TEXT, case_id TEXT, lane TEXT, PRIMARY KEY (system_id, case_id))",
            ):
                self._db.execute(statement)

    def close(self) -> None:
        self._db.close()

    def note(self, keys: Sequence[str]) -> None:
        """Notes new ids; `UsageError` names one that occurred before."""
        listed = json.dumps(keys)
        with storage_errors(self._WHERE):
            query = "SELECT case_id FROM seen WHERE case_id IN (SELECT value FROM json_each(?))"
            repeated = [row[0] for row in self._db.execute(query, (listed,))]
            if not repeated and len(set(keys)) == len(keys):
                self._db.execute("INSERT INTO seen SELECT value FROM json_each(?)", (listed,))
                return
        first = repeated[0] if repeated else next(key for index, key in enumerate(keys) if key in keys[:index])
        raise UsageError(
            f"Two cases have the id {text_of(first)!r}: ids must be unique, because records are stored by case id."
        )

    def defer(self, system_key: str, rows: Iterable[CaseRow]) -> None:
        """Another process has these cases: check them again later."""
        with storage_errors(self._WHERE):
            self._db.executemany(
                "INSERT OR IGNORE INTO deferred VALUES (?, ?, ?)",
                [(system_key, row.key, row.lane) for row in rows],
            )

    def settle(self, system_key: str, keys: Iterable[str]) -> None:
        """These cases need no further check."""
        with storage_errors(self._WHERE):
            self._db.execute(
                "DELETE FROM deferred WHERE system_id = ? AND case_id IN (SELECT value FROM json_each(?))",
                (system_key, json.dumps(list(keys))),
            )

    def deferred(self, system_key: str, keys: Sequence[str]) -> set[str]:
        """Which of these are deferred."""
        with storage_errors(self._WHERE):
            rows = self._db.execute(
                "SELECT case_id FROM deferred WHERE system_id = ? AND case_id IN (SELECT value FROM json_each(?))",
                (system_key, json.dumps(keys)),
            ).fetchall()
        return {row[0] for row in rows}

    def waiting(self, system_key: str, after: int, limit: int) -> list[tuple[int, CaseRow]]:
        """The next deferred cases as (position, row without payload), in the order in which they were deferred."""
        with storage_errors(self._WHERE):
            rows = self._db.execute(
                "SELECT rowid, case_id, lane FROM deferred WHERE rowid > ? AND system_id = ? ORDER BY rowid LIMIT ?",
                (after, system_key, limit),
            ).fetchall()
        return [(row[0], CaseRow(row[1], "", row[2])) for row in rows]
