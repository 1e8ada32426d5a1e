"""Which process works on which case: the state of each case in the run file, and the leases that divide them."""

import json
import math
import sqlite3
import time
from collections.abc import Mapping, Sequence, Set
from enum import Enum
from pathlib import Path
from typing import Any

from msgspec import Struct

from ragstone.errors import RunMismatch
from ragstone.runs.config import differences
from ragstone.runs.entries import CaseRow, write_cases
from ragstone.runs.outbox import Orphans, absorb
from ragstone.runs.owners import is_dead
from ragstone.runs.schema import decode, text_of
from ragstone.runs.text_store import fetch, intern, references
from ragstone.storage import insert
from ragstone.types import Response

# How long a lease lasts unless its owner renews it (every third of that). It matters only if an owner dies on another
# machine; a death on this machine is noticed at once.
LEASE_SECONDS = 60.0
_SCORE_TOLERANCE = 1e-3  # relative, for the retrieval score of a passage


class State(Enum):
    """The state of a case when a process asks for it."""

    DONE = "done"  # answered and scored
    FAILED = "failed"  # asked since the last start of a run, and failed
    ELSEWHERE = "elsewhere"  # another process has it
    ASK = "ask"  # ours: to be asked and scored
    SCORE = "score"  # ours: answered, but some metrics are missing


class Lease(Struct, gc=False):
    """The state of a `CaseRow`. For SCORE also the stored response, the metrics to score, as (name, version), and the
    judge replies that a killed process had received (`Interim` name → payload)."""

    state: State
    response: Response | None = None
    missing: frozenset[tuple[str, int]] = frozenset()
    interim: Mapping[str, str] = {}


