"""Writing finished work into a run file: few statements for many records, because each costs a change of threads."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from ragstone.runs.text_store import take_out, write_texts

__all__ = ["Entry", "Interim", "ScoreRow", "Want", "insert", "write_cases", "write_entries", "write_interim"]

Row = tuple[Any, ...]

# Rows of one INSERT. A statement is prepared for each size that occurs, so only powers of two do.
LARGEST_INSERT = 64


@dataclass(slots=True)
class Want:
    """A case as it is in the tables, `key` for its id; `lane` "" where it has none."""

    key: str
    payload: str
    lane: str = ""


@dataclass(slots=True)
class ScoreRow:
    """A score as it is stored, its raw verdicts apart."""

    metric: str
    version: int
    status: str
    payload: str
    verdicts: list[str]


@dataclass(slots=True)
class Entry:
    """What one piece of work brought: a response or an error (JSON), or only scores (both None)."""

    system_key: str
    key: str
    response: str | None = None
    error: str | None = None
    scores: Sequence[ScoreRow] = ()


@dataclass(slots=True)
class Interim:
    """What a case that is being scored has so far, in the table of verdicts until its scores are there: `name` is
    "reply:KEY" for a reply (JSON of a Completion), "sent:KEY:…" for a request without one."""

    system_key: str
    key: str
    name: str
    payload: str = "null"


def write_interim(connection: sqlite3.Connection, interim: Interim) -> None:
    """Writes what a killed process had, inside a transaction. A reply says how many requests it took."""
    place = (interim.system_key, interim.key)
    connection.execute("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?)", (*place, interim.name, interim.payload))
    kind, _, key = interim.name.partition(":")
    if kind == "reply":
        statement = "DELETE FROM verdicts WHERE system_id = ? AND case_id = ? AND digest >= ? AND digest < ?"
        connection.execute(statement, (*place, f"sent:{key}:", f"sent:{key};"))


def write_cases(connection: sqlite3.Connection, wants: Sequence[Want]) -> None:
    """Writes what is about to be asked, inside a transaction."""
    texts: dict[str, str] = {}
    rows = [(want.key, take_out(want.payload, texts)) for want in wants]
    write_texts(connection, texts)
    insert(connection, "INSERT OR IGNORE INTO cases VALUES {}", rows)


def write_entries(connection: sqlite3.Connection, entries: Sequence[Entry]) -> list[bool]:
    """Writes all of them, inside a transaction. False for one whose case another process had answered before: the
    first answer stands, because what was acknowledged is never replaced; a failure makes room for anything."""
    told = [entry for entry in entries if entry.response is not None or entry.error is not None]
    texts: dict[str, str] = {}
    rows = [
        (entry.system_key, entry.key, entry.response and take_out(entry.response, texts), entry.error) for entry in told
    ]
    write_texts(connection, texts)
    late: set[int] = set()
    statement = (
        "INSERT INTO records (system_id, case_id, response, error) VALUES {} ON CONFLICT (system_id, case_id) DO UPDATE"
        " SET response = excluded.response, error = excluded.error, retry = 0 WHERE error IS NOT NULL"
    )
    connection.execute("SAVEPOINT records")
    if insert(connection, statement, rows) != len(rows):
        # Seldom: one by one, to know which were too late.
        connection.execute("ROLLBACK TO records")
        late = {id(e) for e, row in zip(told, rows, strict=True) if insert(connection, statement, [row]) != 1}
    connection.execute("RELEASE records")
    standing = [entry for entry in entries if id(entry) not in late]
    _write_scores(connection, standing)
    # These scores were waited for, and now they are there.
    connection.executemany(
        "DELETE FROM verdicts WHERE system_id = ? AND case_id = ? AND (digest >= 'reply:' AND digest < 'reply;'"
        " OR digest >= 'sent:' AND digest < 'sent;')",
        [(entry.system_key, entry.key) for entry in entries if entry.response is None and entry.error is None],
    )
    return [id(entry) not in late for entry in entries]


def _write_scores(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """The first score stands, unless it is a failed one. Each verdict of a case is written once, however many scores
    name it; one that a replaced score named stays, as a record of what was replied."""
    scores: list[Row] = []
    verdicts: list[Row] = []
    for entry in entries:
        for score in entry.scores:
            digests = [_digest(verdict) for verdict in score.verdicts]
            verdicts += [(entry.system_key, entry.key, *pair) for pair in zip(digests, score.verdicts, strict=True)]
            scores.append(
                (entry.system_key, entry.key, score.metric, score.version, score.status, score.payload,
                 " ".join(digests))
            )  # fmt: skip
    insert(connection, "INSERT OR IGNORE INTO verdicts VALUES {}", list(dict.fromkeys(verdicts)))
    statement = (
        "INSERT INTO scores (system_id, case_id, metric, metric_version, status, payload, verdicts) VALUES {}"
        " ON CONFLICT (system_id, case_id, metric, metric_version) DO UPDATE SET status = excluded.status,"
        " payload = excluded.payload, verdicts = excluded.verdicts, retry = 0 WHERE status = 'failed'"
    )
    insert(connection, statement, scores)


def _digest(verdict: str) -> str:
    return blake2b(verdict.encode("ascii"), digest_size=12).hexdigest()


def insert(connection: sqlite3.Connection, statement: str, rows: Sequence[Row]) -> int:
    """Inserts the rows, many in each statement (`{}` stands for them); returns how many were inserted or updated."""
    count, start = 0, 0
    while start < len(rows):
        size = min(LARGEST_INSERT, 1 << ((len(rows) - start).bit_length() - 1))
        marks = ",".join(["(" + ",".join("?" * len(rows[start])) + ")"] * size)
        part: Iterable[Row] = rows[start : start + size]
        count += connection.execute(statement.format(marks), [value for row in part for value in row]).rowcount
        start += size
    return count
