"""Writing the run file: one SQLite file that holds the settings, the systems, and every answer and score.

Everything goes through one `GroupWriter`. When a method has returned, its effect is on the disk.
"""

import contextlib
import json
import secrets
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ragstone.errors import FileDamaged, FileLost, RagstoneError, RunMismatch, StorageError, UsageError
from ragstone.runs.config import differences, keep_old_names, plain, replaced
from ragstone.runs.entries import CaseResult, CaseRow, Interim, write_batches
from ragstone.runs.leases import LEASE_SECONDS, Lease, LeaseTable, State
from ragstone.runs.outbox import Orphans, Outbox, OutboxFile, absorb, absorb_file, content_of, leftovers
from ragstone.runs.owners import forget, new_owner
from ragstone.runs.schema import LAYOUT, decode, key_of
from ragstone.storage import GroupWriter, Written
from ragstone.structs import JSON, from_json, to_json
from ragstone.text.redaction import redact_all
from ragstone.types import Completion

# How long results wait for others to share their commit: the outbox has them meanwhile, and who waits hurries.
_GATHER_SECONDS = 0.1


class RunFile:
    """An open run file. `create_or_open` opens it; `close` (or `with`) finishes all writing and closes it."""

    def __init__(self, writer: GroupWriter, file_id: str, settings: Mapping[str, str], orphans: Orphans) -> None:
        self.path: Path = writer.path
        self._writer = writer
        self._owner = new_owner()
        # A lease on a case that has a record blocks nobody, so leases are deleted many at a time.
        self._finished: defaultdict[str, list[str]] = defaultdict(list)  # system → cases
        self.file_id, self.owner = file_id, self._owner
        self._outbox = Outbox(self.path, self._owner, file_id, settings)
        self._orphans = orphans
        self._contents: dict[tuple[str, str], str] = {}  # of leased cases: system and case → the hash of the case

    @classmethod
    def create_or_open(
        cls,
        path: str | Path,
        *,
        question: Mapping[str, JSON],
        info: Mapping[str, JSON],
        systems: Mapping[str, Mapping[str, Any]],
        growing: Sequence[str] = (),
        replaces: Mapping[str, JSON] = MappingProxyType({}),
        rows: Iterable[tuple[int, str, str]] = (),
        gather: float = _GATHER_SECONDS,
        factory: type[sqlite3.Connection] = sqlite3.Connection,
    ) -> "RunFile":
        """A run file with these settings: a new one, or one to resume.

        `question` is everything that must be equal; `RunMismatch` names what is not, as dotted keys
        (`question.data.sha256`, `systems.local/smollm2.template.name`). New systems extend the file, and so do new
        names in the mappings of the question that `growing` lists (dotted keys): names that both have must be equal,
        and the file keeps all of them. `replaces`: dotted key → the value in the file that the new one replaces.
        `rows`: new rows of the user's data, as number in the run, id, and hash of the content.
        `info` is stored beside the question; the last writer's values are kept.
        `UsageError` for a file of any other kind, which stays unchanged.
        """
        if reserved := {"question", "file_id"} & info.keys():
            raise UsageError(f"`info` of a run cannot have the key {min(reserved)!r}: it is reserved.")
        try:
            settings, notes = plain(question), {key_of(name): to_json(value) for name, value in info.items()}
            specs = {name: plain(redact_all(spec)) for name, spec in systems.items()}
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}: the description of this run cannot be written as JSON ({error}).") from error
        writer = GroupWriter(path, LAYOUT, gather=gather, factory=factory)
        try:
            file_id = writer.call(
                lambda connection: record_settings(
                    connection, writer.path, settings, notes, specs, growing, replaces, rows
                )
            )
            known = {key_of(name): _hash(to_json(settings), to_json(spec)) for name, spec in specs.items()}
            orphans = Orphans(leftovers(writer.path), file_id, known)
            _absorb_leftovers(writer, orphans.files)
        except BaseException:
            writer.close()
            raise
        return cls(writer, file_id, known, orphans)

    def close(self) -> None:
        """Releases the leases of this process and closes the file. Nothing is left beside it, unless it is damaged."""
        discard = keep = False
        try:
            self._writer.call(self._release_and_absorb)
            discard = True
        except FileLost:
            discard = True
        except FileDamaged:
            keep = True
        except RagstoneError:  # already reported to those who waited for the write
            pass
        self._writer.close()
        self._outbox.close(discard=discard, keep=keep)
        forget(self._owner)

    def _release_and_absorb(self, connection: sqlite3.Connection) -> None:
        """Releases the leases, and writes the judge's replies for unfinished cases, which are only in the outbox."""
        self._release(connection)
        if self._outbox.waiting:
            absorb(connection, self.path, self._owner)

    @property
    def kept(self) -> tuple[int, int]:
        """The answers of this process: those that are beside the file, too, where the next process finds them if it is
        damaged, and all."""
        return self._outbox.answers, self._outbox.received

    def __enter__(self) -> "RunFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def plan(self, system_ids: Sequence[str], cases: Sequence[tuple[str, str, str]]) -> None:
        """Adds these cases to the plan of these systems, each as (id, condition as JSON, name of its sample). Writes
        nothing if all are known."""
        keys = json.dumps([key_of(name) for name in system_ids])
        rows = json.dumps([[key_of(case), condition, key_of(name)] for case, condition, name in cases])
        cells = json.dumps(sorted({condition for _, condition, _ in cases}))

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO cells (condition) SELECT value FROM json_each(?)", (cells,))
            connection.execute(
                "INSERT OR IGNORE INTO planned SELECT s.value, json_extract(r.value, '$[0]'), c.cell,"
                " json_extract(r.value, '$[2]') FROM json_each(?) s, json_each(?) r"
                " JOIN cells c ON c.condition = json_extract(r.value, '$[1]')",
                (keys, rows),
            )

        await self._writer.submit(work, soon=True)

    async def start(self, system_ids: Sequence[str], *, retry_failed: bool) -> set[str]:
        """Marks failed records and scores of these systems to be retried. Returns the systems that have records."""
        keys = json.dumps([key_of(name) for name in system_ids])
        these = "system_id IN (SELECT value FROM json_each(?))"

        def work(connection: sqlite3.Connection) -> set[str]:
            if retry_failed:
                connection.execute(f"UPDATE records SET retry = 1 WHERE error IS NOT NULL AND {these}", (keys,))
                connection.execute(f"UPDATE scores SET retry = 1 WHERE status = 'failed' AND {these}", (keys,))
            query = "SELECT 1 FROM records WHERE system_id = ? LIMIT 1"
            return {name for name in system_ids if connection.execute(query, (key_of(name),)).fetchone()}

        return await self._writer.submit(work, soon=True)

    async def end(self, system_ids: Sequence[str], metrics: frozenset[tuple[str, int]]) -> int:
        """Releases the leases of this process; returns how many scores of these metrics have failed."""
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

    async def left(self, system_ids: Sequence[str], metrics: frozenset[tuple[str, int]]) -> tuple[int, int]:
        """How many planned cases of these systems are neither done nor failed, as `lease` sees them, whoever asked the
        others; and how many have failed."""
        scored = (
            "SELECT count(*) FROM scores s JOIN json_each(?2) m ON s.metric = json_extract(m.value, '$[0]')"
            " AND s.metric_version = json_extract(m.value, '$[1]')"
            " WHERE s.system_id = r.system_id AND s.case_id = r.case_id AND s.retry = 0"
        )
        query = (
            "SELECT count(*), sum(r.error IS NOT NULL AND r.retry = 0),"
            f" sum(r.error IS NULL AND r.case_id IS NOT NULL AND ({scored}) = ?3) FROM planned p LEFT JOIN records r"
            " ON r.system_id = p.system_id AND r.case_id = p.case_id"
            " WHERE p.system_id IN (SELECT value FROM json_each(?1))"
        )
        keys, versions = (json.dumps(one) for one in ([key_of(name) for name in system_ids], sorted(metrics)))

        def work(connection: sqlite3.Connection) -> tuple[int, int]:
            planned, failed, done = connection.execute(query, (keys, versions, len(metrics))).fetchone()
            return planned - (failed or 0) - (done or 0), failed or 0

        return await self._writer.submit(work, soon=True)

    async def lease(
        self,
        system_key: str,
        rows: Sequence[CaseRow],
        metrics: frozenset[tuple[str, int]],
        *,
        shut_lanes: Set[str] = frozenset(),
        take: bool = True,
    ) -> list[Lease]:
        """The state of each case, in order. Free, unfinished cases are leased to this process (ASK, SCORE): a case
        until it is written, a lane until `end` or `close`.

        The cases of a lane are leased in order: after one that another process has, the later ones count as
        ELSEWHERE too; `shut_lanes` are lanes where that happened before. With `take` False nothing is leased: ASK and
        SCORE only say that it could be.
        """
        table = LeaseTable(
            self.path, self._owner, system_key, metrics, take=take, shut_lanes=shut_lanes, orphans=self._orphans
        )
        finished: Mapping[str, list[str]] = {}
        if take:
            finished, self._finished = self._finished, defaultdict(list)

        def work(connection: sqlite3.Connection) -> list[Lease]:
            # Their results are committed, or are written earlier in this transaction.
            for system, keys in finished.items():
                connection.execute(
                    "DELETE FROM leases WHERE system_id = ? AND kind = 'case' AND owner = ?"
                    " AND name IN (SELECT value FROM json_each(?))",
                    (system, self._owner, json.dumps(keys)),
                )
            return table.lease(connection, rows)

        leases = await self._writer.submit(work, soon=True)
        _remove(table.leftovers)
        free = [row for row, lease in zip(rows, leases, strict=True) if lease.state in (State.ASK, State.SCORE)]
        open_keys = {row.key for row in free} if not take else ()
        self._orphans.settle(system_key, [row.key for row in rows if row.key not in open_keys])
        if take:
            self._contents |= {(system_key, row.key): content_of(row) for row in free}
        return leases

    def replies(self, system_key: str, key: str, interim: Mapping[str, str]) -> "CaseReplies":
        """Keeps the judge's replies for a case until its scores are written; `interim`: those of a killed process."""
        put = partial(self._outbox.put, content=self._contents.get((system_key, key), ""))
        return CaseReplies(partial(Interim, system_key, key), put, dict(interim))

    def write(
        self,
        results: Sequence[CaseResult],
        *,
        last: bool = True,
        again: bool = False,
        replies: "CaseReplies | None" = None,
    ) -> Written[list[bool]]:
        """Writes these results, which are on the disk when it has ended; but even a kill right after this call loses
        nothing. False: another process answered this case first (this one was suspended for longer than its
        lease), and that answer is kept. `last` False: more scores of these cases follow. `again`: they cost nothing and
        can be had again, so that a kill before the commit may lose them. `replies` are dropped afterwards."""
        contents = self._contents.pop if last else self._contents.get
        known = [contents((result.system_key, result.key), "") or "" for result in results]
        if last:
            for result in results:
                self._finished[result.system_key].append(result.key)
        try:
            files = [] if again else list(map(self._outbox.put, results, known))
        except StorageError:
            self._writer.check_there()  # its folder may be gone
            raise
        writing = self._writer.submit_item(write_batches, results)
        if again:
            return writing

        def committed(written: Written[list[bool]]) -> None:
            if written.exception() is None:
                for file in (*files, *(replies.files if replies is not None else ())):
                    self._outbox.done(file)

        writing.then(committed)
        return writing

    def hurry(self) -> None:
        """Somebody waits for what was written: it is committed now, and not when more has come."""
        self._writer.hurry()

    async def renew(self) -> None:
        """Extends the leases of this process by another `LEASE_SECONDS`."""
        await self._writer.submit(
            lambda connection: connection.execute(
                "UPDATE leases SET until = ? WHERE owner = ?", (time.time() + LEASE_SECONDS, self._owner)
            )
        )

    def _release(self, connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM leases WHERE owner = ?", (self._owner,))


class CaseReplies:
    """A `models.work.Replies` of one case. A kill loses what is in flight but no reply, because the outbox has them."""

    def __init__(
        self, make: Callable[..., Interim], put: Callable[[Interim], OutboxFile], interim: Mapping[str, str]
    ) -> None:
        self._make, self._put, self._interim = make, put, interim
        self.files: list[OutboxFile] = []

    def get(self, key: bytes, /) -> Completion | None:
        payload = self._interim.get(f"reply:{key.hex()}")
        if payload is None:
            return None
        try:
            return from_json(payload, Completion)
        except (ValueError, TypeError, RecursionError):  # request it again
            return None

    def begin(self, key: bytes, /) -> int:
        self.files.append(self._put(self._make(f"sent:{key.hex()}:{secrets.token_hex(6)}")))
        sent, unsent = (
            sum(name.startswith(f"{kind}:{key.hex()}:") for name in self._interim) for kind in ("sent", "unsent")
        )
        return sent - unsent

    def withdraw(self, key: bytes, /) -> None:
        self.files.append(self._put(self._make(f"unsent:{key.hex()}:{secrets.token_hex(6)}")))

    def put(self, key: bytes, completion: Completion, /) -> None:
        self.files.append(self._put(self._make(f"reply:{key.hex()}", to_json(completion))))


def record_settings(
    connection: sqlite3.Connection,
    path: Path,
    question: dict[str, Any],
    info: dict[str, str],
    systems: dict[str, dict[str, Any]],
    growing: Sequence[str],
    replaces: Mapping[str, JSON],
    rows: Iterable[tuple[int, str, str]] = (),
) -> str:
    """Writes these settings into the file, or raises `RunMismatch`. Returns the unique id of the file. The values of
    `info` are JSON; the rest is as in `RunFile.create_or_open`."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'question'").fetchone()
    changes: dict[str, tuple[Any, Any]] = {}
    if row is None:
        connection.execute("INSERT INTO meta VALUES ('question', ?)", (to_json(question),))
        connection.execute("INSERT INTO meta VALUES ('file_id', ?)", (to_json(secrets.token_hex(8)),))
    else:
        before = replaced(decode(row[0], dict[str, Any], path, "its question"), question, "question", replaces)
        question = keep_old_names(before, question, growing)
        before = keep_old_names(question, before, growing)
        changes = differences(before, question)
        if not changes:
            connection.execute(
                "UPDATE meta SET value = ?1 WHERE key = 'question' AND value <> ?1", (to_json(question),)
            )
    for name, spec in systems.items():
        row = connection.execute("SELECT spec FROM systems WHERE system_id = ?", (key_of(name),)).fetchone()
        if row is None:
            connection.execute("INSERT INTO systems VALUES (?, ?)", (key_of(name), to_json(spec)))
        else:
            old = decode(row[0], dict[str, Any], path, f"system {name!r}")
            changes |= differences(replaced(old, spec, f"systems.{name}", replaces), spec, f"systems.{name}")
            connection.execute(
                "UPDATE systems SET spec = ?1 WHERE system_id = ?2 AND spec <> ?1", (to_json(spec), key_of(name))
            )
    if changes:
        raise RunMismatch(path, changes)
    for key, value in info.items():  # only if changed: resuming a finished run changes no byte
        connection.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            " WHERE value <> excluded.value",
            (key, value),
        )
    connection.executemany(
        "INSERT OR IGNORE INTO rows VALUES (?, ?, ?)", ((number, key_of(name), digest) for number, name, digest in rows)
    )
    return str(connection.execute("SELECT value FROM meta WHERE key = 'file_id'").fetchone()[0])


def _hash(*texts: str) -> str:
    return blake2b("\n".join(texts).encode("ascii"), digest_size=8).hexdigest()


def _absorb_leftovers(writer: GroupWriter, orphans: Sequence[Path]) -> None:
    """Writes answers that killed processes had received but not committed."""
    for file in (file for file in leftovers(writer.path) if file not in orphans):
        writer.call(partial(absorb_file, file=file))
        _remove([file])


def _remove(files: Sequence[Path]) -> None:
    for file in files:
        with contextlib.suppress(OSError):  # another process deleted it, or it is not ours
            file.unlink()
