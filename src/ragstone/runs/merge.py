"""Copies what one run file has into another, as if the commands that made both had run on one file.

A response, a score or a verdict is copied as it is stored, so that the merged file exports byte by byte what a single
machine would have written.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ragstone.errors import UsageError
from ragstone.runs.leases import check_content
from ragstone.runs.outbox import absorb_file, outbox_files
from ragstone.runs.schema import LAYOUT, damaged, decode, text_of
from ragstone.runs.text_store import fetch, references, write_texts
from ragstone.storage import connect, storage_errors, transaction
from ragstone.storage.database import result_code

_PAGE = 512  # rows that are compared or copied at once
_SAME_CASE = "b.system_id = a.system_id AND b.case_id = a.case_id"
_ANSWERED_TWICE = (
    "SELECT a.system_id, a.case_id, a.response, b.response FROM other.records b JOIN main.records a"
    f" ON {_SAME_CASE} WHERE a.error IS NULL AND b.error IS NULL"
)
_SCORED_TWICE = (
    "SELECT a.system_id, a.case_id, a.metric FROM other.scores b JOIN main.scores a ON"
    f" {_SAME_CASE} AND b.metric = a.metric AND b.metric_version = a.metric_version WHERE a.status <> 'failed'"
    " AND b.status <> 'failed' AND a.payload <> b.payload"
    " AND NOT EXISTS (SELECT 1 FROM late WHERE late.system_id = a.system_id AND late.case_id = a.case_id) LIMIT 1"
)
# Rows of `other` whose response gave way to another one are left out of the rest: it says nothing of the one kept.
_NOT_LATE = "NOT EXISTS (SELECT 1 FROM late WHERE late.system_id = b.system_id AND late.case_id = b.case_id)"
# The same rules as in `entries.py`: a failure is replaced by anything, everything else stays.
_COPY = (
    "INSERT OR IGNORE INTO main.rows SELECT * FROM other.rows ORDER BY number",
    "INSERT OR IGNORE INTO main.cells (condition) SELECT condition FROM other.cells ORDER BY cell",
    """INSERT OR IGNORE INTO main.planned SELECT b.system_id, b.case_id, c.cell, b.name FROM other.planned b
    JOIN other.cells o ON o.cell = b.cell JOIN main.cells c ON c.condition = o.condition""",
    "INSERT OR IGNORE INTO main.cases SELECT case_id, payload FROM other.cases ORDER BY case_id",
    """INSERT INTO main.records (system_id, case_id, response, error) SELECT system_id, case_id, response, error
    FROM other.records WHERE true ORDER BY rowid ON CONFLICT (system_id, case_id) DO UPDATE
    SET response = excluded.response, error = excluded.error, retry = 0 WHERE main.records.error IS NOT NULL""",
    f"""INSERT INTO main.scores (system_id, case_id, metric, metric_version, status, payload, verdicts)
    SELECT system_id, case_id, metric, metric_version, status, payload, verdicts FROM other.scores b
    WHERE {_NOT_LATE} ON CONFLICT (system_id, case_id, metric, metric_version) DO UPDATE SET
    status = excluded.status, payload = excluded.payload, verdicts = excluded.verdicts, retry = 0
    WHERE main.scores.status = 'failed'""",
    f"INSERT OR IGNORE INTO main.verdicts SELECT * FROM other.verdicts b WHERE {_NOT_LATE}",
)
# Replies of a judge for scores that were not complete: of no use once every metric has its score.
_DROP_INTERIM = """DELETE FROM main.verdicts WHERE digest >= 'reply:'
    AND EXISTS (SELECT 1 FROM main.meta WHERE key = 'metrics')
    AND (SELECT count(*) FROM json_each((SELECT value FROM main.meta WHERE key = 'metrics'))) <=
    (SELECT count(*) FROM main.scores s WHERE s.system_id = verdicts.system_id AND s.case_id = verdicts.case_id
    AND s.status <> 'failed')"""


@dataclass(frozen=True)
class Merged:
    """How many records a file brought: `added` of them are new (or replaced a failure), `repeated` were there, and of
    `differing` ones among those the earlier answer was kept."""

    added: int = 0
    repeated: int = 0
    differing: int = 0

    def __add__(self, other: "Merged") -> "Merged":
        return Merged(self.added + other.added, self.repeated + other.repeated, self.differing + other.differing)


@contextlib.contextmanager
def attached(connection: sqlite3.Connection, path: Path, source: Path) -> Iterator[None]:
    """The run file `source` as the database `other` of a connection to the run file `path`, within one transaction
    that is committed at the end. UsageError if it is no run file, or a damaged one; `path` is then unchanged."""
    connect(source, LAYOUT, write=False).close()  # checks it, and rolls back what a killed writer left
    with storage_errors(source, as_input=True):
        # For reading: a commit of two files that may be written needs a journal of both, which a kill leaves behind.
        connection.execute("ATTACH ? AS other", (f"{source.absolute().as_uri()}?mode=ro",))
    try:
        with _errors(path, source), transaction(connection):
            yield
    finally:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("DETACH other")


def copy_records(connection: sqlite3.Connection, source: Path, *, keep_first: bool = False) -> Merged:
    """Copies plan, cases, records, scores and verdicts of the `attached` file, and the answers that a killed process
    left beside it. What both have is kept once. UsageError for two different answers or scores of one case, unless
    `keep_first`; RunMismatch for two different cases of one id."""
    _copy_texts(connection, source)
    _check_cases(connection, source)
    connection.execute("CREATE TEMP TABLE late (system_id TEXT, case_id TEXT, PRIMARY KEY (system_id, case_id))")
    try:
        repeated, differing = _note_late(connection, source, keep_first=keep_first)
        before = _answers(connection)
        for statement in _COPY:
            connection.execute(statement)
    finally:
        connection.execute("DROP TABLE late")
    (file_id,) = connection.execute("SELECT value FROM other.meta WHERE key = 'file_id'").fetchone() or ("",)
    for file in outbox_files(source):
        absorb_file(connection, file, file_id)
    connection.execute(_DROP_INTERIM)
    return Merged(_answers(connection) - before, repeated, differing)


def _answers(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM main.records").fetchone()[0])


@contextlib.contextmanager
def _errors(path: Path, source: Path) -> Iterator[None]:
    """What SQLite reports as one line that names the file it concerns: damage is that of the source."""
    with storage_errors(path):
        try:
            yield
        except sqlite3.DatabaseError as error:
            if result_code(error) not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            known = hasattr(error, "sqlite_errorcode")  # what Python cannot read may have come with an earlier file
            with storage_errors(source if known else f"{source} or a file before it", as_input=True):
                raise


def _copy_texts(connection: sqlite3.Connection, source: Path) -> None:
    """The texts that `main` lacks, in packs of its own. DataError for a text that is not what its digest says: others
    refer to it by that."""
    query = (
        "SELECT b.digest, b.pack FROM other.texts b WHERE NOT EXISTS"
        " (SELECT 1 FROM main.texts a WHERE a.digest = b.digest) ORDER BY b.pack, b.place"
    )
    missing = connection.execute(query).fetchall()
    for start in range(0, len(missing), _PAGE):
        texts = {}
        found = fetch(connection, [digest for digest, _ in missing[start : start + _PAGE]], schema="other")
        for digest, text in found.items():
            texts[digest] = written = json.dumps(text)
            if blake2b(written.encode("ascii"), digest_size=12).hexdigest() != digest:
                raise damaged(source, f"the text {digest[:40]!r} of a passage was changed.")
        write_texts(connection, texts)


def _check_cases(connection: sqlite3.Connection, source: Path) -> None:
    """RunMismatch for a case that both have with different content."""
    query = (
        "SELECT a.case_id, a.payload, b.payload FROM other.cases b JOIN main.cases a ON a.case_id = b.case_id"
        " WHERE a.payload <> b.payload"
    )
    for key, ours, theirs in connection.execute(query):
        texts = fetch(connection, references(theirs))
        new = decode(theirs, dict[str, Any], source, f"case {text_of(key)!r}", texts)
        check_content(connection, source, key, ours, new)


def _note_late(connection: sqlite3.Connection, source: Path, *, keep_first: bool) -> tuple[int, int]:
    """Notes in `late` the answers of the source that differ from those that are there; returns how many are in both
    and how many of them differ."""
    repeated = differing = 0
    for system, key, ours, theirs in connection.execute(_ANSWERED_TWICE):
        repeated += 1
        if ours == theirs or _untimed(ours, f"a file before {source}", key) == _untimed(theirs, source, key):
            continue
        if not keep_first:
            raise _conflict(source, "answer", system, key)
        differing += 1
        connection.execute("INSERT INTO late VALUES (?, ?)", (system, key))
    scored = None if keep_first else connection.execute(_SCORED_TWICE).fetchone()
    if scored is not None:
        system, key, metric = scored
        raise _conflict(source, f"{text_of(metric)} score", system, key)
    return repeated, differing


def _conflict(source: Path, what: str, system: str, key: str) -> UsageError:
    return UsageError(
        f"{source} has another {what} of {text_of(system)!r} for the case {text_of(key)!r} than a file before it. Leave"
        " one of them out, or keep what comes first with --keep-first."
    )


def _untimed(payload: str, source: object, key: str) -> dict[str, Any]:
    """A response without its times, which differ whenever a case is asked again."""
    response = decode(payload, dict[str, Any], source, f"the response to case {text_of(key)!r}")
    steps = [{**step, "seconds": None} for step in response.get("steps", ()) if isinstance(step, dict)]
    return {**response, "seconds": None, "steps": steps}
