"""The format of a file of labels: its tables, and how payloads are written in them."""

import sqlite3
from typing import TypeVar

from ragstone.errors import DataError
from ragstone.storage import Layout
from ragstone.structs import from_json

T = TypeVar("T")

LARGEST = 64 * 1024 * 1024
"""Bytes of the largest payload that is read."""

# Payloads are ASCII JSON. Nothing is deleted from `labels` and `edits`: an undo is a row that names the version it
# undoes. `place` is the order in which experts see items, drawn by the seed of the round.
_TABLES = """
CREATE TABLE meta (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE tasks (place INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, payload TEXT NOT NULL);
CREATE TABLE experts (name TEXT NOT NULL PRIMARY KEY, since REAL NOT NULL);
CREATE TABLE items (
    id TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, place TEXT NOT NULL, payload TEXT NOT NULL, origin TEXT NOT NULL
);
CREATE INDEX items_in_order ON items (kind, place, id);
CREATE TABLE assignments (
    task TEXT NOT NULL, item TEXT NOT NULL, expert TEXT NOT NULL,
    PRIMARY KEY (task, item, expert)
) WITHOUT ROWID;
CREATE INDEX assignments_of_expert ON assignments (expert, task, item);
CREATE TABLE labels (
    version INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, item TEXT NOT NULL, task TEXT NOT NULL,
    expert TEXT NOT NULL, adjudicated INTEGER NOT NULL, undoes INTEGER UNIQUE, payload TEXT NOT NULL
);
CREATE INDEX labels_of_item ON labels (item, task, expert, adjudicated, version);
CREATE INDEX labels_of_expert ON labels (expert, version);
CREATE TABLE samples (id TEXT NOT NULL PRIMARY KEY, row INTEGER NOT NULL, payload TEXT NOT NULL);
CREATE TABLE edits (version INTEGER PRIMARY KEY, sample TEXT NOT NULL, payload TEXT NOT NULL);
CREATE INDEX edits_of_sample ON edits (sample, version);
-- The data sets that were written: the hash of their rows, and the last edit that is in them.
CREATE TABLE exports (
    sha256 TEXT NOT NULL PRIMARY KEY, edit INTEGER NOT NULL, written REAL NOT NULL, rows INTEGER NOT NULL
)
"""
LAYOUT = Layout(
    what="file of labels",
    application_id=0x52534C42,  # "RSLB"
    version=1,
    tables=tuple(_TABLES.split(";")),
)

# The labels that stand: the last version of each expert on each item and task that is not undone.
CURRENT = """
SELECT max(l.version) AS version FROM labels l
WHERE l.undoes IS NULL AND NOT EXISTS (SELECT 1 FROM labels u WHERE u.undoes = l.version)
"""


def decode(text: object, kind: type[T], path: object, what: str) -> T:
    """Reads a payload; `DataError` names what is damaged if it is not a `kind`."""
    try:
        if not isinstance(text, str):
            raise TypeError(f"found {type(text).__name__}")
        return from_json(text, kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(path, f"the file is damaged: {what} cannot be read ({error}).") from error


def limited(connection: sqlite3.Connection) -> sqlite3.Connection:
    """The connection, which refuses rows that are larger than `LARGEST`."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
    return connection
