"""One thread that groups commits. A write is acknowledged only after its commit has returned."""

import asyncio
import concurrent.futures
import contextlib
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeAlias, TypeVar, cast

from ragstone.errors import FileDamaged, FileLost, StorageError
from ragstone.storage.database import BUSY_SECONDS, Layout, connect, result_code, roll_back, storage_errors

A = TypeVar("A")
T = TypeVar("T")
Target: TypeAlias = "asyncio.Future[Any] | concurrent.futures.Future[Any] | Written[Any]"

# How long the first of a group waits for others, and how many may join it. Both limit the time to acknowledge; a commit
# costs half a millisecond of CPU, as much as a request does.
GATHER_SECONDS = 0.05
GROUP_LIMIT = 512


class Written(Generic[T]):
    """A piece of work on its way to the file: a future for thousands a second. What follows its commit is called at
    once, in the event loop, without a turn of the loop for each."""

    __slots__ = ("_calls", "_error", "_loop", "_result", "ended")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self.ended = loop, False
        self._calls: list[Callable[[Written[T]], None]] = []
        self._result: Any = None
        self._error: BaseException | None = None

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def then(self, call: "Callable[[Written[T]], None]") -> None:
        """Calls this when the commit has returned or failed."""
        if self.ended:
            call(self)
        else:
            self._calls.append(call)

    def done(self) -> bool:
        return self.ended

    def exception(self) -> BaseException | None:
        """Why it failed; None if it is in the file."""
        return self._error

    def result(self) -> T:
        """What the work returned; its error is raised."""
        if self._error is not None:
            raise self._error
        return cast("T", self._result)

    def set_result(self, result: Any) -> None:
        self._result = result
        self._end()

    def set_exception(self, error: BaseException) -> None:
        self._error = error
        self._end()

    def _end(self) -> None:
        self.ended = True
        calls, self._calls = self._calls, []
        for call in calls:
            try:
                call(self)
            except Exception as error:  # as of a callback of a future: the others of the group go on
                self._loop.call_exception_handler({"message": "after a commit", "exception": error})

    def __await__(self) -> Generator[Any, None, T]:
        if not self.ended:
            future = self._loop.create_future()
            self.then(lambda _: None if future.done() else future.set_result(None))
            yield from future
        return self.result()


@dataclass(slots=True)
class _Submission:
    """`together`: `work` takes a list of items and returns as many results; neighbours with the same `work` share a
    call."""

    work: Callable[..., Any]
    item: Any
    together: bool
    target: Target
    due: float  # monotonic seconds: when its group must begin at the latest
    result: Any = None
    error: BaseException | None = None


