"""The run file, to write: one SQLite file that holds what was asked, of whom, and every answer and score.

Everything goes through one `GroupWriter`. What a method has returned for is on the disk.
"""

import contextlib
import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragstone.errors import FileLost, RagstoneError, RunMismatch, StorageError, UsageError
from ragstone.runs.config import differences, few, grown, plain
from ragstone.runs.entries import Entry, Interim, Want, write_entries
from ragstone.runs.leases import LEASE_SECONDS, Desk, Lease
from ragstone.runs.outbox import Outbox, Part, absorb_file, leftovers
from ragstone.runs.owners import forget, new_owner
from ragstone.runs.schema import LAYOUT, decode, key_of
from ragstone.storage import GATHER_SECONDS, GroupWriter
from ragstone.text.redaction import redact_all
from ragstone.types import JSON, Completion, from_json, to_json

if TYPE_CHECKING:
    import asyncio

__all__ = ["RunFile"]


class RunFile:
    """An open run file. `create_or_open` makes it; `close` (or `with`) writes what is under way and lets go."""

    def __init__(self, writer: GroupWriter, file_id: str) -> None:
        self.path: Path = writer.path
        self._writer = writer
        self._owner = new_owner()
        # A lease on a case that has a record stands in nobody's way, so leases are deleted many at a time.
        self._finished: list[tuple[str, str]] = []
        self._outbox = Outbox(self.path, self._owner, file_id)

    @classmethod
    def create_or_open(
        cls,
        path: str | Path,
        *,
        question: Mapping[str, JSON],
        info: Mapping[str, JSON],
        systems: Mapping[str, Mapping[str, Any]],
        growing: Sequence[str] = (),
        gather: float = GATHER_SECONDS,
        factory: type[sqlite3.Connection] = sqlite3.Connection,
    ) -> "RunFile":
        """The run of this question: a new file, or one to go on with.

        `question` is all that must be equal; `RunMismatch` names what is not, as dotted keys
        (`question.data.sha256`, `systems.local/smollm2.template.name`). Systems that the file does not know extend
        it, and so do new names in the mappings of the question that `growing` lists (dotted keys): what both have there
        must be equal, and the file keeps all of them. `info` is kept beside the question, the last writer's. A file of
        any other kind is left alone: `UsageError`.
        """
        if taken := {"question", "file_id"} & info.keys():
            raise UsageError(f"`info` of a run cannot have the key {min(taken)!r}: the run file uses it itself.")
        try:
            asked, about = plain(question), {key_of(name): to_json(value) for name, value in info.items()}
            specs = {name: plain(redact_all(spec)) for name, spec in systems.items()}
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}: the description of this run cannot be written as JSON ({error}).") from error
        writer = GroupWriter(path, LAYOUT, gather=gather, factory=factory)
        try:
            file_id = writer.call(lambda connection: _admit(connection, writer.path, asked, about, specs, growing))
            _take_in_leftovers(writer)
        except BaseException:
            writer.close()
            raise
        return cls(writer, file_id)

    def close(self) -> None:
        """Gives back what this process had taken and not finished, and closes the file."""
        lost = False
        try:
            self._writer.call(
                lambda connection: connection.execute("DELETE FROM leases WHERE owner = ?", (self._owner,))
            )
        except FileLost:
            lost = True
        except RagstoneError:  # told already to whoever waited for what was written
            pass
        self._writer.close()
        self._outbox.close(discard=lost)
        forget(self._owner)

    def __enter__(self) -> "RunFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def plan(self, system_ids: Sequence[str], cases: Sequence[tuple[str, str]]) -> None:
        """Notes that these cases, (id, condition as JSON), are to be asked of these systems, beside what was planned
        before. Writes nothing where all of it is known."""
        keys = json.dumps([key_of(name) for name in system_ids])
        rows = json.dumps([[key_of(name), condition] for name, condition in cases])
        cells = json.dumps(sorted({condition for _, condition in cases}))

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO cells (condition) SELECT value FROM json_each(?)", (cells,))
            connection.execute(
                "INSERT OR IGNORE INTO planned SELECT s.value, json_extract(r.value, '$[0]'), c.cell FROM json_each(?)"
                " s, json_each(?) r JOIN cells c ON c.condition = json_extract(r.value, '$[1]')",
                (keys, rows),
            )

        await self._writer.submit(work, soon=True)

    async def start(self, system_ids: Sequence[str], *, retry_failed: bool) -> None:
        """Marks what failed before, records and scores of these systems, to be tried again."""
        keys = json.dumps([key_of(name) for name in system_ids])
        own = "system_id IN (SELECT value FROM json_each(?))"

        def work(connection: sqlite3.Connection) -> None:
            if retry_failed:
                connection.execute(f"UPDATE records SET retry = 1 WHERE error IS NOT NULL AND {own}", (keys,))
                connection.execute(f"UPDATE scores SET retry = 1 WHERE status = 'failed' AND {own}", (keys,))

        await self._writer.submit(work, soon=True)

    async def end(self, system_ids: Sequence[str], metrics: frozenset[tuple[str, int]]) -> int:
        """Gives back all that this process had taken; returns how many scores of these metrics have failed."""
        query = (
            "SELECT metric, metric_version, count(*) FROM scores WHERE status = 'failed'"
            " AND system_id IN (SELECT value FROM json_each(?)) GROUP BY metric, metric_version"
        )
        keys = json.dumps([key_of(name) for name in system_ids])

        def work(connection: sqlite3.Connection) -> int:
            self._release(connection)
            rows = connection.execute(query, (keys,)).fetchall()
            return sum(count for metric, version, count in rows if (metric, version) in metrics)

        return await self._writer.submit(work, soon=True)

    async def claim(
        self,
        system_key: str,
        wants: Sequence[Want],
        metrics: frozenset[tuple[str, int]],
        *,
        shut_lanes: Set[str] = frozenset(),
        take: bool = True,
        soon: bool = True,
    ) -> list[Lease]:
        """How each case stands, in order; what is free and unfinished is this process's from now on (ASK, SCORE), a
        case until it is written, a lane until `end` or `close`.

        Of a lane, cases are given in order: after one that is elsewhere, the later ones count as elsewhere too;
        `shut_lanes` are those where that was so before. With `take` False nothing is taken: ASK and SCORE only say
        that it could be. `soon` False: the answer may wait for others to be written in the same commit.
        """
        desk = Desk(self.path, self._owner, system_key, metrics, take=take, shut_lanes=shut_lanes)
        finished, self._finished = (self._finished, []) if take else ([], self._finished)

        def work(connection: sqlite3.Connection) -> list[Lease]:
            # Those are written already, or are in the group of this transaction and come before it.
            connection.executemany(
                f"DELETE FROM leases WHERE system_id = ? AND kind = 'case' AND name = ? AND owner = '{self._owner}'",
                finished,
            )
            return desk.claim(connection, wants)

        claims = await self._writer.submit(work, soon=soon)
        _remove(desk.leftovers)
        return claims

    def replies(self, system_key: str, key: str, interim: Mapping[str, str]) -> "CaseReplies":
        """Keeps replies to the requests of one case until its scores are written; `interim` is what is there."""
        return CaseReplies(partial(Interim, system_key, key), self._outbox, dict(interim))

    def write(self, entry: Entry, *, last: bool = True, replies: "CaseReplies | None" = None) -> "asyncio.Future[bool]":
        """Writes one finished piece of work; done when it is on the disk. Killed from now on, this process loses
        nothing of it. False: another process had answered this case before (this one had been suspended for longer
        than its lease), and that answer stands. `last` False: more scores of this case follow. `replies` have
        done their service then."""
        if last:
            self._finished.append((entry.system_key, entry.key))
        try:
            part = self._outbox.put(entry)
        except StorageError:
            self._writer.check_there()  # its folder may be gone
            raise
        future = self._writer.submit_item(write_entries, entry)

        def committed(future: "asyncio.Future[bool]") -> None:
            if not future.cancelled() and future.exception() is None:
                for done in (part, *(replies.parts if replies is not None else ())):
                    self._outbox.done(done)

        future.add_done_callback(committed)
        return future

    async def renew(self) -> None:
        """Keeps this process's leases for another `LEASE_SECONDS`."""
        await self._writer.submit(
            lambda connection: connection.execute(
                "UPDATE leases SET until = ? WHERE owner = ?", (time.time() + LEASE_SECONDS, self._owner)
            )
        )

    def _release(self, connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM leases WHERE owner = ?", (self._owner,))


class CaseReplies:
    """A `models.work.Replies` of one case. A kill loses what is in flight, and no reply; the outbox has them."""

    def __init__(self, make: Callable[..., Interim], outbox: Outbox, interim: Mapping[str, str]) -> None:
        self._make, self._outbox, self._interim = make, outbox, interim
        self.parts: list[Part] = []

    def get(self, key: bytes, /) -> Completion | None:
        payload = self._interim.get(f"reply:{key.hex()}")
        if payload is None:
            return None
        try:
            return from_json(payload, Completion)
        except (ValueError, TypeError, RecursionError):  # it is asked for again
            return None

    def begin(self, key: bytes, /) -> int:
        self.parts.append(self._outbox.put(self._make(f"sent:{key.hex()}:{secrets.token_hex(6)}")))
        return sum(name.startswith(f"sent:{key.hex()}:") for name in self._interim)

    def put(self, key: bytes, completion: Completion, /) -> None:
        self.parts.append(self._outbox.put(self._make(f"reply:{key.hex()}", to_json(completion))))


def _admit(
    connection: sqlite3.Connection,
    path: Path,
    question: dict[str, Any],
    info: dict[str, str],
    systems: dict[str, dict[str, Any]],
    growing: Sequence[str],
) -> str:
    """Lets this question into the file, or raises `RunMismatch`. Returns what tells this file from any other."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'question'").fetchone()
    found: dict[str, tuple[Any, Any]] = {}
    if row is None:
        connection.execute("INSERT INTO meta VALUES ('question', ?)", (to_json(question),))
        connection.execute("INSERT INTO meta VALUES ('file_id', ?)", (to_json(secrets.token_hex(8)),))
    else:
        before = decode(row[0], dict[str, Any], path, "its question")
        question = grown(before, question, growing)
        before = grown(question, before, growing)
        found = differences(before, question)
        if not found:
            connection.execute(
                "UPDATE meta SET value = ?1 WHERE key = 'question' AND value <> ?1", (to_json(question),)
            )
    for name, spec in systems.items():
        row = connection.execute("SELECT spec FROM systems WHERE system_id = ?", (key_of(name),)).fetchone()
        if row is None:
            connection.execute("INSERT INTO systems VALUES (?, ?)", (key_of(name), to_json(spec)))
        else:
            found |= differences(decode(row[0], dict[str, Any], path, f"system {name!r}"), spec, f"systems.{name}")
    if found:
        raise RunMismatch(path, few(found))
    for key, value in info.items():  # written only where it changed: going on with a finished run changes no byte
        connection.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            " WHERE value <> excluded.value",
            (key, value),
        )
    return str(connection.execute("SELECT value FROM meta WHERE key = 'file_id'").fetchone()[0])


def _take_in_leftovers(writer: GroupWriter) -> None:
    """Answers that killed processes had received, and not committed."""
    for file in leftovers(writer.path):
        writer.call(partial(absorb_file, file=file))
        _remove([file])


def _remove(files: Sequence[Path]) -> None:
    for file in files:
        with contextlib.suppress(OSError):  # another process was faster, or it is not ours to delete
            file.unlink()
