"""Reading the run file: every record in a fixed order, with flat memory, while other processes may be writing."""

import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.plans import Plan, PlanCell
from ragstone.runs.owners import is_dead, remove_left_once
from ragstone.runs.record_pages import PAGE_RECORDS, STAMP, RecordPages, name_of, no_share
from ragstone.runs.schema import LAYOUT, META, damaged, decode, key_of
from ragstone.storage import check_regular, connect, storage_errors
from ragstone.types import Record, Response, Score


@dataclass(frozen=True)
class RecordCounts:
    """The records of one system: `records` is `answered` plus `failed`; `unscored` counts failed scores."""

    records: int
    answered: int
    failed: int
    unscored: int


@dataclass(frozen=True)
class Failure:
    """A kind of failure of one system, how often it occurred, and its first case and message. `kind` is the part of an
    error before the colon ("timed_out"), or "metric NAME" for failed scores."""

    system_id: str
    kind: str
    count: int
    case_id: str
    message: str


_ROWS_AT_ONCE = 4_096
# Each system that has scores, by a look-up in the primary key for each.
_SYSTEMS_OF_SCORES = """
WITH RECURSIVE systems_of_scores (name) AS (
    SELECT min(system_id) FROM scores
    UNION ALL
    SELECT (SELECT min(system_id) FROM scores WHERE system_id > name) FROM systems_of_scores WHERE name IS NOT NULL
)
SELECT name FROM systems_of_scores WHERE name IS NOT NULL
"""
_SQLITE = b"SQLite format 3\0"


