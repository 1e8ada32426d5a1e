"""One SQLite file of values by key, for what can be asked for again: every failure of it is a miss, never an error.

A file that is damaged is put aside and begun anew; one that is locked, full or in a place where none can be made is not
used. The first failure of a kind is logged.
"""

import contextlib
import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragstone.errors import StorageError, UsageError
from ragstone.storage import GroupWriter, Layout, connect

if TYPE_CHECKING:
    from asyncio import Future

__all__ = ["KeyedFile"]

log = logging.getLogger(__name__)

_BUSY_SECONDS = 2.0
_TROUBLE = (StorageError, UsageError, sqlite3.Error, OSError)
# Keys in one statement.
_MANY = 500


class KeyedFile:
    """The file at `path`, whose one table is `table` with the columns key and value, in this order. To be used in one
    event loop, between `open` and `close`; before and after, it holds nothing."""

    def __init__(self, path: Path, layout: Layout, table: str) -> None:
        self.path, self._layout = path, layout
        self._select = f"SELECT * FROM {table} WHERE key IN ({{}})"
        self._insert = f"INSERT OR REPLACE INTO {table} VALUES (?, ?)"
        self._reader: sqlite3.Connection | None = None
        self._writer: GroupWriter | None = None
        self._spent: GroupWriter | None = None  # one that failed, until `close`
        self._damaged = False  # found while it was used: put aside at the end, so that the next run begins anew
        self._on_the_way: dict[bytes, Any] = {}  # what was put and is not in the file yet

    def open(self) -> None:
        """Opens the file. One that is damaged is put aside; where none can be made, nothing is kept."""
        for attempt in (1, 2):
            try:
                self._open()
                return
            except _TROUBLE as error:
                self.close()
                if attempt == 1 and self._put_aside():
                    log.warning("The %s was damaged (%s); it was put aside and begins anew.", self._layout.what, error)
                    continue
                advice = "Set XDG_CACHE_HOME to a folder that can be written; until then everything is asked for again."
                log.warning("There is no %s for now: %s %s", self._layout.what, error, advice)
                return

    def _open(self) -> None:
        self._writer = GroupWriter(self.path, self._layout, busy_seconds=_BUSY_SECONDS)
        self._reader = connect(self.path, self._layout, write=False, busy_seconds=_BUSY_SECONDS)
        found = self._reader.execute("PRAGMA quick_check(1)").fetchone()[0] if self._small() else "ok"
        if found != "ok":
            raise StorageError(f"{self.path}: {found}")

    def _small(self) -> bool:
        """Whether the file can be checked in some milliseconds. A larger one is trusted until it disappoints."""
        return self.path.stat().st_size < 16 * 1024 * 1024

    def _put_aside(self) -> bool:
        if not self.path.is_file():
            return False
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_suffix(".damaged"))
            for tail in ("-journal", "-wal", "-shm"):
                Path(f"{self.path}{tail}").unlink(missing_ok=True)
            return True
        return False

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """The values that are there, by key."""
        found = {key: self._on_the_way[key] for key in keys if key in self._on_the_way}
        asked = [key for key in keys if key not in found]
        try:
            for start in range(0, len(asked) if self._reader is not None else 0, _MANY):
                some = asked[start : start + _MANY]
                assert self._reader is not None
                found.update(self._reader.execute(self._select.format(",".join("?" * len(some))), some))
        except sqlite3.Error as error:
            self._give_up(error)
        return found

    def put(self, rows: Sequence[tuple[bytes, Any]]) -> None:
        """Stores values soon. Nobody waits for it: what a crash loses is asked for again."""
        if self._writer is None or not rows:
            return
        try:
            done = self._writer.submit_item(self._write, rows)
        except StorageError as error:
            self._give_up(error)
            return
        self._on_the_way.update(rows)
        done.add_done_callback(lambda future: self._written(rows, future))

    def _write(self, connection: sqlite3.Connection, groups: Sequence[Sequence[tuple[bytes, Any]]]) -> Sequence[None]:
        connection.executemany(self._insert, [row for rows in groups for row in rows])
        return [None] * len(groups)

    def _written(self, rows: Sequence[tuple[bytes, Any]], done: "Future[None]") -> None:
        for key, _ in rows:
            self._on_the_way.pop(key, None)
        if not done.cancelled() and (error := done.exception()):
            self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        if self._reader or self._writer:
            log.warning("The %s is not used any more in this run: %s", self._layout.what, error)
        self._damaged |= isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        # Not closed: writes may still be on their way to it. `close` does that.
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
        self._spent, self._writer = self._writer, None

    def close(self) -> None:
        """Finishes what is being written."""
        for writer in (self._writer, self._spent):
            if writer is not None:
                writer.close()
        if self._reader is not None:
            self._reader.close()
        self._writer = self._spent = self._reader = None
        if self._damaged and self._put_aside():
            self._damaged = False
