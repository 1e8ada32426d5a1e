"""What the tests of the storage share: a layout, and its notes."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from ragstone.storage import Layout, connect

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
