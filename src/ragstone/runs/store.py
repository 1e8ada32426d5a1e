"""The run file, to write: one SQLite file that holds what was asked, of whom, and every answer and score.

Everything goes through one `GroupWriter`. What a method has returned for is on the disk.
"""

import contextlib
import json
import sqlite3
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragstone.errors import DifferentQuestion, RagstoneError, UsageError
from ragstone.runs.owners import forget, is_dead, new_owner
from ragstone.runs.question import differences, plain
from ragstone.runs.schema import LAYOUT, decode, key_of, text_of
from ragstone.storage import GATHER_SECONDS, GroupWriter
from ragstone.types import JSON, Response, to_json

if TYPE_CHECKING:
    import asyncio

__all__ = ["LEASE_SECONDS", "Claim", "Entry", "RunFile", "ScoreRow", "State", "Want"]

# How long a lease lasts unless its owner renews it (every third of that). It matters only where an owner dies on
# another machine; on the same one its death is seen.
LEASE_SECONDS = 60.0
SHOWN_DIFFERENCES = 5


class State(Enum):
    """How a case stands when a process asks for it."""

    DONE = "done"  # answered and scored
    FAILED = "failed"  # asked since the last start of a run, and failed
    ELSEWHERE = "elsewhere"  # another process has it
    ASK = "ask"  # ours: to be asked and scored
    SCORE = "score"  # ours: answered, but some metrics are missing


@dataclass(slots=True)
class Want:
    """A case that a process would like to work on. `key` and `lane` are as in the tables; `payload` is the case."""

    key: str
    payload: str
    lane: str = ""


@dataclass(slots=True)
class Claim:
    """The answer to a `Want`. For SCORE: the stored response, and the metrics to score, as (name, version)."""

    state: State
    response: Response | None = None
    missing: frozenset[tuple[str, int]] = frozenset()


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
    """What one piece of work brought: a response or an error (JSON), or only scores (both None). `keep_lease`: more
    scores of this case follow."""

    system_key: str
    want: Want
    response: str | None = None
    error: str | None = None
    scores: Sequence[ScoreRow] = ()
    keep_lease: bool = False