class GroupWriter:
    """One thread that does all the writing of a process to a database, many pieces of work in each commit.

    A piece of work is a function of the connection, called inside a transaction. It may be called twice (again alone,
    if another of its group fails), so its statements must be its only effect. Its result comes back only after its
    commit. If the disk fails (it is full, or a lock is never released), everyone in the group gets a `StorageError`,
    and none of the group is in the file.
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
        self._connection.execute("PRAGMA busy_timeout=0")  # `_execute_when_free` waits
        self._identity, self._size = _identity(self.path), 0
        self._queue: SimpleQueue[_Submission | None] = SimpleQueue()
        self._closed = False
        self._hurry = threading.Event()  # the next group begins now
        self._lock = threading.Lock()  # nothing is submitted after the end, where it would wait forever
        # A daemon, so that a program can end without `close`: what was acknowledged is on the disk already.
        self._thread = threading.Thread(target=self._serve, name=f"writer of {self.path.name}", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], T], *, soon: bool = False) -> "asyncio.Future[T]":
        """A future that is done when the commit with `work` has returned. `soon`: does not wait for others."""
        target = asyncio.get_running_loop().create_future()
        return cast("asyncio.Future[T]", self._put(work, target, soon=soon))

    def submit_item(self, work: Callable[[sqlite3.Connection, Sequence[A]], Sequence[T]], item: A) -> Written[T]:
        """Like `submit`, for many small items of one kind: `work` gets all items of a group at once, in order, and
        returns a result for each. Few statements for many rows cost far less than many statements."""
        target = Written[T](asyncio.get_running_loop())
        self._put(work, target, item=item, together=True)
        return target

    def call(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Does `work` and waits for its commit, for code outside an event loop."""
        target: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._put(work, target, soon=True)
        return target.result()

    def _put(
        self, work: Callable[..., Any], target: Target, *, soon: bool = False, item: Any = None, together: bool = False
    ) -> Target:
        submission = _Submission(work, item, together, target, time.monotonic() + (0.0 if soon else self._gather))
        with self._lock:
            if self._closed:
                raise StorageError(f"{self.path} was closed before everything was written. Run the same command again.")
            self._queue.put(submission)
        if soon:
            self.hurry()
        return target

    def hurry(self) -> None:
        """Somebody waits: what was submitted is committed now."""
        self._hurry.set()

    def close(self) -> None:
        """Writes what was submitted and closes the file. No log is left beside it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        self.hurry()
        self._thread.join()
        with contextlib.suppress(sqlite3.Error):
            if self._connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                self._connection.execute("PRAGMA journal_mode=delete")  # fails, as it should, while others use it
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

    def _next_group(self) -> tuple[list[_Submission], bool]:
        """The next submissions to commit together, and whether more may come."""
        first = self._queue.get()
        if first is None:
            return [], False
        group = [first]
        # Those that came during the last commit have waited already, so `due` counts from their submission.
        if (rest := first.due - time.monotonic()) > 0:
            self._hurry.wait(rest)
        self._hurry.clear()
        return group, self._drain(group)

    def _drain(self, group: list[_Submission]) -> bool:
        """Adds what is waiting; False if that was the last."""
        while len(group) < GROUP_LIMIT:
            try:
                submission = self._queue.get_nowait()
            except Empty:
                return True
            if submission is None:
                return False
            group.append(submission)
        return True

    def _write(self, group: list[_Submission]) -> None:
        try:
            self._transaction(group)
        except BaseException as error:  # those who wait must get any error, and the thread goes on
            if len(group) > 1 and not isinstance(error, StorageError):
                for submission in group:  # retry each alone, so that one failure does not lose the others
                    self._write([submission])
                return
            for submission in group:
                # A future cannot hold a StopIteration, which `next` raises if a query has no row.
                submission.error = RuntimeError(repr(error)) if isinstance(error, StopIteration) else error
                submission.result = None

    def _transaction(self, group: list[_Submission]) -> None:
        try:
            with storage_errors(self.path):
                self._commit(group)
        except (sqlite3.Error, StorageError):
            self.check_there()
            raise
        self.check_there()  # and to a deleted one

    def _check_size(self) -> None:
        """`FileDamaged` if the file is smaller than before: a database of ours only grows."""
        try:
            size = self.path.stat().st_size
        except OSError:  # `check_there` says why
            return
        if size < self._size:
            raise FileDamaged(f"{self.path}: the file was cut short while it was in use.")
        self._size = size

    def check_there(self) -> None:
        """`FileLost` if the file that was opened is not at its path any more."""
        if (current := _identity(self.path)) == self._identity:
            return
        what = "deleted" if current is None else "replaced by another"
        if not self.path.parent.is_dir():
            what = "deleted together with its folder"
        raise FileLost(
            f"{self.path}: the file was {what} while it was in use, and what was written to it is lost with it. "
            "Put it back if you have it, or name another file; then run the same command again."
        )

    def _commit(self, group: list[_Submission]) -> None:
        self._execute_when_free("BEGIN IMMEDIATE")
        try:
            self._check_size()  # SQLite goes on writing to a file that was cut short
            for (work, together), submissions in groupby(
                group, key=lambda submission: (submission.work, submission.together)
            ):
                _perform(self._connection, work, list(submissions), together=together)
            self._check_size()
            self._execute_when_free("COMMIT")
        except BaseException:
            roll_back(self._connection)
            raise

    def _execute_when_free(self, statement: str) -> None:
        """Executes a statement when the file is not locked. SQLite's own waiting sleeps longer and longer, so that one
        of several busy processes can wait for seconds; frequent attempts give each its turn."""
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
    """What distinguishes a file from another at the same path; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _perform(
    connection: sqlite3.Connection, work: Callable[..., Any], submissions: list[_Submission], *, together: bool
) -> None:
    if together:
        results = work(connection, [submission.item for submission in submissions])
        for submission, result in zip(submissions, results, strict=True):
            submission.result, submission.error = result, None
    else:
        for submission in submissions:
            submission.result, submission.error = work(connection), None


def _settle(group: list[_Submission]) -> None:
    """Hands over the results, with one wake-up of each event loop for a whole group."""
    loops: dict[asyncio.AbstractEventLoop, list[_Submission]] = {}
    for submission in group:
        if not isinstance(submission.target, concurrent.futures.Future):
            loops.setdefault(submission.target.get_loop(), []).append(submission)
        else:
            _settle_submission(submission)
    for loop, submissions in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop has ended, so nobody waits
            loop.call_soon_threadsafe(_settle_all, submissions)


def _settle_all(submissions: list[_Submission]) -> None:
    for submission in submissions:
        _settle_submission(submission)


def _settle_submission(submission: _Submission) -> None:
    if submission.target.done():  # cancelled, although the work is in the file
        return
    if submission.error is None:
        submission.target.set_result(submission.result)
    elif isinstance(submission.error, StorageError):
        # A copy for each, because tracebacks grow when an error is raised several times.
        submission.target.set_exception(type(submission.error)(*submission.error.args))
    else:
        submission.target.set_exception(submission.error)
