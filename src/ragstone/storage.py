"""One way to open SQLite, and one thread that groups commits: for the run file, the reply cache and the vectors; and
one way to write any other file, whole or not at all.

Durable means durable here: `synchronous=FULL`, write-ahead logging only where the SQLite library is free of the bug
that can lose a log (https://sqlite.org/wal.html, "the WAL-reset bug"), and nobody is told that something is written
before its commit has returned. A cache needs less: it outlives a killed process without waiting for the disk, and what
a power failure leaves of it may be thrown away.
"""

import asyncio
import concurrent.futures
import contextlib
import errno
import os
import random
import secrets
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any, Literal, TypeAlias, TypeVar, cast

from ragstone.errors import FileLost, StorageError, UsageError

__all__ = [
    "BUSY_SECONDS",
    "GroupWriter",
    "Layout",
    "connect",
    "journal_mode",
    "replacing",
    "storage_errors",
    "write_file",
]

A = TypeVar("A")
T = TypeVar("T")
Target: TypeAlias = "asyncio.Future[Any] | concurrent.futures.Future[Any]"

# How long one process waits for another's lock. Commits take milliseconds; this outlasts a disk that is very busy.
BUSY_SECONDS = 60.0
# How long the first of a group waits for others, and how many may join it. Both bound the time to an acknowledgement.
GATHER_SECONDS = 0.004
GROUP_LIMIT = 512

# Conditions of the place where the file lies: no other work in the same group would fare better.
_ENVIRONMENT = {
    sqlite3.SQLITE_FULL: "the disk is full. Make space, then run the same command again",
    sqlite3.SQLITE_IOERR: "the disk could not be read or written",
    sqlite3.SQLITE_READONLY: "it cannot be written (read-only). Make it writable, then run the same command again",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_PERM: "it may not be opened",
    sqlite3.SQLITE_CORRUPT: "the file is damaged. Use a copy of it, or another file",
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database",
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_LOCKED: "another process keeps it locked",
    sqlite3.SQLITE_PROTOCOL: "another process keeps it locked",
    sqlite3.SQLITE_NOMEM: "memory ran out",
    sqlite3.SQLITE_NOLFS: "the file system cannot hold a file of this size",
}
_WRONG_PLACE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOTADB}


def journal_mode(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> Literal["wal", "delete"]:
    """ "wal" where this SQLite is free of the WAL-reset bug: 3.51.3 and later, 3.50.7 in 3.50, 3.44.6 in 3.44."""
    series = version[:2]
    fixed = version >= (3, 51, 3) or (series == (3, 50) and version[2] >= 7) or (series == (3, 44) and version[2] >= 6)
    return "wal" if fixed else "delete"


@dataclass(frozen=True)
class Layout:
    """What a database of ours holds. `what` names it to a person ("run file"); `application_id` and `version` are
    in the file's header, so that no other file is ever taken for one; `tables` are the statements that make it.
    `durable`: a commit outlives a power failure, too, and so waits for the disk."""

    what: str
    application_id: int
    version: int
    tables: tuple[str, ...]
    durable: bool = True


def _code(error: sqlite3.Error) -> int:
    """The primary result code, 0 where the error did not come from the SQLite library."""
    return int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


@contextlib.contextmanager
def storage_errors(path: object, *, opening: bool = False) -> Iterator[None]:
    """Turns what SQLite reports about the place, the lock or the file into one line: `StorageError`, or `UsageError`
    where a file that cannot be used was named (`opening`). Errors of our own statements pass through."""
    try:
        yield
    except sqlite3.Error as error:
        code = _code(error)
        if code == sqlite3.SQLITE_ERROR and "no such" in str(error):
            raise StorageError(f"{path}: the file is damaged ({error}).") from error
        if code not in _ENVIRONMENT:
            raise
        kind = UsageError if opening and code in _WRONG_PLACE else StorageError
        detail = f" ({error})" if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT) else ""
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            detail = _why_not_writable(Path(str(path))) + ". Name a file in a folder that can be written"
        raise kind(f"{path}: {_ENVIRONMENT[code]}{detail}.") from error


def _why_not_writable(path: Path) -> str:
    """What the operating system says of a file that SQLite cannot open or write: " (Permission denied)"; "" where it
    finds nothing wrong. SQLite writes a second file beside it, so the folder counts, too."""
    try:
        with path.open("r+b"):
            pass
    except FileNotFoundError:
        pass
    except OSError as error:
        return f" ({error.strerror})"
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        return f" (its folder: {error.strerror})"
    return ""


