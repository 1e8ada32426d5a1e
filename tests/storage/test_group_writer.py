"""The group writer: what was acknowledged is in the file, and nobody waits for ever."""

import asyncio
import concurrent.futures
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from tests.storage.doubles import LAYOUT, insert, notes

from ragstone.errors import FileLost, StorageError
from ragstone.storage import GroupWriter, connect
from ragstone.storage.group_writer import GROUP_LIMIT


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


@pytest.mark.parametrize("how", ["hurry", "soon"])
async def test_what_somebody_waits_for_is_committed_at_once_together_with_what_had_time(
    tmp_path: Path, how: str
) -> None:
    with GroupWriter(tmp_path / "a.db", LAYOUT, gather=3600.0) as writer:
        for round_ in ("one", "two"):
            patient = writer.submit(insert(round_))
            if how == "hurry":
                writer.hurry()
            else:
                await writer.submit(insert(f"soon {round_}"), soon=True)
            await asyncio.wait_for(patient, 30)


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
    queue, closing = writer._queue, threading.Thread(target=writer.close, daemon=True)

    class Overtaken:
        """The queue of the writer; before it takes the first job, it lets another thread close the writer."""

        def put(self, job: Any) -> None:
            writer._queue = queue
            closing.start()
            closing.join(0.2)  # ends only where the end of the queue got before the job
            queue.put(job)

    writer._queue = cast("Any", Overtaken())
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


def test_errors_of_our_own_statements_are_not_hidden(tmp_path: Path) -> None:
    with GroupWriter(tmp_path / "a.db", LAYOUT) as writer:
        with pytest.raises(sqlite3.OperationalError, match="syntax error"):
            writer.call(lambda connection: connection.execute("INSRT"))
        with pytest.raises(StorageError, match=r"damaged .no such table: gone"):
            writer.call(lambda connection: connection.execute("SELECT * FROM gone"))
