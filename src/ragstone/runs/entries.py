"""Writing finished work into a run file: few statements for many records, because each costs a thread switch."""

import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

from msgspec import Struct

from ragstone.runs.text_store import intern, write_texts
from ragstone.storage import insert

Row = tuple[Any, ...]


class CaseRow(Struct, gc=False):
    """A case as the tables store it; `key` encodes its id, and `lane` is "" if it has none."""

    key: str
    payload: str
    lane: str = ""


class ScoreRow(Struct, gc=False):
    """A score as it is stored, with its raw verdicts kept apart."""

    metric: str
    version: int
    status: str
    payload: str
    verdicts: list[str]


class CaseResult(Struct, gc=False):
    """The result of one piece of work: a response or an error (JSON), or only scores (both None)."""

    system_key: str
    key: str
    response: str | None = None
    error: str | None = None
    scores: Sequence[ScoreRow] = ()


class Interim(Struct, gc=False):
    """A judge's reply for a case whose scores are not complete, kept among the verdicts until they are. `name` is
    "reply:KEY" for a reply (JSON of a Completion), "sent:KEY:…" for a request without a reply yet."""

    system_key: str
    key: str
    name: str
    payload: str = "null"


def write_interim(connection: sqlite3.Connection, interim: Interim) -> None:
    """Writes what a killed process had received, inside a transaction. A reply counts the requests that it took."""
    place = (interim.system_key, interim.key)
    connection.execute("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?)", (*place, interim.name, interim.payload))
    kind, _, key = interim.name.partition(":")
    if kind == "reply":
        statement = "DELETE FROM verdicts WHERE system_id = ? AND case_id = ? AND digest >= ? AND digest < ?"
        connection.execute(statement, (*place, f"sent:{key}:", f"sent:{key};"))


def write_cases(connection: sqlite3.Connection, rows: Sequence[CaseRow]) -> None:
    """Writes the cases that are about to be asked, inside a transaction."""
    texts: dict[str, str] = {}
    digests: dict[str, str] = {}
    values = [(row.key, intern(row.payload, texts, digests)) for row in rows]
    write_texts(connection, texts)
    insert(connection, "INSERT OR IGNORE INTO cases VALUES {}", values)


def write_batches(connection: sqlite3.Connection, batches: Sequence[Sequence[CaseResult]]) -> list[list[bool]]:
    """`write_results` of all batches together."""
    written = iter(write_results(connection, [result for batch in batches for result in batch]))
    return [list(islice(written, len(batch))) for batch in batches]


def write_results(connection: sqlite3.Connection, results: Sequence[CaseResult]) -> list[bool]:
    """Writes all of them, inside a transaction. False for a case that another process answered first: that answer is
    kept, because what was acknowledged is never replaced. A failure is replaced by anything."""
    complete = [result for result in results if result.response is not None or result.error is not None]
    texts: dict[str, str] = {}
    digests: dict[str, str] = {}
    rows = [
        (result.system_key, result.key, result.response and intern(result.response, texts, digests), result.error)
        for result in complete
    ]
    write_texts(connection, texts)
    late: set[int] = set()
    statement = (
        "INSERT INTO records (system_id, case_id, response, error) VALUES {} ON CONFLICT (system_id, case_id) DO UPDATE"
        " SET response = excluded.response, error = excluded.error, retry = 0 WHERE error IS NOT NULL"
    )
    connection.execute("SAVEPOINT records")
    if insert(connection, statement, rows) != len(rows):
        # Rare: one by one, to know which were too late.
        connection.execute("ROLLBACK TO records")
        late = {
            id(result) for result, row in zip(complete, rows, strict=True) if insert(connection, statement, [row]) != 1
        }
    connection.execute("RELEASE records")
    _write_scores(connection, [result for result in results if id(result) not in late])
    # Their scores are written now, so interim replies are not needed any more.
    connection.executemany(
        "DELETE FROM verdicts WHERE system_id = ? AND case_id = ? AND (digest >= 'reply:' AND digest < 'reply;'"
        " OR digest >= 'sent:' AND digest < 'sent;')",
        [(result.system_key, result.key) for result in results if result.response is None and result.error is None],
    )
    return [id(result) not in late for result in results]


def _write_scores(connection: sqlite3.Connection, results: Sequence[CaseResult]) -> None:
    """The first score is kept unless it failed. Each verdict of a case is written once, however many scores refer to
    it; the verdicts of a replaced score stay, as a record of the replies."""
    scores: list[Row] = []
    verdicts: list[Row] = []
    for result in results:
        for score in result.scores:
            digests = [_digest(verdict) for verdict in score.verdicts]
            verdicts += [(result.system_key, result.key, *pair) for pair in zip(digests, score.verdicts, strict=True)]
            scores.append(
                (result.system_key, result.key, score.metric, score.version, score.status, score.payload,
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
