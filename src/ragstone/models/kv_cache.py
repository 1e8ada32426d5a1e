"""An SQLite file of values by key, for what can be requested again: every failure is a miss, never an error.

A damaged file is renamed and a new one is started; one that is locked, full or cannot be created is not used. The first
failure of a kind is logged.
"""

import contextlib
import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragstone.errors import StorageError, UsageError
from ragstone.storage import GroupWriter, Layout, Written, connect

log = logging.getLogger(__name__)

_BUSY_SECONDS = 2.0
_CACHE_ERRORS = (StorageError, UsageError, sqlite3.Error, OSError)
# Keys in one statement.
_MAX_KEYS = 500


class KeyedFile:
    """The file at `path`, with one table `table` of two columns, key and value. For use in one event loop, between
    `open` and `close`; before and after that it is empty. `writes`: False for one that is only read, if it exists."""

    def __init__(self, path: Path, layout: Layout, table: str, *, writes: bool = True) -> None:
        self.path, self._layout, self._writes = path, layout, writes
        self._select = f"SELECT * FROM {table} WHERE key IN ({{}})"
        self._insert = f"INSERT OR REPLACE INTO {table} VALUES (?, ?)"
        self._reader: sqlite3.Connection | None = None
        self._writer: GroupWriter | None = None
        self._failed_writer: GroupWriter | None = None  # kept until `close`
        self._damaged = False  # found during use: the file is renamed at the end, so that the next run starts a new one
        self._pending: dict[bytes, Any] = {}  # values that are not in the file yet

    def open(self) -> None:
        """Opens the file. A damaged one is renamed; if none can be created, nothing is stored."""
        for attempt in (1, 2):
            try:
                self._open()
                return
            except _CACHE_ERRORS as error:
                self.close()
                if attempt == 1 and self._rename_damaged():
                    log.warning(
                        "The %s was damaged (%s); it was renamed to *.damaged, and a new one is used.",
                        self._layout.what,
                        error,
                    )
                    continue
                advice = "Set XDG_CACHE_HOME to a writable folder; until then everything is requested again."
                log.warning("The %s cannot be used: %s %s", self._layout.what, error, advice)
                return

    def _open(self) -> None:
        if not (self._writes or self.path.is_file()):
            return
        if self._writes:
            self._writer = GroupWriter(self.path, self._layout, busy_seconds=_BUSY_SECONDS)
        self._reader = connect(self.path, self._layout, write=False, busy_seconds=_BUSY_SECONDS)
        result = self._reader.execute("PRAGMA quick_check(1)").fetchone()[0] if self._small() else "ok"
        if result != "ok":
            raise StorageError(f"{self.path}: {result}")

    def _small(self) -> bool:
        """Whether the file can be checked in milliseconds. A larger one is trusted until it fails."""
        return self.path.stat().st_size < 16 * 1024 * 1024

    def _rename_damaged(self) -> bool:
        if not self.path.is_file():
            return False
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_suffix(".damaged"))
            for tail in ("-journal", "-wal", "-shm"):
                Path(f"{self.path}{tail}").unlink(missing_ok=True)
            return True
        return False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """The stored values, by key."""
        values = {key: self._pending[key] for key in keys if key in self._pending}
        unread = [key for key in keys if key not in values]
        try:
            for start in range(0, len(unread) if self._reader is not None else 0, _MAX_KEYS):
                batch = unread[start : start + _MAX_KEYS]
                assert self._reader is not None
                values.update(self._reader.execute(self._select.format(",".join("?" * len(batch))), batch))
        except sqlite3.Error as error:
            self._give_up(error)
        return values

    def put(self, rows: Sequence[tuple[bytes, Any]]) -> None:
        """Stores values soon. Nothing waits for it: what a crash loses is requested again."""
        if self._writer is None or not rows:
            return
        try:
            done = self._writer.submit_item(self._write, rows)
        except StorageError as error:
            self._give_up(error)
            return
        self._pending.update(rows)
        done.then(lambda written: self._written(rows, written))

    def _write(self, connection: sqlite3.Connection, groups: Sequence[Sequence[tuple[bytes, Any]]]) -> Sequence[None]:
        connection.executemany(self._insert, [row for rows in groups for row in rows])
        return [None] * len(groups)

    def _written(self, rows: Sequence[tuple[bytes, Any]], written: Written[None]) -> None:
        for key, _ in rows:
            self._pending.pop(key, None)
        if error := written.exception():
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        if self._reader or self._writer:
            log.warning("The %s is not used any more in this run: %s", self._layout.what, error)
        self._damaged |= isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        # The writer may have pending writes; `close` closes it.
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
        self._failed_writer, self._writer = self._writer, None

    def close(self) -> None:
        """Finishes all writing and closes the file."""
        for writer in (self._writer, self._failed_writer):
            if writer is not None:
                writer.close()
        if self._reader is not None:
            self._reader.close()
        self._writer = self._failed_writer = self._reader = None
        if self._damaged and self._rename_damaged():
            self._damaged = False