def connect(
    path: str | Path,
    layout: Layout,
    *,
    write: bool = True,
    busy_seconds: float = BUSY_SECONDS,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
) -> sqlite3.Connection:
    """Opens a database of this layout, for use by one thread at a time. Transactions are the caller's (`BEGIN`).

    `write` makes the file, and the folders above it, where there is none. Without it the file must be there and
    nothing in it changes, except that what a killed writer left half done is rolled back. Any other file is left as
    it is and refused with `UsageError`; a lock or a disk that fails is a `StorageError`.
    """
    path = Path(path)
    _check_path(path, write=write)
    with storage_errors(path, opening=True):
        mode = "rwc" if write else "rw"
        uri = path.absolute().as_uri()
        # "rw" for readers too: only a connection that may write can roll back what a killed writer left. SQLite
        # opens the file for reading only where it may not be written.
        connection = sqlite3.connect(
            f"{uri}?mode={mode}",
            uri=True,
            isolation_level=None,
            timeout=busy_seconds,
            check_same_thread=False,
            factory=factory,
        )
        try:
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("BEGIN")  # one state of the file, though another process may be making it
            known = _is_of(connection, path, layout)
            connection.execute("COMMIT")
            if not known:
                if not write:
                    raise UsageError(f"{path} is empty: not a ragstone {layout.what}.")
                _create(connection, path, layout)
            connection.execute(f"PRAGMA synchronous={'FULL' if layout.durable else 'OFF'}")
            if write:
                connection.execute(f"PRAGMA journal_mode={journal_mode()}")
            else:
                connection.execute("PRAGMA query_only=ON")
        except BaseException:
            connection.close()
            raise
    return connection


def _check_path(path: Path, *, write: bool) -> None:
    """Says in words what SQLite would only call "unable to open database file"."""
    if "\0" in str(path):
        raise UsageError(f"{str(path)!r} is not a file name.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file.")
    if write:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = "there is a file of its name" if isinstance(error, FileExistsError) else error.strerror
            raise UsageError(f"{path}: its folder cannot be made ({reason}). Name another folder.") from error
    elif not path.exists():
        raise UsageError(f"{path}: no such file.")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _is_of(connection: sqlite3.Connection, path: Path, layout: Layout) -> bool:
    """True for a database of this layout, False for an empty one; `UsageError` for anything else."""

    application, version = _pragma(connection, "application_id"), _pragma(connection, "user_version")
    if application == 0 and version == 0 and _pragma(connection, "schema_version") == 0:
        return False
    if application != layout.application_id:
        raise UsageError(f"{path} is another program's SQLite database, not a ragstone {layout.what}.")
    if version != layout.version:
        age, advice = ("a newer", "Upgrade ragstone.") if version > layout.version else ("an older", "Use a new file.")
        raise UsageError(
            f"{path} is a {layout.what} of {age} ragstone (format {version}; this one uses {layout.version}). {advice}"
        )
    _check_schema(connection, path, layout)
    return True


def _check_schema(connection: sqlite3.Connection, path: Path, layout: Layout) -> None:
    """`UsageError` for a file whose tables are none: a view or a computed column in a table's place can run for ever,
    and a trigger can do anything."""
    odd = connection.execute(
        "SELECT type, name FROM sqlite_schema"
        " WHERE type NOT IN ('table', 'index') OR sql LIKE 'create virtual%' LIMIT 1"
    ).fetchone() or connection.execute(
        "SELECT 'computed column', c.name FROM sqlite_schema t, pragma_table_xinfo(t.name) c"
        " WHERE t.type = 'table' AND c.hidden <> 0 LIMIT 1"
    ).fetchone()  # fmt: skip
    if odd is not None:
        raise UsageError(
            f"{path} holds a {odd[0]} ({odd[1]!r}), which no {layout.what} of ragstone does. Do not trust it."
        )


def _create(connection: sqlite3.Connection, path: Path, layout: Layout) -> None:
    """All of it in one transaction: whoever opens the file sees all tables or none, whenever its maker is killed."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _is_of(connection, path, layout):  # another process may have been faster
            for statement in layout.tables:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={layout.application_id}")
            connection.execute(f"PRAGMA user_version={layout.version}")
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def _roll_back(connection: sqlite3.Connection) -> None:
    """Ends the transaction where SQLite has not ended it itself, as it does on a full disk."""
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


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
            _roll_back(self._connection)
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
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
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


@contextlib.contextmanager
def replacing(target: str | Path, *, parents: bool = False) -> Iterator[IO[bytes]]:
    """A stream whose bytes become the file `target` when the block has ended well: they are written beside it and moved
    to its place. Until then, and where anything fails, the earlier file is there as it was, and nothing else is left.

    Links are followed, and the permissions of an earlier file are kept. What is no file (a pipe, /dev/stdout) is
    written to directly. `parents` makes the folders above. Raises UsageError, in one line, where the file cannot be
    written.
    """
    path = Path(target)
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                yield stream
            return
        place = Path(os.path.realpath(path))
        if place.exists() and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        beside = place.with_name(f".{place.name[:40]}.{secrets.token_hex(4)}.part")
        try:
            with beside.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())  # a disk may say only now that it is full
            _take_place(beside, place)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"{target}: cannot be written ({error.strerror or error}). Free some space or name another place."
        ) from error


def _take_place(beside: Path, place: Path) -> None:
    if place.exists():
        shutil.copymode(place, beside)
    try:
        beside.replace(place)
    except OSError as error:
        if error.errno != errno.EBUSY:  # a file that is mounted (into a container, say) cannot be moved away
            raise
        shutil.copyfile(beside, place)


def write_file(target: str | Path, content: str | bytes, *, parents: bool = False) -> Path:
    """Write a file whole (see `replacing`); text as UTF-8, its line ends as they are. Returns the path."""
    with replacing(target, parents=parents) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)
    return Path(target)
