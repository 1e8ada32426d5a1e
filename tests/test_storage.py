"""Storage: nothing is acknowledged that is not on the disk, and every trouble with the place is one line."""

import asyncio
import concurrent.futures
import dataclasses
import errno
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from ragstone.errors import FileLost, StorageError, UsageError
from ragstone.storage import (
    GROUP_LIMIT,
    GroupWriter,
    Layout,
    connect,
    journal_mode,
    replacing,
    storage_errors,
    write_file,
)

LAYOUT = Layout("test file", 0x54455354, 2, ("CREATE TABLE notes (text TEXT PRIMARY KEY)",))


def insert(text: str) -> Callable[[sqlite3.Connection], None]:
    def work(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO notes VALUES (?)", (text,))

    return work


def notes(path: Path) -> list[str]:
    connection = connect(path, LAYOUT, write=False)
    try:
        return [row[0] for row in connection.execute("SELECT text FROM notes ORDER BY rowid")]
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("version", "mode"),
    [
        ((3, 40, 1), "delete"),
        ((3, 44, 5), "delete"),
        ((3, 44, 6), "wal"),
        ((3, 45, 9), "delete"),
        ((3, 50, 6), "delete"),
        ((3, 50, 7), "wal"),
        ((3, 51, 0), "delete"),
        ((3, 51, 2), "delete"),
        ((3, 51, 3), "wal"),
        ((3, 52, 0), "wal"),
        ((4, 0, 0), "wal"),
    ],
)
def test_a_log_is_written_ahead_only_where_sqlite_cannot_lose_it(version: tuple[int, ...], mode: str) -> None:
    assert journal_mode(version) == mode


def test_every_connection_is_durable(tmp_path: Path) -> None:
    connection = connect(tmp_path / "new" / "folder" / "a.db", LAYOUT)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == (journal_mode(),)
    connection.close()


def test_a_cache_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    connection = connect(tmp_path / "a.db", dataclasses.replace(LAYOUT, durable=False))
    assert connection.execute("PRAGMA synchronous").fetchone() == (0,)
    connection.close()


async def test_what_was_awaited_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with GroupWriter(path, LAYOUT) as writer:
        await asyncio.gather(*(writer.submit(insert(str(number))) for number in range(100)))
        assert notes(path) == [str(number) for number in range(100)]
        assert await writer.submit(lambda connection: connection.execute("SELECT 7").fetchone()[0]) == 7


async def test_many_pieces_share_few_commits(tmp_path: Path) -> None:
    calls: list[int] = []

    def together(connection: sqlite3.Connection, texts: Sequence[str]) -> list[str]:
        calls.append(len(texts))
        connection.executemany("INSERT INTO notes VALUES (?)", [(text,) for text in texts])
        return [text.upper() for text in texts]

    with GroupWriter(tmp_path / "a.db", LAYOUT, gather=0.05) as writer:
        found = await asyncio.gather(*(writer.submit_item(together, f"n{number}") for number in range(200)))
    assert found == [f"N{number}" for number in range(200)]
    assert sum(calls) == 200
    assert len(calls) < 20


async def test_one_that_fails_does_not_take_its_group_with_it(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with GroupWriter(path, LAYOUT, gather=0.05) as writer:
        jobs = [writer.submit(insert(text)) for text in ("one", "two", "one", "three")]
        found = await asyncio.gather(*jobs, return_exceptions=True)
    assert [type(result) for result in found] == [type(None), type(None), sqlite3.IntegrityError, type(None)]
    assert notes(path) == ["one", "two", "three"]


async def test_a_cancelled_wait_does_not_disturb_the_others(tmp_path: Path) -> None:
    with GroupWriter(tmp_path / "a.db", LAYOUT) as writer:
        first, second = writer.submit(insert("first")), writer.submit(insert("second"))
        first.cancel()
        await second
    assert notes(tmp_path / "a.db") == ["first", "second"]


def test_closing_writes_what_was_submitted_and_leaves_one_file(tmp_path: Path) -> None:
    async def submit_and_leave() -> None:
        for number in range(50):
            writer.submit(insert(str(number)))

    writer = GroupWriter(tmp_path / "a.db", LAYOUT, gather=1.0)
    asyncio.run(submit_and_leave())
    writer.close()
    writer.close()
    assert len(notes(tmp_path / "a.db")) == 50
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
    with pytest.raises(StorageError, match="closed"):
        writer.call(insert("late"))


def test_writers_of_one_file_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    def write(name: str) -> None:
        with GroupWriter(path, LAYOUT) as writer:
            for number in range(20):
                writer.call(insert(f"{name}{number}"))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(notes(path)) == 80


def test_a_lock_that_is_never_released_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with GroupWriter(path, LAYOUT, busy_seconds=0.05) as writer:
        other = connect(path, LAYOUT)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="another process keeps it locked"):
            writer.call(insert("one"))
        other.close()
        writer.call(insert("two"))
    assert notes(path) == ["two"]


