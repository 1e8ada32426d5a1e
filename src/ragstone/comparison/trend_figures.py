"""Runs over time: each run's means with intervals, and the runs from which a quantity has changed.

Nothing is paired: runs may be of the same questions, of some of them, or each of its own (a sample of production).
`change_points` looks for changes in every metric, the share of errors, the tokens and the times of a question; Holm's
correction is over all of them, so that a series without a change raises a false alarm with 5% probability at most.

Where the questions changed, or the ruler (the judge, its prompts, a metric's version), scores before and after are not
comparable: the place is marked, and changes are looked for on either side of it only. If the questions change at most
of the runs, each run is taken as a sample of one stream of questions. Unfinished runs are shown and not tested.

Where a system or a judge was asked again, what a repeat adds to all questions alike (`RepeatVariance`, pooled over the
runs of a stretch) is in the tests and in the intervals of the steps.
"""

import itertools
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

import numpy as np

from ragstone.comparison.change_points import LEAST_FIGURES, LEVEL, RunScores, Scan, changes, scan_figures, scan_scores
from ragstone.comparison.comparable import Reason, check_same_benchmark, refused
from ragstone.comparison.trend_runs import Reading, Values, chosen, renumber
from ragstone.errors import UsageError
from ragstone.metrics import better
from ragstone.runs.config import differences
from ragstone.stats import Estimate, Indices, RepeatVariance, apart, holm, widened

Kind = Literal["metric", "errors", "tokens", "cost", "latency_p50", "latency_p95"]
_STREAM = 3  # runs, from which questions that change at most of them are a stream


@dataclass(frozen=True)
class TrendRun:
    """One run, or one period of a run (then without a `path`). `dated`: it says when it was started; otherwise `when`
    is its file's time. `unfinished`: (asked, planned). `failed`: by metric, how many scores failed."""

    name: str
    path: str
    when: datetime
    cases: int
    dated: bool = True
    unfinished: tuple[int, int] | None = None
    system: str = ""
    failed: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """A change of one quantity: the first run `at` which it has its new value; the values over the runs `before` and
    `after` it, up to the next change on either side; `p` for this place, corrected only by `Curve.p`."""

    at: int
    before: Estimate
    after: Estimate
    p: float
    better: Literal["higher", "lower", "neither"]

    @property
    def rose(self) -> bool:
        return (self.after.value or 0.0) > (self.before.value or 0.0)

    @property
    def kind(self) -> Literal["regression", "improvement", "change"]:
        if self.better == "neither":
            return "change"
        return "improvement" if self.rose == (self.better == "higher") else "regression"


@dataclass(frozen=True)
class Curve:
    """One quantity over the runs. `points` and `steps` have an entry a run; `steps` is the unpaired difference from the
    run before, if both have a value of the same questions' kind and ruler. `p`: after Holm over all quantities (None:
    not tested). `visible`: the smallest change in the middle of its longest stretch found with 80% power.
    `repeated`: repeats of the system show how much a run varies as a whole, in every stretch that was tested."""

    name: str
    kind: Kind
    better: Literal["higher", "lower", "neither"]
    points: tuple[Estimate, ...]
    steps: tuple[Estimate, ...]
    changes: tuple[Change, ...] = ()
    p: float | None = None
    visible: float | None = None
    repeated: bool = False


@dataclass(frozen=True)
class Mark:
    """What else changed at a run: the questions (`shared` of `total` were there before), the ruler of `metrics` (for
    this `reason`), or the system (the names of its changed `settings`)."""

    at: int
    kind: Literal["data", "ruler", "system"]
    metrics: tuple[str, ...] = ()
    reason: Reason | None = None
    settings: tuple[str, ...] = ()
    shared: int = 0
    total: int = 0


