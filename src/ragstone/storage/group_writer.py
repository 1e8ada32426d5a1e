"""One thread that groups commits. Nobody is told that something is written before its commit has returned."""

import asyncio
import concurrent.futures
import contextlib
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, TypeVar, cast

from ragstone.errors import FileLost, StorageError
from ragstone.storage.database import BUSY_SECONDS, Layout, connect, result_code, roll_back, storage_errors

__all__ = ["GATHER_SECONDS", "GROUP_LIMIT", "GroupWriter"]

A = TypeVar("A")
T = TypeVar("T")
Target: TypeAlias = "asyncio.Future[Any] | concurrent.futures.Future[Any]"

# How long the first of a group waits for others, and how many may join it. Both bound the time to an acknowledgement.
GATHER_SECONDS = 0.004
GROUP_LIMIT = 512


@dataclass(slots=True)
class _Job:
    """`together`: `work` takes a list of items and returns as many results; neighbours with the same are one call."""

    work: Callable[..., Any]
    item: Any
    together: bool
    target: Target
    due: float  # monotonic seconds: when its group must begin at the latest
    result: Any = None
    error: BaseException | None = None


class GroupWriter:
    """One thread that does all the writing of a process to a database, many pieces of work in each commit.

    A piece of work is a function of the connection, already inside a transaction; it may be called twice (once
    more alone, if another of its group fails), so it must leave nothing behind but its statements. Its result comes
    back only after the commit that holds it, and a failure of the place (a full disk, a lock that is never released)
    comes back as `StorageError` to each in the group: none of them is in the file then.
    """

    def __init__(
        self,
        path: str | Path,
        layout: Layout,
        *,
        gather: float = GATHER_SECONDS,
        busy_seconds: float = BUSY_SECONDS,
        factory: type[sqlite3.Connection] = sqlite3.Connection,
    ) -> None:
        self.path = Path(path)
        self._gather = gather
        self._busy_seconds = busy_seconds
        self._connection = connect(path, layout, busy_seconds=busy_seconds, factory=factory)
        self._connection.execute("PRAGMA busy_timeout=0")  # `_patiently` waits
        self._identity = _identity(self.path)
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._closed = False
        self._door = threading.Lock()  # nothing is submitted after the end was: it would be waited for for ever
        # A daemon, so that a program that ends without `close` ends: what was acknowledged is on the disk already.
        self._thread = threading.Thread(target=self._serve, name=f"writer of {self.path.name}", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], T], *, soon: bool = False) -> "asyncio.Future[T]":
        """An awaitable that is done when the commit with `work` has returned. `soon`: no waiting for others."""
        target = asyncio.get_running_loop().create_future()
        return cast("asyncio.Future[T]", self._put(work, target, soon=soon))

    def submit_item(
        self, work: Callable[[sqlite3.Connection, Sequence[A]], Sequence[T]], item: A
    ) -> "asyncio.Future[T]":
        """Like `submit`, for many small pieces of one kind: `work` gets all that fall in one group at once, in their
        order, and returns a result for each. Few statements for many rows cost far less than many statements."""
        target = asyncio.get_running_loop().create_future()
        return cast("asyncio.Future[T]", self._put(work, target, item=item, together=True))

    def call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Does `work` and waits for its commit: for code that runs in no event loop."""
        target: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._put(work, target, soon=True)
        return target.result()

    def _put(
        self, work: Callable[..., Any], target: Target, *, soon: bool = False, item: Any = None, together: bool = False
    ) -> Target:
        job = _Job(work, item, together, target, time.monotonic() + (0.0 if soon else self._gather))
        with self._door:
            if self._closed:
                raise StorageError(f"{self.path}: it was closed before everything was written.")
            self._jobs.put(job)
        return target

    def close(self) -> None:
        """Writes what was submitted, and lets go of the file. It stays one file: no log is left beside it."""
        with self._door:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        with contextlib.suppress(sqlite3.Error):
            if self._connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                self._connection.execute("PRAGMA journal_mode=delete")  # fails where others still use it: well so
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def __enter__(self) -> "GroupWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- in the thread -----------------------------------------------------------------------------------------

    def _serve(self) -> None:
        running = True
        while running:
            group, running = self._next_group()
            if group:
                self._write(group)
                _settle(group)

    def _next_group(self) -> tuple[list[_Job], bool]:
        """The next jobs to commit together, and whether more may come."""
        first = self._jobs.get()
        if first is None:
            return [], False
        group = [first]
        # Those that came while the last commit ran have waited already, so `due` counts from their submission.
        while (rest := min(job.due for job in group) - time.monotonic()) > 0 and not self._closed:
            time.sleep(rest)
            if not self._drain(group):
                return group, False
        return group, self._drain(group)

    def _drain(self, group: list[_Job]) -> bool:
        """Adds what is waiting; False when that was the last."""
        while len(group) < GROUP_LIMIT:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return True
            if job is None:
                return False
            group.append(job)
        return True

    def _write(self, group: list[_Job]) -> None:
        try:
            self._transaction(group)
        except BaseException as error:  # whatever it is, those who wait must hear of it, and the thread goes on
            if len(group) > 1 and not isinstance(error, StorageError):
                for job in group:  # one of them is at fault: each for itself, so that the others are kept
                    self._write([job])
                return
            for job in group:
                # No future takes a StopIteration, which `next` raises where a query finds no row.
                job.error = RuntimeError(repr(error)) if isinstance(error, StopIteration) else error
                job.result = None

    def _transaction(self, group: list[_Job]) -> None:
        try:
            with storage_errors(self.path):
                self._commit(group)
        except (sqlite3.Error, StorageError):
            self.check_there()
            raise
        self.check_there()  # SQLite goes on writing to a file that no folder names any more

    def check_there(self) -> None:
        """`FileLost` where the file that was opened is not at its path any more."""
        if (found := _identity(self.path)) == self._identity:
            return
        what = "deleted" if found is None else "replaced by another"
        if not self.path.parent.is_dir():
            what = "deleted together with its folder"
        raise FileLost(
            f"{self.path}: the file was {what} while it was in use, and what was written to it is lost with it. "
            "Put it back if you have it, or name another file; then run the same command again."
        )

    def _commit(self, group: list[_Job]) -> None:
        self._patiently("BEGIN IMMEDIATE")
        try:
            for (work, together), jobs in groupby(group, key=lambda job: (job.work, job.together)):
                _perform(self._connection, work, list(jobs), together=together)
            self._patiently("COMMIT")
        except BaseException:
            roll_back(self._connection)
            raise

    def _patiently(self, statement: str) -> None:
        """Executes a statement that may find the file locked. SQLite's own way of waiting sleeps longer and longer,
        so that of several busy processes one can wait for seconds; looking often gives each its turn."""
        give_up = time.monotonic() + self._busy_seconds
        while True:
            try:
                self._connection.execute(statement)
                return
            except sqlite3.OperationalError as error:
                if result_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                    raise
            time.sleep(random.uniform(0.0005, 0.003))


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another at the same path; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _perform(connection: sqlite3.Connection, work: Callable[..., Any], jobs: list[_Job], *, together: bool) -> None:
    if together:
        results = work(connection, [job.item for job in jobs])
        for job, result in zip(jobs, results, strict=True):
            job.result, job.error = result, None
    else:
        for job in jobs:
            job.result, job.error = work(connection), None


def _settle(group: list[_Job]) -> None:
    """Hands the results over: one wake-up of each event loop for a whole group."""
    loops: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in group:
        if isinstance(job.target, asyncio.Future):
            loops.setdefault(job.target.get_loop(), []).append(job)
        else:
            _settle_one(job)
    for loop, jobs in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(_settle_all, jobs)


def _settle_all(jobs: list[_Job]) -> None:
    for job in jobs:
        _settle_one(job)


def _settle_one(job: _Job) -> None:
    if job.target.done():  # cancelled: the work is in the file all the same
        return
    if job.error is None:
        job.target.set_result(job.result)
    elif isinstance(job.error, StorageError):
        # Each waiter gets its own, so that no traceback grows from one to the next.
        job.target.set_exception(type(job.error)(*job.error.args))
    else:
        job.target.set_exception(job.error)