class Faulty(sqlite3.Connection):
    """Fails at the n-th statement, from when `armed` says so, with a code of SQLite's."""

    left: int | None = None
    code = sqlite3.SQLITE_FULL

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if Faulty.left is not None:
            Faulty.left -= 1
            if Faulty.left < 0 and sql != "ROLLBACK":
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = Faulty.code
                raise error
        return super().execute(sql, *args)


def test_a_file_that_was_replaced_acknowledges_nothing(tmp_path: Path) -> None:
    path, others = tmp_path / "a.db", tmp_path / "b.db"
    GroupWriter(others, LAYOUT).close()
    with GroupWriter(path, LAYOUT) as writer:
        writer.call(insert("one"))
        others.replace(path)
        with pytest.raises(FileLost, match=r"a\.db: the file was replaced by another while it was in use"):
            writer.call(insert("two"))
        path.unlink()
        with pytest.raises(FileLost, match="deleted"):
            writer.call(insert("three"))


@pytest.mark.parametrize(("error", "expected"), [(StopIteration, RuntimeError), (SystemExit, SystemExit)])
def test_whatever_a_piece_of_work_raises_nobody_waits_for_ever(
    tmp_path: Path, error: type[BaseException], expected: type[BaseException]
) -> None:
    def fail(_: sqlite3.Connection) -> None:
        raise error("no row")

    async def submit(writer: GroupWriter) -> list[Any]:
        # Those after it in its group are settled in the same call of the loop.
        waiting = [writer.submit(work) for work in (insert("one"), fail, insert("two"))]
        await asyncio.wait(waiting, timeout=5)
        return [future.exception() if future.done() else "waits" for future in waiting]

    with GroupWriter(tmp_path / "a.db", LAYOUT, gather=0.05) as writer:
        first, failed, last = asyncio.run(submit(writer))
        assert (first, type(failed), last) == (None, expected, None)
        with pytest.raises(expected):
            writer.call(fail)
        writer.call(insert("three"))
    assert notes(tmp_path / "a.db") == ["one", "two", "three"]


def test_what_another_thread_submits_while_the_writer_closes_is_written_or_refused(tmp_path: Path) -> None:
    writer = GroupWriter(tmp_path / "a.db", LAYOUT)
    queue, closing = writer._jobs, threading.Thread(target=writer.close, daemon=True)

    class Overtaken:
        """The queue of the writer; before it takes the first job, it lets another thread close the writer."""

        def put(self, job: Any) -> None:
            writer._jobs = queue
            closing.start()
            closing.join(0.2)  # ends only where the end of the queue got before the job
            queue.put(job)

    writer._jobs = cast("Any", Overtaken())
    future = concurrent.futures.Future[None]()
    writer._put(insert("one"), future)
    closing.join()
    assert future.done()
    assert notes(tmp_path / "a.db") == ["one"]


class Stopped(sqlite3.Connection):
    """Waits at each COMMIT for the test."""

    go = threading.Event()

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            Stopped.go.wait()
        return super().execute(sql, *args)


@pytest.mark.parametrize("fault", [False, True])
async def test_more_pending_writes_than_a_group_holds_keep_their_order_and_share_their_errors(
    tmp_path: Path, *, fault: bool
) -> None:
    path, groups = tmp_path / "a.db", list[int]()
    count = 3 * GROUP_LIMIT + 7

    def together(connection: sqlite3.Connection, texts: Sequence[str]) -> list[str]:
        groups.append(len(texts))
        connection.executemany("INSERT INTO notes VALUES (?)", [(text,) for text in texts])
        return [text.upper() for text in texts]

    Stopped.go.set()
    with GroupWriter(path, LAYOUT, factory=Stopped) as writer:
        Stopped.go.clear()
        first = writer.submit(insert("first"), soon=True)
        waiting = [writer.submit_item(together, f"n{number}") for number in range(count)]
        if fault:
            (tmp_path / "other").touch()
            (tmp_path / "other").replace(path)
        Stopped.go.set()
        found = await asyncio.gather(first, *waiting, return_exceptions=True)
    if fault:
        assert {type(result) for result in found} == {FileLost}
        assert len({id(result) for result in found}) == 1 + count, "each has an error of its own"
    else:
        assert found == [None, *(f"N{number}" for number in range(count))]
        assert notes(path) == ["first", *(f"n{number}" for number in range(count))]
        # The first group may have had room beside "first".
        assert sum(groups) == count
        assert max(groups) == GROUP_LIMIT


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR | 3 << 8, sqlite3.SQLITE_READONLY])
async def test_trouble_at_any_write_loses_nothing_acknowledged(tmp_path: Path, code: int) -> None:
    Faulty.code = code
    acknowledged: list[str] = []
    path = tmp_path / "a.db"
    try:
        for step in range(12):  # BEGIN, up to ten statements of a group, COMMIT
            with GroupWriter(path, LAYOUT, factory=Faulty, gather=0.02) as writer:
                await writer.submit(insert(f"before {step}"))
                Faulty.left = step
                texts = [f"{step} {number}" for number in range(10)]
                found = await asyncio.gather(*(writer.submit(insert(text)) for text in texts), return_exceptions=True)
                done = [text for text, result in zip(texts, found, strict=True) if result is None]
                errors = [result for result in found if result is not None]
                assert errors, "a machine that stalls may split the group, but one part of it meets the fault"
                assert all(isinstance(error, StorageError) and "\n" not in str(error) for error in errors)
                Faulty.left = None
                await writer.submit(insert(f"after {step}"))  # space was made: the same writer goes on
                acknowledged += [f"before {step}", *done, f"after {step}"]
        assert notes(path) == acknowledged
    finally:
        Faulty.left = None


