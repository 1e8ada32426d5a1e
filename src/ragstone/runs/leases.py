"""Who does which case: how each stands in the run file, and the leases that share them among processes."""

import json
import math
import sqlite3
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from ragstone.errors import RunMismatch
from ragstone.runs.config import differences, few
from ragstone.runs.entries import Want, write_cases
from ragstone.runs.outbox import absorb
from ragstone.runs.owners import is_dead
from ragstone.runs.schema import decode, text_of
from ragstone.runs.text_store import fetch, references, take_out
from ragstone.types import Response

__all__ = ["LEASE_SECONDS", "Desk", "Lease", "State"]

# How long a lease lasts unless its owner renews it (every third of that). It matters only where an owner dies on
# another machine; on the same one its death is seen.
LEASE_SECONDS = 60.0
_NEARLY = 1e-3  # of a score


class State(Enum):
    """How a case stands when a process asks for it."""

    DONE = "done"  # answered and scored
    FAILED = "failed"  # asked since the last start of a run, and failed
    ELSEWHERE = "elsewhere"  # another process has it
    ASK = "ask"  # ours: to be asked and scored
    SCORE = "score"  # ours: answered, but some metrics are missing


@dataclass(slots=True)
class Lease:
    """The answer to a `Want`. For SCORE: the stored response, the metrics to score, as (name, version), and what a
    killed process had of their judges (`Interim` name → payload)."""

    state: State
    response: Response | None = None
    missing: frozenset[tuple[str, int]] = frozenset()
    interim: Mapping[str, str] = field(default_factory=dict)


class Desk:
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
        self.leftovers: list[Path] = []  # to be deleted after the commit

    def claim(self, connection: sqlite3.Connection, wants: Sequence[Want]) -> list[Lease]:
        keys = json.dumps([want.key for want in wants])
        held = self._held(connection, {"case": keys, "lane": json.dumps([want.lane for want in wants if want.lane])})
        known = self._compare(connection, wants, keys)
        states = self._states(connection, keys)
        shut = {name for kind, name in held if kind == "lane"} | self.shut_lanes
        claims, asked, leases = [], list[Want](), set[tuple[str, str]]()
        for want in wants:
            claim = states.get(want.key, Lease(State.ASK))
            if claim.state in (State.ASK, State.SCORE):
                if ("case", want.key) in held or want.lane in shut:
                    claim = Lease(State.ELSEWHERE)
                    shut.add(want.lane or "\0")  # "" is no lane
                else:
                    asked.append(want)
                    leases.add(("case", want.key))
                    if want.lane:
                        leases.add(("lane", want.lane))
            claims.append(claim)
        if self.take and leases:
            write_cases(connection, [want for want in asked if want.key not in known])
            until = time.time() + LEASE_SECONDS
            connection.executemany(
                "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)",
                [(self.system_key, kind, name, self.owner, until) for kind, name in sorted(leases)],
            )
        return claims

    def _compare(self, connection: sqlite3.Connection, wants: Sequence[Want], keys: str) -> Set[str]:
        """Refuses cases that are in the file under the same id with another content. Returns those that are there. How
        a retriever scored the same passages is no content: endpoints do not embed a text twice to the same bits."""
        query = "SELECT case_id, payload FROM cases WHERE case_id IN (SELECT value FROM json_each(?))"
        stored = dict(connection.execute(query, (keys,)).fetchall())
        for want in wants:
            before = stored.get(want.key) if want.payload else None
            if before is not None and before != take_out(want.payload, {}):
                name = text_of(want.key)
                texts = fetch(connection, references(before))
                old = decode(before, dict[str, Any], self.path, f"case {name!r}", texts)
                found = differences(old, json.loads(want.payload), f"cases.{name}")
                if found := {key: pair for key, pair in found.items() if not _same_score(key, *pair)}:
                    raise RunMismatch(self.path, few(found))
        return stored.keys()

    def _states(self, connection: sqlite3.Connection, keys: str) -> dict[str, Lease]:
        """The state of every case that has a record, leases aside."""
        own = "system_id = ? AND case_id IN (SELECT value FROM json_each(?))"
        scored: dict[str, set[tuple[str, int]]] = {}
        if self.metrics:
            query = f"SELECT case_id, metric, metric_version FROM scores WHERE {own} AND retry = 0"
            for key, metric, version in connection.execute(query, (self.system_key, keys)):
                scored.setdefault(key, set()).add((metric, version))
        states: dict[str, Lease] = {}
        query = f"SELECT case_id, error IS NOT NULL, retry FROM records WHERE {own}"
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

    def _held(self, connection: sqlite3.Connection, names: dict[str, str]) -> set[tuple[str, str]]:
        """Which of these cases and lanes (kind → JSON) living processes hold. What others left is taken in here."""
        now = time.time()
        query = (
            "SELECT name, owner, until FROM leases WHERE system_id = ? AND kind = ? AND owner <> ?"
            " AND name IN (SELECT value FROM json_each(?))"
        )
        held: set[tuple[str, str]] = set()
        gone: dict[str, bool] = {}
        for kind, listed in names.items():
            for name, owner, until in connection.execute(query, (self.system_key, kind, self.owner, listed)).fetchall():
                # A lease that reaches too far into the future was written by a clock that was wrong.
                if owner not in gone and (not now < until < now + 2 * LEASE_SECONDS or is_dead(owner)):
                    gone[owner] = True
                    self.leftovers += absorb(connection, self.path, owner)
                if not gone.setdefault(owner, False):
                    held.add((kind, name))
        return held


def _same_score(key: str, old: Any, new: Any) -> bool:
    """Whether this is the score of a passage, nearly as it was."""
    both = isinstance(old, (int, float)) and isinstance(new, (int, float))
    return (
        key.endswith(".score")
        and ".query.passages." in key
        and both
        and math.isclose(old, new, rel_tol=_NEARLY, abs_tol=1e-6)
    )
