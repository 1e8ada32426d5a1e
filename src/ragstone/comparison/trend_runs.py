"""Reads runs for `analysis.trend`: the scores, times, tokens and errors of each, in one pass and flat memory."""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ragstone.analysis.pair_columns import SideScores
from ragstone.analysis.sides import Side, case_digest, question_digest, selected
from ragstone.comparison.comparable import is_derived
from ragstone.errors import UsageError
from ragstone.metrics.judge.record import steps_by_metric
from ragstone.prices import Price
from ragstone.stats import Indices
from ragstone.types import Case, Record

By = Literal["day", "week"]
# Columns that may hold the time of a record, without case and separators.
_TIMES = (
    "starttime", "startedat", "started", "timestamp", "time", "datetime", "createdat", "created", "askedat", "date",
    "时间", "时间戳", "日期",
)  # fmt: skip
# Columns of recorded answers, such as traces, that say what a system took.
_SECONDS = ("seconds", "latency_seconds", "duration_seconds")
_PROMPT = ("prompt_tokens", "input_tokens", "llm.token_count.prompt", "gen_ai.usage.input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens", "llm.token_count.completion", "gen_ai.usage.output_tokens")
_CACHED = ("cached_tokens", "gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read")
_WRITTEN = (
    "written_tokens", "gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write"
)  # fmt: skip
_UNITS = {1e17: 1e9, 1e14: 1e6, 1e11: 1e3}  # numbers above these are nano-, micro- and milliseconds
_LONGEST = 64  # characters of a time


@dataclass
class Values:
    """The values of one quantity and a number for each value's question; `failed`: scores that failed. `repeats`: the
    number of each value's repeat, below 0 for one of the judge alone; nothing where there is one only."""

    units: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    failed: int = 0
    repeats: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, unit: int, value: float, repeat: int = 0) -> None:
        if repeat and not self.repeats:
            self.repeats.extend([0] * len(self.values))
        if repeat or self.repeats:
            self.repeats.append(repeat)
        self.units.append(unit)
        self.values.append(value)


@dataclass
class Reading:
    """What one run, or one period of a run, has. `cases`: its records; `asked` of `planned` cases where it is
    unfinished. `data`: a hash of each record's question, with its references and given passages. `dated`: whether the
    run says when it was started; otherwise `when` is the time of its file."""

    name: str
    side: Side
    when: datetime
    path: str = ""
    dated: bool = True
    unfinished: tuple[int, int] | None = None
    cases: int = 0
    metrics: dict[str, Values] = field(default_factory=dict)
    errors: Values = field(default_factory=Values)
    seconds: Values = field(default_factory=Values)
    tokens: Values = field(default_factory=Values)
    cost: Values = field(default_factory=Values)
    data: "array[int]" = field(default_factory=lambda: array("q"))
    judged: set[str] = field(default_factory=set)

    @property
    def scores(self) -> SideScores:
        """The names of the metrics, for `comparable.refused`."""
        return SideScores(metrics={name: array("d") for name in self.metrics}, judged=self.judged)

    @property
    def questions(self) -> Indices:
        """`data` without what comes again, sorted."""
        return np.unique(np.asarray(self.data))

    @property
    def quantities(self) -> list[Values]:
        """The values of every quantity."""
        return [self.errors, *self.metrics.values(), self.seconds, self.tokens, self.cost]

    def add(self, record: Record, unit: int, price: Price | None) -> None:
        self.cases += 1
        self.data.append(int.from_bytes(case_digest(record.case)[:8], signed=True))
        repeat = _repeat(record.case)
        self.errors.add(unit, float(record.error is not None), repeat)
        for name, score in record.scores.items():
            values = self.metrics.setdefault(name, Values())
            values.failed += score.status == "failed"
            if score.value is not None:
                values.add(unit, score.value, repeat)
        self.judged.update(name for name, steps in steps_by_metric(record).items() if steps)
        if (response := record.response) is None:
            return
        columns = _columns(record.case)
        seconds = _amount(columns, _SECONDS) if response.seconds is None else response.seconds
        if seconds is not None:
            self.seconds.add(unit, seconds, repeat)
        if (usage := response.usage) is not None:
            tokens = (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.written_tokens)
            self._spend(unit, tokens, repeat, price)
        elif (sent := _amount(columns, _PROMPT)) is not None and (got := _amount(columns, _COMPLETION)) is not None:
            more = (_amount(columns, names) or 0.0 for names in (_CACHED, _WRITTEN))
            self._spend(unit, (sent, got, *more), repeat, price)

    def _spend(self, unit: int, tokens: Sequence[float], repeat: int, price: Price | None) -> None:
        self.tokens.add(unit, sum(tokens[:2]), repeat)
        if price:
            self.cost.add(unit, price.of_tokens(*tokens), repeat)