async def test_a_database_that_may_not_grow_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    path, acknowledged = tmp_path / "a.db", list[str]()
    with GroupWriter(path, LAYOUT) as writer:
        await writer.submit(lambda connection: connection.execute("PRAGMA max_page_count=40"))

        async def fill() -> None:
            for number in range(10_000):
                await writer.submit(insert(f"{number} {'x' * 900}"), soon=True)
                acknowledged.append(f"{number} {'x' * 900}")

        with pytest.raises(StorageError, match=r"the disk is full\. Make space") as caught:
            await fill()
        assert str(path) in str(caught.value)
        assert len(acknowledged) > 20
        assert notes(path) == acknowledged
        await writer.submit(lambda connection: connection.execute("PRAGMA max_page_count=4000"))
        await writer.submit(insert("space"))
    assert notes(path) == [*acknowledged, "space"]


def other_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()


def newer(path: Path) -> None:
    connect(path, Layout("test file", LAYOUT.application_id, 3, LAYOUT.tables)).close()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_bytes(b"not a database at all, " * 100), "not an SQLite database"),
        (lambda path: path.write_bytes(b"short"), "not an SQLite database"),
        (other_database, "another program's SQLite database, not a ragstone test file"),
        (newer, "of a newer ragstone .format 3; this one uses 2.. Upgrade ragstone"),
        (lambda path: path.mkdir(), "is a folder"),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path: Path, make: Callable[[Path], Any], said: str) -> None:
    path = tmp_path / "a.db"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    for write in (True, False):
        with pytest.raises(UsageError, match=said) as caught:
            connect(path, LAYOUT, write=write)
        assert "\n" not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_reading_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        connect(tmp_path / "none.db", LAYOUT, write=False)
    (tmp_path / "empty.db").touch()
    with pytest.raises(UsageError, match=r"is empty: not a ragstone test file"):
        connect(tmp_path / "empty.db", LAYOUT, write=False)
    assert (tmp_path / "empty.db").stat().st_size == 0
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="its folder cannot be made"):
        connect(tmp_path / "file" / "a.db", LAYOUT)
    with pytest.raises(UsageError, match="not a file name"):
        connect("a\0b", LAYOUT)


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with GroupWriter(path, LAYOUT) as writer:
        for number in range(200):
            writer.call(insert(f"{number} {'x' * 500}"))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StorageError, match="the file is damaged"), storage_errors(path):
        notes(path)


def test_errors_of_our_own_statements_are_not_hidden(tmp_path: Path) -> None:
    with GroupWriter(tmp_path / "a.db", LAYOUT) as writer:
        with pytest.raises(sqlite3.OperationalError, match="syntax error"):
            writer.call(lambda connection: connection.execute("INSRT"))
        with pytest.raises(StorageError, match=r"damaged .no such table: gone"):
            writer.call(lambda connection: connection.execute("SELECT * FROM gone"))


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "folder" / ("名" * 85)
    with pytest.raises(UsageError, match=r"cannot be written \(No such file or directory\)"):
        write_file(target, "x")
    assert write_file(target, "名\r\n", parents=True) == target
    assert target.read_bytes() == "名\r\n".encode()

    def half() -> None:
        with replacing(target) as stream:
            stream.write(b"half")
            stream.flush()
            assert target.read_bytes() == "名\r\n".encode()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert [(path.name, path.read_bytes()) for path in target.parent.iterdir()] == [("名" * 85, "名\r\n".encode())]


def test_a_new_file_has_the_usual_permissions_and_an_earlier_one_keeps_its_own(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    usual = (tmp_path / "plain").stat().st_mode
    assert write_file(tmp_path / "new", b"x").stat().st_mode == usual
    (tmp_path / "new").chmod(0o640)
    assert write_file(tmp_path / "new", b"y").stat().st_mode & 0o777 == 0o640


def test_a_file_that_may_not_be_written_is_refused_and_one_that_is_mounted_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x"
    target.write_bytes(b"earlier")
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)  # root may write everything
        with pytest.raises(UsageError, match=r"x: cannot be written \(Permission denied\)"):
            write_file(target, b"new")
    assert target.read_bytes() == b"earlier"

    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", busy)
    write_file(target, b"new")
    assert target.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
