"""One way to open SQLite: with a safe journal, only files of ours, and with errors of one line.

Durable databases use `synchronous=FULL`, and write-ahead logging only if the SQLite library is free of the bug that can
lose a log (https://sqlite.org/wal.html, "the WAL-reset bug"). A cache needs less: it survives a killed process without
waiting for the disk, and may be deleted after a power failure.
"""

import contextlib
import functools
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from ragstone.errors import FileDamaged, StorageError, UsageError

# How long one process waits for another's lock. Commits take milliseconds; this is enough for a very busy disk.
BUSY_SECONDS = 60.0
# Rows in one INSERT. A statement is prepared for each size that occurs, so sizes are powers of two.
_LARGEST_INSERT = 64
# Conditions of the file or its disk: other work in the same group would fail, too.
_ENVIRONMENT = {
    sqlite3.SQLITE_FULL: "the disk is full. Make space, then run the same command again",
    sqlite3.SQLITE_IOERR: "the disk could not be read or written",
    sqlite3.SQLITE_READONLY: "it cannot be written (read-only). Make it writable, then run the same command again",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened. Check the path and its permissions",
    sqlite3.SQLITE_PERM: "it may not be opened. Check the path and its permissions",
    sqlite3.SQLITE_CORRUPT: "the file is damaged. Use a copy of it, or another file",
    sqlite3.SQLITE_NOTADB: "it is not an SQLite database. Name another file",
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_LOCKED: "another process keeps it locked",
    sqlite3.SQLITE_PROTOCOL: "another process keeps it locked",
    sqlite3.SQLITE_NOMEM: "memory ran out",
    sqlite3.SQLITE_NOLFS: "the file system cannot hold a file of this size",
}
_DETAILED = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT)
_NO_UTF8 = "Could not decode to UTF-8"
_BAD_INPUT = {
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}  # fmt: skip


def journal_mode(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> Literal["wal", "delete"]:
    """ "wal" where this SQLite is free of the WAL-reset bug: 3.51.3 and later, 3.50.7 in 3.50, 3.44.6 in 3.44."""
    series = version[:2]
    fixed = version >= (3, 51, 3) or (series == (3, 50) and version[2] >= 7) or (series == (3, 44) and version[2] >= 6)
    return "wal" if fixed else "delete"


@dataclass(frozen=True)
class Layout:
    """The layout of a database of ours. `what` is its name in messages ("run file"); `application_id` and `version` are
    in the file's header, so that no other file is mistaken for one; `tables` are the statements that create it.
    `durable`: a commit survives a power failure, too, and therefore waits for the disk. `page_size`: bytes of a page of
    a new file; 0: SQLite's own. `cache`: KiB of pages that a writer keeps; what one transaction changes should fit.
    `remedy`: what to do about a damaged one, with its {path}."""

    what: str
    application_id: int
    version: int
    tables: tuple[str, ...]
    durable: bool = True
    page_size: int = 0
    cache: int = 2000
    remedy: str = ""


def result_code(error: sqlite3.Error) -> int:
    """The primary result code, 0 if the error did not come from the SQLite library. Text that is not UTF-8, which
    Python cannot read, is damage."""
    if str(error).startswith(_NO_UTF8):
        return sqlite3.SQLITE_CORRUPT
    return int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


@contextlib.contextmanager
def storage_errors(path: object, *, as_input: bool = False, layout: Layout | None = None) -> Iterator[None]:
    """Turns what SQLite reports about the disk, the lock or the file into one line: a `StorageError`, or a `UsageError`
    if a file that the user named (`as_input`) is damaged or unusable. Errors in our own statements pass through. What
    to do about a damaged file of `layout` is its remedy."""
    try:
        yield
    except sqlite3.Error as error:
        code = result_code(error)
        if code == sqlite3.SQLITE_ERROR and "no such" in str(error):
            raise (UsageError if as_input else FileDamaged)(f"{path}: the file is damaged ({error}).") from error
        if code not in _ENVIRONMENT:
            raise
        damaged = code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        kind = UsageError if as_input and code in _BAD_INPUT else FileDamaged if damaged else StorageError
        detail = f" ({str(error).partition(' with text ')[0]})" if code in _DETAILED else ""
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            detail = _why_not_writable(Path(str(path))) + ". Name a file in a writable folder"
        if layout and layout.remedy and code == sqlite3.SQLITE_CORRUPT and _was_of(Path(str(path)), layout):
            problem = str(error).partition(" with text ")[0]
            raise kind(f"{path}: the file is damaged ({problem}). {layout.remedy.format(path=path)}") from error
        raise kind(f"{path}: {_ENVIRONMENT[code]}{detail}.") from error


def _was_of(path: Path, layout: Layout) -> bool:
    """Whether the header of a damaged file says that it was one of this layout."""
    try:
        with path.open("rb") as file:
            return file.read(72)[68:] == layout.application_id.to_bytes(4, "big")
    except OSError:
        return False


def _why_not_writable(path: Path) -> str:
    """Why the operating system refuses a file that SQLite cannot open or write: " (Permission denied)"; "" if it does
    not. SQLite writes a second file beside it, so the folder is checked, too."""
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
    cut: bool = False,
) -> sqlite3.Connection:
    """Opens a database of this layout, for use by one thread at a time. Transactions are the caller's (`BEGIN`).

    `write` creates the file and the folders above it if needed. Without it the file must exist, and nothing in it
    changes, except that the unfinished transaction of a killed writer is rolled back. Any other file is left unchanged
    and refused with `UsageError`; a lock or a failing disk is a `StorageError`. `cut`: one that is shorter than it says
    is opened, too; reading what it lacks then fails.
    """
    path = Path(path)
    _check_path(path, write=write)
    with storage_errors(path, as_input=True, layout=layout):
        mode = "rwc" if write else "rw"
        uri = path.absolute().as_uri()
        # "rw" for readers, too: only a connection that may write can roll back what a killed writer left. SQLite opens
        # a file that is not writable for reading only.
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
            if cut:  # it is read only, see below: nothing writes its schema
                connection.execute("PRAGMA writable_schema=ON")
            connection.execute("BEGIN")  # one state of the file, even while another process creates it
            known = _has_layout(connection, path, layout, cut=cut)
            connection.execute("COMMIT")
            if not known:
                if not write:
                    raise UsageError(f"{path} is empty: not a ragstone {layout.what}.")
                _create(connection, path, layout)
            connection.execute(f"PRAGMA synchronous={'FULL' if layout.durable else 'OFF'}")
            if write:
                connection.execute(f"PRAGMA journal_mode={journal_mode()}")
                connection.execute(f"PRAGMA cache_size=-{layout.cache}")
            else:
                connection.execute("PRAGMA query_only=ON")
        except BaseException:
            connection.close()
            raise
    return connection


