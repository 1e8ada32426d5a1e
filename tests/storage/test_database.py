"""Opening a database: durable, ours as we make it, and any other file left alone."""

import dataclasses
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.storage.doubles import LAYOUT, insert, notes

from ragstone.errors import StorageError, UsageError
from ragstone.storage import GroupWriter, Layout, connect, journal_mode, storage_errors


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
    with pytest.raises(UsageError, match="its folder cannot be created"):
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
    for as_input, kind in ((False, StorageError), (True, UsageError)):
        with pytest.raises(kind, match="the file is damaged"), storage_errors(path, as_input=as_input):
            notes(path)


@pytest.mark.parametrize(
    ("statements", "word"),
    [
        ("CREATE TABLE more (text TEXT)", "a table ('more')"),
        ("CREATE VIEW more AS SELECT 1", "a view ('more')"),
        ("CREATE TRIGGER more AFTER INSERT ON notes BEGIN DELETE FROM notes; END", "a trigger ('more')"),
        ("CREATE INDEX more ON notes (length(text))", "an index ('more')"),
        ("ALTER TABLE notes ADD COLUMN more AS (length(text))", "a table ('notes')"),
        ("ALTER TABLE notes ADD COLUMN more TEXT CHECK (length(more) > 0)", "a table ('notes')"),
        ("DROP TABLE notes; CREATE TABLE notes (text BLOB PRIMARY KEY)", "a table ('notes')"),
        ("DROP TABLE notes; CREATE VIEW notes AS SELECT 1 text", "a view ('notes')"),
        ("CREATE VIRTUAL TABLE more USING fts5(text)", "a table ('more')"),
        ("DROP TABLE notes", "lost its"),
    ],
)
def test_a_file_whose_tables_were_altered_is_refused(tmp_path: Path, statements: str, word: str) -> None:
    path = tmp_path / "a.db"
    connect(path, LAYOUT).close()
    other = sqlite3.connect(path)
    other.executescript(statements)
    other.close()
    for write in (True, False):
        with pytest.raises(UsageError, match=re.escape(word)) as caught:
            connect(path, LAYOUT, write=write)
        assert "\n" not in str(caught.value)


def test_a_file_that_another_program_tidied_up_is_still_ours(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with GroupWriter(path, LAYOUT) as writer:
        writer.call(insert("one"))
    other = sqlite3.connect(path)
    other.executescript("PRAGMA journal_mode=WAL; VACUUM; REINDEX; ANALYZE; PRAGMA journal_mode=DELETE")
    other.close()
    with GroupWriter(path, dataclasses.replace(LAYOUT, tables=("CREATE TABLE notes\n  (text TEXT\n PRIMARY KEY)",))):
        pass
    assert notes(path) == ["one"]