def read_whole(side: Side, path: Path, where: Mapping[str, str], price: Price | None) -> Reading:
    """A run as one point of the trend."""
    started = moment_of(side.run.meta.get("started"))
    when = started or datetime.fromtimestamp(path.stat().st_mtime, UTC)
    reading = Reading(side.name, side, when, str(path), started is not None)
    for record, _ in selected(side, where):
        reading.add(record, _hash(record.case), price)
    plan = side.run.plans().get(side.system)
    if plan is not None and plan.asked < plan.total:
        reading.unfinished = (plan.asked, plan.total)
    elif not reading.cases:
        reading.unfinished = (0, 0 if plan is None else plan.total)
    return reading


def read_by_time(
    side: Side, by: By, column: str, where: Mapping[str, str], price: Price | None
) -> tuple[list[Reading], int]:
    """The periods of a run, in order, and how many records have no time. `column`: the column with the time of a record
    ("": one of the usual names). UsageError if no record has one."""
    periods: dict[datetime, Reading] = {}
    hashes = array("q")
    undated, columns = 0, dict[str, None]()
    for record, _ in selected(side, where):
        known = _columns(record.case)
        columns.update(dict.fromkeys(map(str, known)))
        moment = moment_of(known.get(column)) if column else _time_of(known)
        if moment is None:
            undated += 1
            continue
        start = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
        start -= timedelta(days=start.weekday() if by == "week" else 0)
        reading = periods.setdefault(start, Reading(f"{start:%Y-%m-%d}", side, start))
        hashes.append(_hash(record.case))
        reading.add(record, hashes[-1], price)
    if not periods:
        names = f"column {column!r}" if column else "one of the columns time, timestamp, start_time, created_at, date"
        there = f"; its columns are {', '.join([*columns][:20])}" if columns else ""
        raise UsageError(f"No record of {side.name} has a time in {names}{there}. --time-column names another.")
    renumber(periods.values(), np.asarray(hashes))
    return [periods[start] for start in sorted(periods)], undated


def renumber(readings: Iterable[Reading], numbers: Indices) -> None:
    """Counts the questions from 0 in the order in which they first come in `numbers`, which has those of every record:
    what is drawn at random of them then depends on nothing else."""
    known, first = np.unique(numbers, return_index=True)
    places = np.empty(len(known), dtype=np.int64)
    places[np.argsort(first)] = np.arange(len(known))
    for reading in readings:
        for values in reading.quantities:
            values.units = array("q", places[np.searchsorted(known, np.asarray(values.units))].tobytes())
            if values.units == reading.errors.units:  # one array for all that every record has
                values.units = reading.errors.units


def _hash(case: Case) -> int:
    """A number for what was asked, equal in every run."""
    return int.from_bytes(question_digest(case), signed=True)


def _repeat(case: Case) -> int:
    """The number of the repeat that a case is of; below 0 for one of the judge alone."""
    system, judge = (case.condition.get(name, 0) for name in ("repeat", "judge_repeat"))
    if isinstance(system, int) and system:
        return system
    return -judge if isinstance(judge, int) else 0


def _columns(case: Case) -> Mapping[str, Any]:
    """The columns of the user's data that a case came with."""
    columns = case.sample.meta.get("columns")
    return columns if isinstance(columns, Mapping) else {}


def _amount(columns: Mapping[str, Any], names: Sequence[str]) -> float | None:
    """The number in the first of these columns that has one."""
    values = (columns.get(name) for name in names)
    return next((float(value) for value in values if isinstance(value, int | float) and 0 <= value < math.inf), None)


def _time_of(columns: Mapping[str, Any]) -> datetime | None:
    named = {"".join(filter(str.isalnum, str(name).lower())): value for name, value in columns.items()}
    return next((moment for name in _TIMES if (moment := moment_of(named.get(name))) is not None), None)


def moment_of(value: object) -> datetime | None:
    """A time: ISO text, or seconds, milli-, micro- or nanoseconds since 1970. Without a zone it is UTC. None for
    anything else."""
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        if isinstance(value, str) and not value.strip().isdigit():
            moment = datetime.fromisoformat(value.strip()[:_LONGEST])
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        number = float(value)
        scale = next((unit for least, unit in _UNITS.items() if abs(number) >= least), 1.0)
        return datetime.fromtimestamp(number / scale, UTC) if abs(number) >= 1e8 else None
    return None


def chosen(readings: Sequence[Reading], metrics: Sequence[str]) -> list[str]:
    """The metrics to follow: by default all that the runs measure, and none that a view derives of their answers, as
    each more takes from the power of the others. UsageError for one that no run has."""
    names = sorted({name for reading in readings for name in reading.metrics})
    if unknown := [name for name in metrics if name not in names]:
        there = f"available: {', '.join(names)}" if names else "they have no scores at all"
        raise UsageError(f"No run has scores of {unknown[0]!r}; {there}.")
    if metrics:
        return list(dict.fromkeys(metrics))
    return [
        name
        for name in names
        if any(name in reading.metrics and not is_derived(reading.side, name) for reading in readings)
    ]