@dataclass(frozen=True)
class Trend:
    """`runs` in order of time, `curves` by quantity, `marks`. `stream`: each run has its own questions. `by`: the runs
    are the periods of one run, of whose records `undated` have no time."""

    runs: tuple[TrendRun, ...]
    curves: tuple[Curve, ...]
    marks: tuple[Mark, ...] = ()
    stream: bool = False
    by: str = ""
    undated: int = 0

    @property
    def tested(self) -> list[Curve]:
        return [curve for curve in self.curves if curve.p is not None]

    @property
    def moves(self) -> list[tuple[Curve, Change]]:
        """All changes: regressions first, each kind in order of time."""
        order = ("regression", "improvement", "change")
        found = [(curve, change) for curve in self.curves for change in curve.changes]
        return sorted(found, key=lambda move: (order.index(move[1].kind), move[1].at))

    @property
    def worse(self) -> list[Curve]:
        """The quantities whose last change was for the worse, or has no better direction."""
        return [curve for curve in self.curves if curve.changes and curve.changes[-1].kind != "improvement"]


def trend_of(readings: Sequence[Reading], metrics: Sequence[str] = (), *, by: str = "", undated: int = 0) -> Trend:
    """The trend of these runs. `metrics`: follow only these (by default all that the runs measure).
    UsageError for fewer than two runs, runs of different benchmarks, and a metric that no run has."""
    if not by:  # else they have the numbers of their order in the run
        renumber(readings, np.concatenate([np.asarray(reading.errors.units) for reading in readings]))
    ordered = sorted(readings, key=lambda reading: reading.when)  # as they were named, where one second has several
    if len(ordered) < 2:
        what = f"all records are of one {by}" if by else "one was given; --by day splits a run by its records' time"
        raise UsageError(f"A trend needs at least two runs: {what}.")
    for reading in ordered[1:]:
        check_same_benchmark(ordered[0].side, reading.side, "a trend needs runs of one benchmark")
    names = chosen(ordered, metrics)
    finished = [place for place, reading in enumerate(ordered) if reading.unfinished is None]
    data, stream = _data_marks(ordered, finished, streamed=bool(by))
    rulers = _ruler_marks(ordered, finished, names)
    curves = _tested(ordered, [*_curves(ordered, names)], finished, data, rulers)
    marks = sorted([*data, *rulers, *_system_marks(ordered, finished)], key=lambda mark: (mark.at, mark.kind))
    runs = [
        TrendRun(
            reading.name, reading.path, reading.when, reading.cases, reading.dated, reading.unfinished,
            reading.side.system,
            {name: values.failed for name, values in reading.metrics.items() if name in names and values.failed},
        )
        for reading in ordered
    ]  # fmt: skip
    return Trend(tuple(runs), tuple(curves), tuple(marks), stream, by, undated)


def _data_marks(readings: Sequence[Reading], finished: list[int], *, streamed: bool) -> tuple[list[Mark], bool]:
    """Where the questions changed, and whether they are those of a stream."""
    marks = []
    for before, after in itertools.pairwise(finished):
        old, new = readings[before].questions, readings[after].questions
        if not np.array_equal(old, new):
            shared = len(np.intersect1d(old, new, assume_unique=True))
            marks.append(Mark(after, "data", shared=shared, total=len(new)))
    if streamed or (len(finished) >= _STREAM and len(marks) > (len(finished) - 1) / 2):
        return [], True
    return marks, False


def _ruler_marks(readings: Sequence[Reading], finished: list[int], names: Sequence[str]) -> list[Mark]:
    marks = []
    for before, after in itertools.pairwise(finished):
        old, new = readings[before], readings[after]
        by_reason: dict[Reason, list[str]] = {}
        for name, reason in refused(old.side, new.side, old.scores, new.scores).items():
            if name in names:
                by_reason.setdefault(reason, []).append(name)
        marks += [Mark(after, "ruler", tuple(metrics), reason) for reason, metrics in by_reason.items()]
    return marks


def _system_marks(readings: Sequence[Reading], finished: list[int]) -> list[Mark]:
    marks = []
    for before, after in itertools.pairwise(finished):
        old, new = readings[before].side, readings[after].side
        changed = differences(old.run.systems[old.system], new.run.systems[new.system])
        changed.pop("data", None)  # the recorded answers are others in every run
        if names := [*(["name"] if old.system != new.system else []), *changed]:
            marks.append(Mark(after, "system", settings=tuple(names)))
    return marks