class RunFile:
    """An open run file. `create_or_open` makes it; `close` (or `with`) writes what is under way and lets go."""

    def __init__(self, writer: GroupWriter) -> None:
        self.path: Path = writer.path
        self._writer = writer
        self._owner = new_owner()

    @classmethod
    def create_or_open(
        cls,
        path: str | Path,
        *,
        question: Mapping[str, JSON],
        info: Mapping[str, JSON],
        systems: Mapping[str, Mapping[str, Any]],
        gather: float = GATHER_SECONDS,
        factory: type[sqlite3.Connection] = sqlite3.Connection,
    ) -> "RunFile":
        """The run of this question: a new file, or one to go on with.

        `question` is all that must be equal; `DifferentQuestion` names what is not, as dotted keys
        (`question.data.sha256`, `systems.local/smollm2.template.name`). Systems that the file does not know extend
        it. `info` is kept beside the question, the last writer's. A file of any other kind is left alone: `UsageError`.
        """
        if "question" in info:
            raise UsageError("`info` of a run cannot have the key 'question': it is the question's own.")
        try:
            asked, about = plain(question), {key_of(name): to_json(value) for name, value in info.items()}
            specs = {name: plain(spec) for name, spec in systems.items()}
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}: the description of this run cannot be written as JSON ({error}).") from error
        writer = GroupWriter(path, LAYOUT, gather=gather, factory=factory)
        try:
            writer.call(lambda connection: _admit(connection, writer.path, asked, about, specs))
        except BaseException:
            writer.close()
            raise
        return cls(writer)

    def close(self) -> None:
        """Gives back what this process had taken and not finished, and closes the file."""
        with contextlib.suppress(RagstoneError):
            self._writer.call(
                lambda connection: connection.execute("DELETE FROM leases WHERE owner = ?", (self._owner,))
            )
        forget(self._owner)
        self._writer.close()

    def __enter__(self) -> "RunFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
    ) -> list[Claim]:
        """How each case stands, in order; what is free and unfinished is this process's from now on (ASK, SCORE), a
        case until it is written, a lane until `end` or `close`.

        Of a lane, cases are given in order: after one that is elsewhere, the later ones count as elsewhere too;
        `shut_lanes` are those where that was so before. With `take` False nothing is taken: ASK and SCORE only say
        that it could be. `soon` False: the answer may wait for others to be written in the same commit.
        """
        desk = _Desk(self.path, self._owner, system_key, metrics, take=take, shut_lanes=shut_lanes)
        return await self._writer.submit(lambda connection: desk.claim(connection, wants), soon=soon)

    def write(self, entry: Entry) -> "asyncio.Future[bool]":
        """Writes one finished piece of work; done when it is on the disk. False: another process had answered this
        case before (this one had been suspended for longer than its lease), and that answer stands."""
        return self._writer.submit(lambda connection: _write(connection, entry, self._owner))

    async def renew(self) -> None:
        """Keeps this process's leases for another `LEASE_SECONDS`."""
        await self._writer.submit(
            lambda connection: connection.execute(
                "UPDATE leases SET until = ? WHERE owner = ?", (time.time() + LEASE_SECONDS, self._owner)
            )
        )

    def _release(self, connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM leases WHERE owner = ?", (self._owner,))


def _admit(
    connection: sqlite3.Connection,
    path: Path,
    question: dict[str, Any],
    info: dict[str, str],
    systems: dict[str, dict[str, Any]],
) -> None:
    """Lets this question into the file, or raises `DifferentQuestion`."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'question'").fetchone()
    found: dict[str, tuple[Any, Any]] = {}
    if row is None:
        connection.execute("INSERT INTO meta VALUES ('question', ?)", (to_json(question),))
    else:
        found = differences(decode(row[0], dict[str, Any], path, "its question"), question)
    for name, spec in systems.items():
        row = connection.execute("SELECT spec FROM systems WHERE system_id = ?", (key_of(name),)).fetchone()
        if row is None:
            connection.execute("INSERT INTO systems VALUES (?, ?)", (key_of(name), to_json(spec)))
        else:
            found |= differences(decode(row[0], dict[str, Any], path, f"system {name!r}"), spec, f"systems.{name}")
    if found:
        raise DifferentQuestion(path, _few(found))
    for key, value in info.items():  # written only where it changed: going on with a finished run changes no byte
        connection.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            " WHERE value <> excluded.value",
            (key, value),
        )


def _few(found: dict[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
    """At most a line's worth of differences."""
    shown = dict(sorted(found.items())[:SHOWN_DIFFERENCES])
    if len(found) > len(shown):
        shown["…"] = (f"{len(found)} differences", f"the first {len(shown)} are named")
    return shown


def _holds(owner: str, until: float, own: str, now: float) -> bool:
    """Whether a lease keeps us out: not our own, not run out, and its owner not known to be dead."""
    # One that reaches too far into the future was written by a clock that was wrong.
    return owner != own and now < until < now + 2 * LEASE_SECONDS and not is_dead(owner)


class _Desk:
    """Hands out cases of one system, inside a transaction."""

    def __init__(
        self,
        path: Path,
        owner: str,
        system_key: str,
        metrics: frozenset[tuple[str, int]],
        *,
        take: bool,
        shut_lanes: Set[str],
    ) -> None:
        self.path, self.owner, self.system_key, self.metrics = path, owner, system_key, metrics
        self.take, self.shut_lanes = take, shut_lanes

    def claim(self, connection: sqlite3.Connection, wants: Sequence[Want]) -> list[Claim]:
        keys = json.dumps([want.key for want in wants])
        self._compare(connection, wants, keys)
        states = self._states(connection, keys)
        names = {("case", want.key) for want in wants} | {("lane", want.lane) for want in wants if want.lane}
        held = self._held(connection, names)
        shut = {name for kind, name in held if kind == "lane"} | self.shut_lanes
        claims, leases = [], set()
        for want in wants:
            claim = states.get(want.key, Claim(State.ASK))
            if claim.state in (State.ASK, State.SCORE):
                if ("case", want.key) in held or want.lane in shut:
                    claim = Claim(State.ELSEWHERE)
                    shut.add(want.lane or "\0")  # "" is no lane
                else:
                    leases.add(("case", want.key))
                    if want.lane:
                        leases.add(("lane", want.lane))
            claims.append(claim)
        if self.take and leases:
            until = time.time() + LEASE_SECONDS
            connection.executemany(
                "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)",
                [(self.system_key, kind, name, self.owner, until) for kind, name in sorted(leases)],
            )
        return claims

    def _compare(self, connection: sqlite3.Connection, wants: Sequence[Want], keys: str) -> None:
        """Refuses cases that are in the file under the same id with another content."""
        query = "SELECT case_id, payload FROM cases WHERE case_id IN (SELECT value FROM json_each(?))"
        stored = dict(connection.execute(query, (keys,)).fetchall())
        for want in wants:
            before = stored.get(want.key) if want.payload else None
            if before is not None and before != want.payload:
                name = text_of(want.key)
                old = decode(before, dict[str, Any], self.path, f"case {name!r}")
                found = differences(old, json.loads(want.payload), f"cases.{name}")
                if found:
                    raise DifferentQuestion(self.path, _few(found))

    def _states(self, connection: sqlite3.Connection, keys: str) -> dict[str, Claim]:
        """The state of every case that has a record, leases aside."""
        own = "system_id = ? AND case_id IN (SELECT value FROM json_each(?))"
        scored: dict[str, set[tuple[str, int]]] = {}
        if self.metrics:
            query = f"SELECT case_id, metric, metric_version FROM scores WHERE {own} AND retry = 0"
            for key, metric, version in connection.execute(query, (self.system_key, keys)):
                scored.setdefault(key, set()).add((metric, version))
        states: dict[str, Claim] = {}
        query = f"SELECT case_id, error IS NOT NULL, retry FROM records WHERE {own}"
        for key, failed, retry in connection.execute(query, (self.system_key, keys)).fetchall():
            if failed:
                states[key] = Claim(State.ASK if retry else State.FAILED)
            elif missing := self.metrics - scored.get(key, set()):
                states[key] = Claim(State.SCORE, self._response(connection, key), frozenset(missing))
            else:
                states[key] = Claim(State.DONE)
        return states

    def _response(self, connection: sqlite3.Connection, key: str) -> Response:
        query = "SELECT response FROM records WHERE system_id = ? AND case_id = ?"
        (payload,) = connection.execute(query, (self.system_key, key)).fetchone()
        return decode(payload, Response, self.path, f"the response to case {text_of(key)!r}")

    def _held(self, connection: sqlite3.Connection, names: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Which of these cases and lanes living other processes hold."""
        now = time.time()
        query = (
            "SELECT kind, name, owner, until FROM leases WHERE system_id = ?"
            " AND kind = ? AND name IN (SELECT value FROM json_each(?))"
        )
        held = set()
        dead: dict[str, bool] = {}
        for kind in ("case", "lane"):
            wanted = json.dumps([name for of, name in names if of == kind])
            for row in connection.execute(query, (self.system_key, kind, wanted)):
                owner = row[2]
                if owner not in dead:
                    dead[owner] = is_dead(owner)
                if not dead[owner] and _holds(owner, row[3], self.owner, now):
                    held.add((row[0], row[1]))
        return held


def _write(connection: sqlite3.Connection, entry: Entry, owner: str) -> bool:
    key, system = entry.want.key, entry.system_key
    stands = True
    if entry.response is not None or entry.error is not None:
        connection.execute("INSERT OR IGNORE INTO cases VALUES (?, ?)", (key, entry.want.payload))
        # The first answer stands: what was acknowledged is never replaced. A failure makes room for anything.
        done = connection.execute(
            "INSERT INTO records (system_id, case_id, response, error) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (system_id, case_id) DO UPDATE SET response = excluded.response, error = excluded.error,"
            " retry = 0 WHERE error IS NOT NULL",
            (system, key, entry.response, entry.error),
        )
        stands = done.rowcount == 1
    if stands:
        for score in entry.scores:
            _write_score(connection, system, key, score, rescored=entry.response is None)
    if not entry.keep_lease:
        connection.execute(
            "DELETE FROM leases WHERE system_id = ? AND kind = 'case' AND name = ? AND owner = ?", (system, key, owner)
        )
    return stands


def _write_score(connection: sqlite3.Connection, system: str, key: str, score: ScoreRow, *, rescored: bool) -> None:
    place = (system, key, score.metric, score.version)
    done = connection.execute(
        "INSERT INTO scores (system_id, case_id, metric, metric_version, status, payload) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (system_id, case_id, metric, metric_version) DO UPDATE SET status = excluded.status,"
        " payload = excluded.payload, retry = 0 WHERE status = 'failed'",
        (*place, score.status, score.payload),
    )
    if done.rowcount != 1:  # another process scored it before: that score stands
        return
    if rescored or score.verdicts:
        connection.execute(
            "DELETE FROM verdicts WHERE system_id = ? AND case_id = ? AND metric = ? AND metric_version = ?", place
        )
    connection.executemany(
        "INSERT INTO verdicts VALUES (?, ?, ?, ?, ?, ?)",
        [(*place, position, verdict) for position, verdict in enumerate(score.verdicts)],
    )