class LeaseTable:
    """Leases cases of one system, inside a transaction."""

    def __init__(
        self,
        path: Path,
        owner: str,
        system_key: str,
        metrics: frozenset[tuple[str, int]],
        *,
        take: bool,
        shut_lanes: Set[str],
        orphans: Orphans | None = None,
    ) -> None:
        self.path, self.owner, self.system_key, self.metrics = path, owner, system_key, metrics
        self.take, self.shut_lanes, self.orphans = take, shut_lanes, orphans
        self.leftovers: list[Path] = []  # to be deleted after the commit

    def lease(self, connection: sqlite3.Connection, rows: Sequence[CaseRow]) -> list[Lease]:
        if self.take and self.orphans is not None:
            self.orphans.adopt(connection, self.system_key, rows)
        keys = json.dumps([row.key for row in rows])
        lanes = json.dumps([row.lane for row in rows if row.lane])
        elsewhere = self._leased_elsewhere(connection, {"case": keys, "lane": lanes})
        known = self._check_content(connection, rows, keys)
        states = self._states(connection, keys)
        shut = {name for kind, name in elsewhere if kind == "lane"} | self.shut_lanes
        leases, leased_rows, names = [], list[CaseRow](), set[tuple[str, str]]()
        for row in rows:
            lease = states.get(row.key, Lease(State.ASK))
            if lease.state in (State.ASK, State.SCORE):
                if ("case", row.key) in elsewhere or row.lane in shut:
                    lease = Lease(State.ELSEWHERE)
                    shut.add(row.lane or "\0")  # "" is not a lane
                else:
                    leased_rows.append(row)
                    names.add(("case", row.key))
                    if row.lane:
                        names.add(("lane", row.lane))
            leases.append(lease)
        if self.take and names:
            write_cases(connection, [row for row in leased_rows if row.key not in known])
            until = time.time() + LEASE_SECONDS
            leased = [(self.system_key, kind, name, self.owner, until) for kind, name in sorted(names)]
            insert(connection, "INSERT OR REPLACE INTO leases VALUES {}", leased)
        return leases

    def _check_content(self, connection: sqlite3.Connection, rows: Sequence[CaseRow], keys: str) -> Set[str]:
        """Refuses a case if the file has the same id with different content. Returns the keys that the file has. The
        retrieval scores of passages are not content: endpoints do not embed a text twice to the same bits."""
        query = "SELECT case_id, payload FROM cases WHERE case_id IN (SELECT value FROM json_each(?))"
        stored = dict(connection.execute(query, (keys,)).fetchall())
        for row in rows:
            before = stored.get(row.key) if row.payload else None
            if before is not None and before != intern(row.payload, {}, {}):
                check_content(connection, self.path, row.key, before, json.loads(row.payload))
        return stored.keys()

    def _states(self, connection: sqlite3.Connection, keys: str) -> dict[str, Lease]:
        """The state of every case that has a record, leases aside."""
        these = "system_id = ? AND case_id IN (SELECT value FROM json_each(?))"
        scored: dict[str, set[tuple[str, int]]] = {}
        if self.metrics:
            query = f"SELECT case_id, metric, metric_version FROM scores WHERE {these} AND retry = 0"
            for key, metric, version in connection.execute(query, (self.system_key, keys)):
                scored.setdefault(key, set()).add((metric, version))
        states: dict[str, Lease] = {}
        query = f"SELECT case_id, error IS NOT NULL, retry FROM records WHERE {these}"
        for key, failed, retry in connection.execute(query, (self.system_key, keys)).fetchall():
            if failed:
                states[key] = Lease(State.ASK if retry else State.FAILED)
            elif missing := self.metrics - scored.get(key, set()):
                interim = self._interim(connection, key) if self.take else {}
                states[key] = Lease(State.SCORE, self._response(connection, key), frozenset(missing), interim)
            else:
                states[key] = Lease(State.DONE)
        return states

    def _interim(self, connection: sqlite3.Connection, key: str) -> dict[str, str]:
        query = "SELECT digest, payload FROM verdicts WHERE system_id = ? AND case_id = ? AND digest >= 'reply:'"
        return dict(connection.execute(query, (self.system_key, key)).fetchall())  # digests of verdicts are hexadecimal

    def _response(self, connection: sqlite3.Connection, key: str) -> Response:
        query = "SELECT response FROM records WHERE system_id = ? AND case_id = ?"
        (payload,) = connection.execute(query, (self.system_key, key)).fetchone()
        texts = fetch(connection, references(payload))
        return decode(payload, Response, self.path, f"the response to case {text_of(key)!r}", texts)

    def _leased_elsewhere(self, connection: sqlite3.Connection, names: dict[str, str]) -> set[tuple[str, str]]:
        """Which of these cases and lanes (kind → JSON) living processes have leased. What dead ones left is absorbed
        here."""
        now = time.time()
        query = (
            "SELECT name, owner, until FROM leases WHERE system_id = ? AND kind = ? AND owner <> ?"
            " AND name IN (SELECT value FROM json_each(?))"
        )
        leased: set[tuple[str, str]] = set()
        gone: dict[str, bool] = {}
        for kind, listed in names.items():
            for name, owner, until in connection.execute(query, (self.system_key, kind, self.owner, listed)).fetchall():
                # A lease that reaches too far into the future was written by a clock that was wrong.
                if owner not in gone and (not now < until < now + 2 * LEASE_SECONDS or is_dead(owner)):
                    gone[owner] = True
                    self.leftovers += absorb(connection, self.path, owner)
                if not gone.setdefault(owner, False):
                    leased.add((kind, name))
        return leased


def check_content(connection: sqlite3.Connection, path: Path, key: str, stored: str, new: dict[str, Any]) -> None:
    """RunMismatch if the payload of a case and new content of it differ in more than the retrieval scores of
    passages."""
    name = text_of(key)
    old = decode(stored, dict[str, Any], path, f"case {name!r}", fetch(connection, references(stored)))
    changes = differences(old, new, f"cases.{name}")
    if changes := {key: pair for key, pair in changes.items() if not _same_score(key, *pair)}:
        raise RunMismatch(path, changes)


def _same_score(key: str, old: Any, new: Any) -> bool:
    """Whether `key` is the retrieval score of a passage, and both values are nearly equal."""
    if not (key.endswith(".score") and ".query.passages." in key):
        return False
    numbers = isinstance(old, (int, float)) and isinstance(new, (int, float))
    return numbers and math.isclose(old, new, rel_tol=_SCORE_TOLERANCE, abs_tol=1e-6)