_Column = tuple[Curve, list[Values], Callable[[Sequence[Values]], Estimate]]


def _curves(readings: Sequence[Reading], names: Sequence[str]) -> list[_Column]:
    """Each quantity with its values by run, and how values become an estimate; those that no run has are left out."""
    last = readings[-1].side.run.meta
    columns: list[tuple[str, Kind, list[Values], Callable[[Sequence[Values]], Estimate]]] = [
        (name, "metric", [reading.metrics.get(name, Values()) for reading in readings], _mean) for name in names
    ]
    columns += [
        ("errors", "errors", [reading.errors for reading in readings], _mean),
        ("latency p50", "latency_p50", [reading.seconds for reading in readings], _quantile(0.5)),
        ("latency p95", "latency_p95", [reading.seconds for reading in readings], _quantile(0.95)),
        ("tokens", "tokens", [reading.tokens for reading in readings], _amount),
        ("cost", "cost", [reading.cost for reading in readings], _amount),
    ]
    result = []
    for name, kind, values, estimate in columns:
        if not any(any(part.values) if kind == "errors" else part.values for part in values):
            continue
        points = tuple(estimate([part]) for part in values)
        direction = better(name, last) if kind == "metric" else "lower"
        result.append((Curve(name, kind, direction, points, ()), values, estimate))
    return result


def _mean(parts: Sequence[Values]) -> Estimate:
    values, units = _joined(parts)
    return Estimate.of_mean(values, groups=units, total=len(values) + sum(part.failed for part in parts))


def _amount(parts: Sequence[Values]) -> Estimate:
    values, units = _joined(parts)
    return Estimate.of_amount(values, groups=units)


def _quantile(share: float) -> Callable[[Sequence[Values]], Estimate]:
    def of(parts: Sequence[Values]) -> Estimate:
        """Of one run the quantile; of several the mean of theirs, without an interval."""
        if len(parts) == 1:
            return Estimate.of_quantile(parts[0].values, share)
        found = [value for part in parts if (value := Estimate.of_quantile(part.values, share).value) is not None]
        return Estimate(sum(found) / len(found), n=len(found)) if found else Estimate()

    return of


def _joined(parts: Sequence[Values]) -> "tuple[array[float], Indices]":
    if len(parts) == 1:
        return parts[0].values, np.asarray(parts[0].units)
    values = array("d", itertools.chain.from_iterable(part.values for part in parts))
    return values, np.concatenate([np.asarray(part.units) for part in parts])


def _tested(
    readings: Sequence[Reading], columns: Sequence[_Column], finished: list[int], data: Sequence[Mark],
    rulers: Sequence[Mark],
) -> list[Curve]:  # fmt: skip
    """The curves with their changes."""
    stretches: list[tuple[int, list[int], RepeatVariance | None]] = []  # column, runs
    steps = []
    for number, (curve, values, _) in enumerate(columns):
        breaks = {mark.at for mark in data} | {mark.at for mark in rulers if curve.name in mark.metrics}
        parts: list[list[int]] = []
        for place in finished:
            if place in breaks or not parts:
                parts.append([])
            if values[place].values:
                parts[-1].append(place)
        variances = [_variance(curve, [values[place] for place in part]) for part in parts]
        steps.append(_steps(curve, values, parts, variances))
        least = LEAST_FIGURES if curve.kind.startswith("latency") else 2
        if curve.kind != "cost":  # it follows from the tokens
            stretches += [
                (number, part, variance) for part, variance in zip(parts, variances, strict=True) if len(part) >= least
            ]
    scanners = [_scanner(columns[number], part, variance, len(stretches)) for number, part, variance in stretches]
    scans = [scanner(0, len(part)) or Scan(0, 1.0) for scanner, (_, part, _) in zip(scanners, stretches, strict=True)]
    adjusted = holm([scan.p for scan in scans])
    curves = [replace(curve, steps=step) for (curve, _, _), step in zip(columns, steps, strict=True)]
    longest = [0] * len(curves)
    for (number, part, _), scanner, scan, p in zip(stretches, scanners, scans, adjusted, strict=True):
        found = changes(scanner, scan, 0, len(part), level=LEVEL * scan.p / p) if p <= LEVEL else []
        curve = curves[number]
        new = _changes(columns[number], part, found)
        least_p = p if curve.p is None else min(p, curve.p)
        visible = scan.visible if len(part) > longest[number] else curve.visible
        longest[number] = max(longest[number], len(part))
        repeated = _is_repeated([columns[number][1][place] for place in part])
        curves[number] = replace(
            curve, changes=(*curve.changes, *new), p=least_p, visible=visible,
            repeated=repeated and (curve.p is None or curve.repeated),
        )  # fmt: skip
    return curves


