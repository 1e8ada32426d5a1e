"""Reading the run file: every record in a fixed order, with flat memory, while other processes may be writing."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from ragstone.errors import DataError
from ragstone.metrics.judge.record import reunited
from ragstone.runs.schema import LAYOUT, META, converted, decode, key_of, text_of
from ragstone.runs.text_store import fetch, references
from ragstone.storage import check_regular, connect, storage_errors
from ragstone.types import Case, Plan, PlanCell, Record, Response, Score

__all__ = ["Failure", "RecordCounts", "RunReader", "is_run_file", "open_run"]

Row: TypeAlias = tuple[str, str, str | None, str | None, str | None]  # system_id, case_id, case, response, error

# A page is read at once: no lock is held while the caller works on its records, so readers never block a writer.
PAGE_RECORDS = 128
PAGE_BYTES = 4 * 2**20


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
    return RunReader(Path(path), connect(path, LAYOUT, write=False))


class RunReader:
    """A `types.Run`: the settings, the systems, and the records by the keys of system id and case id."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._plans: tuple[int, Mapping[str, Plan]] | None = None  # with the state of the file at that time
        self.expect({}, {})

    def expect(self, condition: Mapping[str, Any], notes: Mapping[str, Any]) -> None:
        """From now on, check the condition and the notes (`meta` of the sample) of each case that is read against these
        types of their fields: `DataError` for a value of another type."""
        self._condition, self._notes = (
            msgspec.defstruct("Fields", [(name, kind, None) for name, kind in kinds.items()])
            for kinds in (condition, notes)
        )

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
        rows = self._all("SELECT key, value FROM meta WHERE key NOT IN ('file_id', 'rows') ORDER BY key")
        return {self._name(key): decode(value, META.get(key, object), self.path, f"its {key}") for key, value in rows}

    @property
    def file_id(self) -> str:
        """The id that the file was created with; copies have the same."""
        found = self._all("SELECT value FROM meta WHERE key = 'file_id'")
        return decode(found[0][0], str, self.path, "its id") if found else ""

    @property
    def rows(self) -> Mapping[str, tuple[int, str]]:
        """Row of the user's data → its number in the run and the hash of its content; {} if the run has none."""
        found = self._all("SELECT value FROM meta WHERE key = 'rows'")
        return decode(found[0][0], dict[str, tuple[int, str]], self.path, "its rows") if found else {}

    @property
    def systems(self) -> Mapping[str, Mapping[str, Any]]:
        """System id → spec."""
        rows = self._all("SELECT system_id, spec FROM systems ORDER BY system_id")
        return {self._name(key): decode(spec, dict[str, Any], self.path, f"system {key!r}") for key, spec in rows}

    def records(self, *, system: str | None = None) -> Iterator[Record]:
        """Every record, or those of one system. If a metric has several versions, the last counts."""
        last, until = ("", ""), None if system is None else key_of(system)
        if until is not None:
            last = (until, "")
        first = True
        texts: dict[str, str] = {}  # of the last page: the next often refers to the same
        while True:
            page, digests = self._page(last, until, first)
            if not page:
                return
            texts = self._texts(digests, texts)
            yield from self._page_records(page, texts)
            last, first = (page[-1][0], page[-1][1]), False

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

    def _page(self, last: tuple[str, str], system: str | None, first: bool) -> tuple[list[Row], set[str]]:
        """The next rows after `last`, and the texts that they refer to, which count towards their size."""
        after = ">=" if first else ">"  # an id may be empty
        query = (
            "SELECT r.system_id, r.case_id, c.payload, r.response, r.error FROM records r LEFT JOIN cases c"
            f" ON c.case_id = r.case_id WHERE (r.system_id, r.case_id) {after} (?, ?)"
            + (" AND r.system_id = ?" if system is not None else "")
            + " ORDER BY r.system_id, r.case_id LIMIT ?"
        )
        values = (*last, *(() if system is None else (system,)), PAGE_RECORDS)
        rows, size, digests = list[Row](), 0, set[str]()
        with storage_errors(self.path, as_input=True):
            cursor = self._connection.execute(query, values)
            for row in cursor:
                rows.append(row)
                for text in row[2:]:
                    if isinstance(text, str):  # other types in a damaged file are reported later
                        lengths = references(text)
                        size += len(text) + sum(length for digest, length in lengths.items() if digest not in digests)
                        digests.update(lengths)
                if size > PAGE_BYTES:
                    break
            cursor.close()
        return rows, digests

    def _texts(self, digests: set[str], before: Mapping[str, str]) -> dict[str, str]:
        """These texts; those in `before` are not read again, because a text never changes."""
        texts = {digest: before[digest] for digest in digests if digest in before}
        if missing := sorted(digests - texts.keys()):
            with storage_errors(self.path, as_input=True):
                texts |= fetch(self._connection, missing)
        return texts

    def _page_records(self, page: list[Row], texts: Mapping[str, str]) -> Iterator[Record]:
        scores = self._scores((page[0][0], page[0][1]), (page[-1][0], page[-1][1]))
        for system_key, case_key, case, response, error in page:
            name = self._name(case_key)
            what = f"case {name!r}"
            yield Record(
                system_id=self._name(system_key),
                case=self._case(case or "", what, texts),
                response=(
                    None
                    if response is None
                    else decode(response, Response, self.path, f"the response to {what}", texts)
                ),
                error=None if error is None else decode(error, str, self.path, f"the error of {what}"),
                scores=scores.get((system_key, case_key), {}),
            )

    def _case(self, payload: str, what: str, texts: Mapping[str, str]) -> Case:
        fields = decode(payload, dict[str, Any], self.path, what, texts)
        sample = fields.get("sample")
        self._check(fields.get("condition"), self._condition, "condition", what)
        self._check(sample.get("meta", {}) if isinstance(sample, dict) else {}, self._notes, "sample.meta", what)
        return converted(fields, Case, self.path, what)

    def _check(self, fields: object, kind: Any, where: str, what: str) -> None:
        try:
            msgspec.convert(fields, kind)
        except UnicodeEncodeError:  # a text with a lone surrogate, which msgspec cannot look at
            return
        except msgspec.ValidationError as error:
            problem, _, place = str(error).partition(" - at `$")
            field = where + place.rstrip("`").removesuffix("[...]")
            problem = problem[:1].lower() + problem[1:]
            raise DataError(self.path, f"the file is damaged: {what}: {problem}.", field=field) from error

    def _scores(self, first: tuple[str, str], last: tuple[str, str]) -> dict[tuple[str, str], dict[str, Score]]:
        """All scores between two records, both included, with their verdicts restored."""
        between = "(system_id, case_id) >= (?, ?) AND (system_id, case_id) <= (?, ?)"
        verdicts: dict[tuple[str, str], dict[str, Any]] = {}
        query = f"SELECT system_id, case_id, digest, payload FROM verdicts WHERE {between}"
        for system, case, digest, payload in self._all(query, (*first, *last)):
            verdict = decode(payload, object, self.path, f"a verdict on case {case!r}")
            verdicts.setdefault((system, case), {})[digest] = verdict
        scores: dict[tuple[str, str], dict[str, Score]] = {}
        columns = "system_id, case_id, metric, metric_version"
        query = f"SELECT {columns}, payload, verdicts FROM scores WHERE {between} ORDER BY {columns}"
        for system, case, metric, _, payload, digests in self._all(query, (*first, *last)):
            score = decode(payload, Score, self.path, f"a score of case {case!r}")
            by_digest = verdicts.get((system, case), {})
            score = reunited(score, [by_digest[digest] for digest in digests.split() if digest in by_digest])
            scores.setdefault((system, case), {})[self._name(metric)] = score
        return scores

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
        for (key,) in self._all("SELECT system_id FROM systems ORDER BY system_id"):
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
            self._check(axes, self._condition, "condition", f"a planned case of {self._name(system)!r}")
            cells.setdefault(self._name(system), []).append(PlanCell(axes, total, asked))
        plans = {}
        for system, counts in self.counts().items():
            if planned := cells.get(system):
                unplanned = counts.records - sum(cell.asked for cell in planned)
                total = sum(cell.total for cell in planned) + unplanned
                unscored = self._unscored(system, counts.answered)
                plans[system] = Plan(total, counts.records, counts.failed, tuple(planned), unscored)
        return plans

    def _unscored(self, system: str, answered: int) -> dict[str, int]:
        """Metric → how many answers of a system lack its score, for metrics that ask a model after the answer. If there
        are several systems, a metric counts for those that have some of its scores."""
        metrics = self.meta.get("scored_later")
        if not isinstance(metrics, list) or not metrics:
            return {}
        query = "SELECT metric, count(*) FROM scores WHERE system_id = ? GROUP BY metric, metric_version"
        scored = dict.fromkeys(map(str, metrics), 0) if len(self.systems) == 1 else {}
        for metric, count in self._all(query, (key_of(system),)):
            if (name := self._name(metric)) in metrics:
                scored[name] = max(count, scored.get(name, 0))
        return {name: answered - count for name, count in scored.items() if count < answered}

    def unasked(self, system: str, /) -> Iterator[str]:
        """The ids of the planned cases of a system without a record, in order."""
        query = (
            "SELECT case_id FROM planned p WHERE system_id = ?1 AND case_id {} ?2 AND NOT EXISTS"
            " (SELECT 1 FROM records r WHERE r.system_id = p.system_id AND r.case_id = p.case_id)"
            " ORDER BY case_id LIMIT ?3"
        )
        last, after = "", ">="  # an id may be empty
        while page := self._all(query.format(after), (key_of(system), last, PAGE_RECORDS)):
            yield from (self._name(key) for (key,) in page)
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
        """The id of a key. `DataError` if it is not a valid key."""
        try:
            return text_of(key)
        except (ValueError, TypeError) as error:
            raise DataError(self.path, f"the file is damaged: {key!r} is not the key of a name.") from error

    def _all(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with storage_errors(self.path, as_input=True):
            return self._connection.execute(query, values).fetchall()