def is_run_file(path: Path) -> bool:
    """Whether a path may be a run file, judged by its first bytes."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def open_run(path: str | Path) -> "RunReader":
    """Opens a run file for reading. `UsageError` if it is not one: another program's database, garbage, a folder,
    nothing, or the file of a newer ragstone."""
    connection = connect(path, LAYOUT, write=False)
    remove_left_once(Path(path).absolute().parent)
    return RunReader(Path(path), connection)


class RunReader:
    """A `types.Run`: the settings, the systems, and the records by the keys of system id and case id."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._pages = RecordPages(path, connection)
        self._plans: tuple[int, Mapping[str, Plan]] | None = None  # with the state of the file at that time
        self.expect({}, {})

    def expect(
        self, condition: Mapping[str, Any], notes: Mapping[str, Any], is_share: Callable[[str], bool] = no_share
    ) -> None:
        """From now on, check the condition and the notes (`meta` of the sample) of each case that is read against these
        types of their fields, and the scores of the metrics that are from 0 to 1: `DataError` for another value."""
        self._expected = condition, notes, is_share
        self._pages.expect(condition, notes, is_share)

    def reopened(self) -> "RunReader":
        """Another reader of the same file with the same checks, for another thread."""
        other = open_run(self.path)
        other.expect(*self._expected)
        return other

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def __enter__(self) -> "RunReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def meta(self) -> Mapping[str, Any]:
        """`question`, and other notes about the run (options, versions, licence, citation…)."""
        rows = self._all("SELECT key, value FROM meta WHERE key <> 'file_id' ORDER BY key")
        return {
            self._name(key): decode(value, META.get(key, object), self.path, f"its entry {key!r}")
            for key, value in rows
        }

    @property
    def file_id(self) -> str:
        """The id that the file was created with; copies have the same."""
        found = self._all("SELECT value FROM meta WHERE key = 'file_id'")
        return decode(found[0][0], str, self.path, "its id") if found else ""

    @property
    def rows(self) -> Mapping[str, tuple[int, str]]:
        """Row of the user's data → its number in the run and the hash of its content; {} if the run has none."""
        return {name: (number, digest) for number, name, digest in self.numbered_rows()}

    def numbered_rows(self) -> Iterator[tuple[int, str, str]]:
        """Streams number, name and hash of each row of the user's data, by number."""
        last = -1
        query = "SELECT number, name, digest FROM rows WHERE number > ? ORDER BY number LIMIT ?"
        while page := self._all(query, (last, _ROWS_AT_ONCE)):
            yield from ((number, self._name(name), str(digest)) for number, name, digest in page)
            last = page[-1][0]

    @property
    def systems(self) -> Mapping[str, Mapping[str, Any]]:
        """System id → spec."""
        rows = self._all("SELECT system_id, spec FROM systems ORDER BY system_id")
        return {self._name(key): decode(spec, dict[str, Any], self.path, f"system {key!r}") for key, spec in rows}

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        """Every record, or those of one system or of these cases. If a metric has several versions, the last counts."""
        if cases is None:
            return self._pages.in_order(None if system is None else key_of(system), texts=texts)
        systems = self.systems if system is None else [system]
        keys = sorted((key_of(name), key_of(case)) for name in systems for case in cases)
        return (record for _, record in self._pages.found(keys, texts=texts))

    def responses(self, system: str, prefix: str) -> Iterator[tuple[str, Response]]:
        """The case id and response of every answered case of a system whose id begins with `prefix`, in order, without
        the case itself."""
        last, after = key_of(prefix), ">="
        query = (
            "SELECT case_id, response FROM records WHERE system_id = ?1 AND response IS NOT NULL AND case_id {} ?2"
            " ORDER BY case_id LIMIT ?3"
        )
        while page := self._all(query.format(after), (key_of(system), last, PAGE_RECORDS)):
            for key, payload in page:
                name = self._name(key)
                if not name.startswith(prefix):
                    return
                yield name, decode(payload, Response, self.path, f"the response to case {name!r}", {})
            last, after = page[-1][0], ">"

    def find(self, keys: Sequence[tuple[str, str]]) -> list[Record | None]:
        """The records of these system ids and case ids, in their order; None where there is none."""
        return self._pages.find([(key_of(system), key_of(case)) for system, case in keys])

    def arrived(self, after: int) -> tuple[int, list[tuple[str, Record]]]:
        """The next records after a position in the order in which they were first written, with their stamps, and their
        last position; `after` and an empty list if there are none. A failure that is replaced keeps its position."""
        return self._pages.arrived(after)

    @property
    def last_position(self) -> int:
        """The position of the record that was written last; the number of records, because none is ever deleted."""
        return int(self._all("SELECT max(rowid) FROM records")[0][0] or 0)

    def stamps(self, after: tuple[str, str] | None, limit: int) -> list[tuple[str, str, str]]:
        """System id, case id and a stamp of the next records after a key, in the order of their keys. The stamp changes
        when a failure is replaced or a score is added or replaced."""
        start = ("", "") if after is None else (key_of(after[0]), key_of(after[1]))
        query = (
            f"SELECT r.system_id, r.case_id, {STAMP} FROM records r WHERE (r.system_id, r.case_id)"
            f" {'>=' if after is None else '>'} (?, ?) ORDER BY r.system_id, r.case_id LIMIT ?"
        )
        return [
            (self._name(system), self._name(case), str(stamp))
            for system, case, stamp in self._all(query, (*start, limit))
        ]

    def owners(self) -> frozenset[str]:
        """The processes that are at work on this run, on this machine or another."""
        found = self._all("SELECT DISTINCT owner FROM leases WHERE until > ?", (time.time(),))
        return frozenset(str(owner) for (owner,) in found if not is_dead(str(owner)))

    def scored(self, system: str) -> dict[str, frozenset[str]]:
        """Case id → names of the metrics whose score did not fail, for each case that this system answered."""
        query = (
            "SELECT r.case_id, s.metric FROM records r LEFT JOIN scores s ON s.system_id = r.system_id"
            " AND s.case_id = r.case_id AND s.status <> 'failed' WHERE r.system_id = ? AND r.error IS NULL"
        )
        metrics: dict[str, set[str]] = {}
        for case, metric in self._all(query, (key_of(system),)):
            metrics.setdefault(self._name(case), set()).update([] if metric is None else [self._name(metric)])
        return {case: frozenset(names) for case, names in metrics.items()}

    def counts(self) -> dict[str, RecordCounts]:
        """The number of records of each system."""
        answered = dict(self._all("SELECT system_id, count(*) FROM records WHERE error IS NULL GROUP BY system_id"))
        failed = dict(self._all("SELECT system_id, count(*) FROM records WHERE error IS NOT NULL GROUP BY system_id"))
        unscored = dict(self._all("SELECT system_id, count(*) FROM scores WHERE status = 'failed' GROUP BY system_id"))
        counts = {}
        systems = [key for (key,) in self._all("SELECT system_id FROM systems ORDER BY system_id")]
        scored = {key for (key,) in self._all(_SYSTEMS_OF_SCORES)}
        if unknown := {*answered, *failed, *scored} - {*systems}:
            raise damaged(self.path, f"it has answers of {min(map(str, unknown))!r}, which is none of its systems.")
        for key in systems:
            good, bad = answered.get(key, 0), failed.get(key, 0)
            counts[self._name(key)] = RecordCounts(good + bad, good, bad, unscored.get(key, 0))
        return counts

    def plans(self) -> Mapping[str, Plan]:
        """The plan of each system."""
        ((state,),) = self._all("PRAGMA data_version")
        if self._plans is None or self._plans[0] != state:
            self._plans = state, self._read_plans()
        return self._plans[1]

    def _read_plans(self) -> Mapping[str, Plan]:
        query = (
            "SELECT p.system_id, c.condition, count(*), count(r.case_id) FROM planned p JOIN cells c ON c.cell = p.cell"
            " LEFT JOIN records r ON r.system_id = p.system_id AND r.case_id = p.case_id"
            " GROUP BY p.system_id, p.cell ORDER BY p.system_id, c.condition"
        )
        cells: dict[str, list[PlanCell]] = {}
        for system, condition, total, asked in self._all(query):
            axes = decode(condition, dict[str, str | int | float | bool], self.path, "what was planned")
            self._pages.check_condition(axes, f"a planned case of {self._name(system)!r}")
            cells.setdefault(self._name(system), []).append(PlanCell(axes, total, asked))
        plans = {}
        for system, counts in self.counts().items():
            if planned := cells.get(system):
                unplanned = counts.records - sum(cell.asked for cell in planned)
                total = sum(cell.total for cell in planned) + unplanned
                unscored, failed = self._unscored(system, counts.answered)
                plans[system] = Plan(total, counts.records, counts.failed, tuple(planned), unscored, failed)
        return plans

    def _unscored(self, system: str, answered: int) -> tuple[dict[str, int], dict[str, int]]:
        """Metric → how many answers of a system lack its score, for metrics that ask a model after the answer, and of
        these metrics how many scores failed. If there are several systems, a metric counts for those that have some of
        its scores."""
        if not (metrics := self.meta.get("scored_later", [])):
            return {}, {}
        query = (
            "SELECT metric, count(*), total(status = 'failed') FROM scores WHERE system_id = ?"
            " GROUP BY metric, metric_version"
        )
        scored = dict.fromkeys(map(str, metrics), (0, 0)) if len(self.systems) == 1 else {}
        for metric, count, failed in self._all(query, (key_of(system),)):
            if (name := self._name(metric)) in metrics:
                scored[name] = max((count, int(failed)), scored.get(name, (0, 0)))
        lacking = {name: counts for name, counts in scored.items() if counts[0] < answered}
        return (
            {name: answered - count for name, (count, _) in lacking.items()},
            {name: failed for name, (_, failed) in lacking.items() if failed},
        )

    def unasked(self, system: str, /) -> Iterator[tuple[str, str]]:
        """The planned cases of a system without a record, in order: their ids, and the names of their samples."""
        query = (
            "SELECT case_id, name FROM planned p WHERE system_id = ?1 AND case_id {} ?2 AND NOT EXISTS"
            " (SELECT 1 FROM records r WHERE r.system_id = p.system_id AND r.case_id = p.case_id)"
            " ORDER BY case_id LIMIT ?3"
        )
        last, after = "", ">="  # an id may be empty
        while page := self._all(query.format(after), (key_of(system), last, PAGE_RECORDS)):
            yield from ((self._name(key), self._name(name)) for key, name in page)
            last, after = page[-1][0], ">"

    def failures(self) -> list[Failure]:
        """The failures by system and kind, the most frequent first, each with its first case and message."""
        failures: dict[tuple[str, str], Failure] = {}
        query = "SELECT system_id, case_id, '', error FROM records WHERE error IS NOT NULL ORDER BY system_id, case_id"
        scored = (
            "SELECT system_id, case_id, metric, payload FROM scores WHERE status = 'failed'"
            " ORDER BY system_id, case_id, metric, metric_version"
        )
        for statement in (query, scored):
            for system, case, metric, payload in self._all(statement):
                if metric:
                    kind = f"metric {self._name(metric)}"
                    message = decode(payload, Score, self.path, f"a score of case {case!r}").reason
                else:
                    message = decode(payload, str, self.path, f"the error of case {case!r}")
                    kind = message.partition(":")[0]
                before = failures.get((system, kind))
                failures[system, kind] = (
                    Failure(self._name(system), kind, 1, self._name(case), message)
                    if before is None
                    else Failure(before.system_id, kind, before.count + 1, before.case_id, before.message)
                )
        return sorted(failures.values(), key=lambda failure: (failure.system_id, -failure.count, failure.kind))

    def _name(self, key: str) -> str:
        return name_of(key, self.path)

    def _all(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with storage_errors(self.path, as_input=True, layout=LAYOUT):
            return self._connection.execute(query, values).fetchall()