def _variance(curve: Curve, runs: Sequence[Values]) -> RepeatVariance | None:
    """Between the repeats of these runs; None if none has any, and for latency, whose runs are shuffled."""
    if curve.kind.startswith("latency"):
        return None
    return RepeatVariance.of(
        (np.asarray(run.units), np.asarray(run.repeats), np.asarray(run.values)) for run in runs if run.repeats
    )


def _is_repeated(runs: Sequence[Values]) -> bool:
    """Whether repeats of the system give a variance; those of the judge show nothing of how the system varies."""
    for run in runs:
        numbers = np.asarray(run.repeats)
        own = numbers >= 0
        if run.repeats and RepeatVariance.of([(np.asarray(run.units)[own], numbers[own], np.asarray(run.values)[own])]):
            return True
    return False


def _repeats(values: Values) -> int:
    return len(np.unique(np.asarray(values.repeats))) or 1


def _scanner(
    column: _Column, part: Sequence[int], variance: RepeatVariance | None, tests: int
) -> Callable[[int, int], Scan | None]:
    """Scans the runs from one to before another of a stretch."""
    curve, values, estimate = column

    def scan(low: int, high: int) -> Scan | None:
        runs = [values[place] for place in part[low:high]]
        if curve.kind.startswith("latency"):
            figures = [max(estimate([run]).value or 0.0, 1e-9) for run in runs]
            return scan_figures([float(np.log(figure)) for figure in figures]) if len(runs) >= LEAST_FIGURES else None
        scores = [RunScores(np.asarray(run.units), np.asarray(run.values), _repeats(run)) for run in runs]
        return scan_scores(scores, level=LEVEL / tests, variance=variance)

    return scan


def _changes(column: _Column, part: Sequence[int], found: Sequence[tuple[int, float]]) -> list[Change]:
    curve, values, estimate = column
    ends = [0, *(cut for cut, _ in found), len(part)]
    levels = [estimate([values[place] for place in part[low:high]]) for low, high in itertools.pairwise(ends)]
    return [
        Change(part[cut], levels[number], levels[number + 1], p, curve.better)
        for number, (cut, p) in enumerate(found)
    ]  # fmt: skip


def _steps(
    curve: Curve, values: Sequence[Values], parts: Sequence[Sequence[int]],
    variances: Sequence[RepeatVariance | None],
) -> tuple[Estimate, ...]:  # fmt: skip
    """The unpaired difference of each run from the one before in the same stretch, with its interval (Newcombe's method
    10: Zou and Donner 2008 for means), and the reach of what repeats vary by."""
    steps = [Estimate()] * len(curve.points)
    for part, variance in zip(parts, variances, strict=True):
        for before, after in itertools.pairwise(part):
            old, new = curve.points[before], curve.points[after]
            if old.value is None or new.value is None:
                continue
            steps[after] = Estimate(new.value - old.value, n=new.n)
            if (first := new.known) is not None and (second := old.known) is not None:
                most = 1.0 if all(0 <= end <= 1 for end in (*first, *second)) else np.inf
                low, high = apart(first, second, most=most)
                if variance is not None:
                    shift = variance.reach(1 / _repeats(values[before]) + 1 / _repeats(values[after]))
                    low, high = widened(new.value - old.value, (float(low), float(high)), shift, most=most)
                steps[after] = Estimate(new.value - old.value, float(low), float(high), new.n)
    return tuple(steps)