def _check_path(path: Path, *, write: bool) -> None:
    """Explains what SQLite would only call "unable to open database file"."""
    if "\0" in str(path):
        raise UsageError(f"{str(path)!r} is not a file name.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a file.")
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is a pipe or a device: name a file.")
    if write:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = "a file has its name" if isinstance(error, FileExistsError) else error.strerror
            raise UsageError(f"{path}: its folder cannot be created ({reason}). Name another folder.") from error
    elif not path.exists():
        raise UsageError(f"{path}: no such file.")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _has_layout(connection: sqlite3.Connection, path: Path, layout: Layout, *, cut: bool = False) -> bool:
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
    _check_schema(connection, path, layout, cut=cut)
    return True


# What ANALYZE creates, which a user may have run: statistics for the query planner.
_STATISTICS = frozenset(
    ("table", name, name, f"CREATE TABLE {name}({columns})")
    for name, columns in (("sqlite_stat1", "tbl,idx,stat"), ("sqlite_stat4", "tbl,idx,neq,nlt,ndlt,sample"))
)


def _check_schema(connection: sqlite3.Connection, path: Path, layout: Layout, *, cut: bool) -> None:
    """`UsageError` for a file with a missing, foreign or changed table, index, view or trigger: a constraint, an index
    on an expression, a computed column or a view can run forever, and a trigger can do anything."""
    expected = _schema(layout)
    objects = _objects(connection, limit=len(expected) + len(_STATISTICS) + 1)
    if unknown := next((item for item in objects if item not in expected | _STATISTICS), None):
        if unknown[0] is None:  # of a page that was cut within
            raise UsageError(f"{path}: the file is damaged (its list of tables is cut short). {_remedy(layout, path)}")
        article = "an" if unknown[0] == "index" else "a"
        raise UsageError(
            f"{path} has {article} {unknown[0]} ({unknown[1]!r}) that ragstone did not create: somebody altered this "
            f"{layout.what}. Do not trust it; use the original."
        )
    if (missing := expected - set(objects)) and not cut:
        kind, name, *_ = min(missing, key=str)
        raise UsageError(f"{path} has lost its {kind} {name!r}. {_remedy(layout, path)}")


def _remedy(layout: Layout, path: Path) -> str:
    return layout.remedy.format(path=path) or f"Use a copy of this {layout.what}, or another one."


def _objects(connection: sqlite3.Connection, limit: int = -1) -> list[tuple[str, str, str, str]]:
    """Everything in a database: type, name, table, and the statement that created it, with single spaces."""
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema LIMIT ?", (limit,))
    return [(kind, name, table, " ".join((sql or "").split())) for kind, name, table, sql in rows]


@functools.cache
def _schema(layout: Layout) -> frozenset[tuple[str, str, str, str]]:
    """The objects that SQLite creates from a layout."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for statement in layout.tables:
            connection.execute(statement)
        return frozenset(_objects(connection))


def _create(connection: sqlite3.Connection, path: Path, layout: Layout) -> None:
    """Creates everything in one transaction: even if this process is killed, others see all tables or none."""
    if layout.page_size:  # it has no effect on a file that another process has just created
        connection.execute(f"PRAGMA page_size={layout.page_size}")
    with transaction(connection):
        if not _has_layout(connection, path, layout):  # another process may have created it
            for statement in layout.tables:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={layout.application_id}")
            connection.execute(f"PRAGMA user_version={layout.version}")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that excludes other writers. Nothing of it remains if the block or the commit fails. Raises what
    SQLite does (see `storage_errors`)."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def insert(connection: sqlite3.Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> int:
    """Inserts the rows, many per statement (in place of `{}`); returns how many were inserted or updated."""
    count, start = 0, 0
    while start < len(rows):
        size = min(_LARGEST_INSERT, 1 << ((len(rows) - start).bit_length() - 1))
        marks = ",".join(["(" + ",".join("?" * len(rows[start])) + ")"] * size)
        part = rows[start : start + size]
        count += connection.execute(statement.format(marks), list(chain.from_iterable(part))).rowcount
        start += size
    return count


def roll_back(connection: sqlite3.Connection) -> None:
    """Ends the transaction, unless SQLite has ended it itself, as it does on a full disk."""
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
