"""The stream of cases on its way to the workers: in batches of bounded size, checked, with flat memory."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ragstone.errors import UsageError
from ragstone.runs.entries import Want
from ragstone.runs.schema import key_of, text_of
from ragstone.storage import storage_errors
from ragstone.types import Case, to_json

__all__ = ["Item", "Ledger", "batches"]

BATCH_BYTES = 8 * 2**20


@dataclass(slots=True)
class Item:
    """A case and how it is written."""

    case: Case
    want: Want


def batches(cases: Iterable[Case], size: Callable[[], int]) -> Iterator[list[Item]]:
    """The cases in lists of at most `size()` and of about `BATCH_BYTES`. A case that cannot be written is a
    `UsageError` that names it: its record could not say what was asked."""
    batch: list[Item] = []
    wanted, heavy = size(), 0
    for case in cases:
        try:
            payload = to_json(replace(case, lane="") if case.lane else case)  # how it is grouped is no part of it
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError(f"Case {case.id!r} cannot be written as JSON: {' '.join(str(error).split())}.") from error
        batch.append(Item(case, Want(key_of(case.id), payload, key_of(case.lane) if case.lane else "")))
        heavy += len(payload)
        if len(batch) >= wanted or heavy > BATCH_BYTES:
            yield batch
            batch = []
            wanted, heavy = size(), 0
    if batch:
        yield batch


class Ledger:
    """What a run must remember of all its cases: which ids it has seen, and which cases other processes have. It lies
    in a temporary database of SQLite's own, on the disk beyond its first megabyte."""

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
        """These ids come now for the first time; `UsageError` names one that does not."""
        listed = json.dumps(keys)
        with storage_errors(self._WHERE):
            query = "SELECT case_id FROM seen WHERE case_id IN (SELECT value FROM json_each(?))"
            twice = [row[0] for row in self._db.execute(query, (listed,))]
            if not twice and len(set(keys)) == len(keys):
                self._db.execute("INSERT INTO seen SELECT value FROM json_each(?)", (listed,))
                return
        first = twice[0] if twice else next(key for index, key in enumerate(keys) if key in keys[:index])
        raise UsageError(
            f"Two cases have the id {text_of(first)!r}: ids must be unique, because a record is known by its case's id."
        )

    def defer(self, system_key: str, wants: Iterable[Want]) -> None:
        """Another process has these cases: they are looked at again later."""
        with storage_errors(self._WHERE):
            self._db.executemany(
                "INSERT OR IGNORE INTO deferred VALUES (?, ?, ?)",
                [(system_key, want.key, want.lane) for want in wants],
            )

    def settle(self, system_key: str, keys: Iterable[str]) -> None:
        """These cases need no further look."""
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

    def waiting(self, system_key: str, after: int, limit: int) -> list[tuple[int, Want]]:
        """The next deferred cases as (place, want without payload), in the order of their coming."""
        with storage_errors(self._WHERE):
            rows = self._db.execute(
                "SELECT rowid, case_id, lane FROM deferred WHERE rowid > ? AND system_id = ? ORDER BY rowid LIMIT ?",
                (after, system_key, limit),
            ).fetchall()
        return [(row[0], Want(row[1], "", row[2])) for row in rows]
