"""`trend`: runs over time, or the periods of one run, and their tables and charts."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragstone.analysis.sides import Side
from ragstone.comparison.compare import system_of
from ragstone.comparison.trend_figures import Change, Curve, Mark, Trend, TrendRun, trend_of
from ragstone.comparison.trend_runs import Reading, read_by_time, read_whole
from ragstone.comparison.trend_verdict import (
    amount,
    curve_lines,
    labels,
    mark_line,
    quantity,
    trend_actions,
    trend_notes,
    trend_verdict,
)
from ragstone.display import Cell, Chart, ChartMark, Row, Series, Table
from ragstone.engine.open_run import check_target, language_of, open_checked, viewed
from ragstone.engine.public_functions import public
from ragstone.errors import UsageError
from ragstone.evaluation.evaluate import data_frame
from ragstone.messages import checked_language, messages
from ragstone.optional import load
from ragstone.prices import read_price
from ragstone.report.notebook import Tables, result_snippet
from ragstone.stats import Estimate
from ragstone.storage import write_file

if TYPE_CHECKING:
    import pandas

    from ragstone.report.page import Part
    from ragstone.report.section import Canvas

__all__ = ["Change", "Curve", "Mark", "Trend", "TrendResult", "TrendRun", "trend"]


@dataclass(frozen=True, repr=False)
class TrendResult:
    """A trend with its words, tables and page. `language`: that of the last run, unless a method is given another."""

    trend: Trend
    language: str = "en"

    def verdict(self, *, language: str | None = None) -> list[str]:
        """What changed and what did not, and what else changed on the way, one sentence a line."""
        return trend_verdict(self.trend, language or self.language)

    def tables(self, *, language: str | None = None) -> list[Table]:
        """The changes, the quantities and the runs."""
        return Tables(trend_tables(self.trend, language or self.language))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict for each run and quantity: its value and interval, the unpaired difference from the run before with
        its interval, and whether it changed there."""
        return [
            {
                "run": run.name, "when": run.when, "system": run.system, "cases": run.cases, "quantity": curve.name,
                "value": point.value, "low": point.low, "high": point.high, "n": point.n,
                "difference": step.value, "difference_low": step.low, "difference_high": step.high,
                "changed": any(change.at == place for change in curve.changes),
            }
            for curve in self.trend.curves
            for place, (run, point, step) in enumerate(zip(self.trend.runs, curve.points, curve.steps, strict=True))
        ]  # fmt: skip

    def to_pandas(self) -> "pandas.DataFrame":
        """`rows` as a data frame. Needs pandas, which ragstone does not install."""
        return data_frame(self.rows)

    def parts(self, canvas: "Canvas") -> "list[Part]":
        """The sections of a page, in the language of a canvas. Needs the extra `report`."""
        module = load("ragstone.comparison.trend_page", extra="report", purpose="The HTML report")
        words = canvas.language
        found: list[Part] = module.parts(
            canvas, self.verdict(language=words), trend_charts(self.trend, words), trend_actions(self.trend, words),
            self.tables(language=words), trend_notes(self.trend, words),
            [run.path or run.name for run in self.trend.runs],
        )  # fmt: skip
        return found

    def write_report(self, target: str | Path, *, language: str | None = None) -> Path:
        """Write the trend as one self-contained HTML file and return its path. Needs the extra `report`."""
        check_target(target)
        module = load("ragstone.comparison.trend_page", extra="report", purpose="The HTML report")
        canvas = load("ragstone.report.section", extra="report", purpose="The HTML report").Canvas(
            checked_language(language or self.language)
        )
        page: str = module.render(
            canvas, self.parts(canvas), list(dict.fromkeys(run.system for run in self.trend.runs))
        )
        return write_file(Path(target), page, parents=True)

    def __repr__(self) -> str:
        """The verdict."""
        return "\n".join(self.verdict())

    def _repr_html_(self) -> str:
        """The verdict, its picture and the tables, for a notebook."""
        opening = [*self.verdict(), "", *curve_lines(self.trend, self.language)]
        return result_snippet("\n".join(opening), self.tables())


@public
def trend(
    runs: str | Path | Sequence[str | Path],
    metrics: str | Sequence[str] = (),
    *,
    by: Literal["day", "week", ""] = "",
    time_column: str = "",
    system: str | None = None,
    where: Mapping[str, str] | None = None,
    price: str = "",
) -> TrendResult:
    """Runs over time: means with unpaired intervals, errors, times, tokens and cost of each run, and the runs from
    which one of them has changed; of a diagnosis, the answers as is. A series without a change raises a false alarm
    with at most 5% probability, over all quantities together. See `analysis.trend` for what is tested and how.

    `metrics`: only these (by default all that the runs measure; also `cause.NAME` of diagnoses). `by`: "day" or "week"
    splits one run by the time of its records, which is in `time_column` (by default a column with one of the usual
    names). `system`: of runs with several. `where`: only cases with these values of the condition or of a column.
    `price`: of the system, "IN/OUT[/CACHED]" per million tokens.
    Raises UsageError for fewer than two runs, runs of different benchmarks, and a metric that no run has.
    """
    if by not in ("", "day", "week"):
        raise UsageError(f"A run is split by day or week, not by {by!r}.")
    if time_column and not by:
        raise UsageError("--time-column belongs to --by day or --by week.")
    read_price(price, "price")
    names = [metrics] if isinstance(metrics, str) else metrics
    with contextlib.ExitStack() as stack:
        sides = []
        for path in _distinct([runs] if isinstance(runs, str | Path) else runs, by=by):
            run = stack.enter_context(open_checked(path))
            sides.append((path, Side(viewed(run), system_of(run, path, system, "--system"), path.name)))
        readings: list[Reading] = []
        undated = 0
        if by and len(sides) != 1:
            raise UsageError(f"--by {by} splits one run by the time of its records: {len(sides)} were given.")
        for path, side in sides:
            if by:
                split, undated = read_by_time(side, by, time_column, where or {}, read_price(price))
                readings += split
            else:
                readings.append(read_whole(side, path, where or {}, read_price(price)))
        found = trend_of(readings, names, by=by, undated=undated)
        return TrendResult(found, language_of(sides[-1][1].run.meta))


def _distinct(paths: Sequence[str | Path], *, by: str) -> list[Path]:
    """The paths, each file once. UsageError if there is none, or, unless `by` splits it,
    only one of several names."""
    found: list[Path] = []
    for path in map(Path, paths):
        if not any(_same_file(path, other) for other in found):
            found.append(path)
    if len(found) == 1 < len(paths) and not by:
        raise UsageError(f"{paths[0]} is named {len(paths)} times. Name at least two different runs.")
    if not found:
        raise UsageError("A trend needs at least two runs: none was given.")
    return found


def _same_file(path: Path, other: Path) -> bool:
    if path.resolve() == other.resolve():
        return True
    with contextlib.suppress(OSError):  # what cannot be read is told where it is opened
        return path.samefile(other)
    return False


def trend_tables(trend: Trend, language: str) -> list[Table]:
    """The changes, the quantities, and the runs; without rows a table is left out."""
    words = messages(__name__, language)
    tables = [_changes(trend, words), _quantities(trend, words), _runs(trend, words)]
    return [table for table in tables if table.rows]


def _changes(trend: Trend, words: Mapping[str, str]) -> Table:
    dates = labels(trend, words)
    rows = [
        Row((
            Cell(quantity(curve, words)), Cell(dates[change.at]), _cell(curve, change.before),
            _cell(curve, change.after), Cell(words[change.kind]),
            Cell(f"{change.p:.2g}"),
        ))
        for curve, change in trend.moves
    ]  # fmt: skip
    columns = tuple(words[name] for name in ("quantity", "first_run", "before", "after", "verdict", "p_here"))
    return Table("trend-changes", words["changes"], columns, tuple(rows), (words["changes_note"],), keys=2)


def _quantities(trend: Trend, words: Mapping[str, str]) -> Table:
    rows = []
    for curve in trend.curves:
        known = [point for point in curve.points if point.value is not None]
        visible = Cell("–") if curve.visible is None else Cell(amount(curve, Estimate(curve.visible)))
        p = Cell(words["not_tested"]) if curve.p is None else Cell(f"{curve.p:.2g}")
        ends = (_cell(curve, known[0]), _cell(curve, known[-1]))
        rows.append(Row((Cell(_label(curve, words)), *ends, p, visible)))
    columns = tuple(words[name] for name in ("quantity", "first", "last", "p", "visible"))
    return Table("trend-quantities", words["quantities"], columns, tuple(rows), (words["quantities_note"],))


def _runs(trend: Trend, words: Mapping[str, str]) -> Table:
    rows = []
    for place, (run, date) in enumerate(zip(trend.runs, labels(trend, words), strict=True)):
        count = f"{run.cases:,}" if run.unfinished is None else f"{run.cases:,} ({words['unfinished_mark']})"
        cells = [_cell(curve, curve.points[place], step=curve.steps[place]) for curve in trend.curves]
        rows.append(Row((Cell(date), Cell("" if trend.by else run.name), Cell(count), *cells)))
    heads = (words["when"], words["run"], words["cases"], *(_label(curve, words) for curve in trend.curves))
    if trend.by:
        heads, rows = (heads[0], *heads[2:]), [Row((row.cells[0], *row.cells[2:])) for row in rows]
    return Table("trend-runs", words["runs"], heads, tuple(rows), (words["runs_note"],), keys=1 if trend.by else 2)


def _cell(curve: Curve, estimate: Estimate, *, step: Estimate | None = None) -> Cell:
    """The value with its interval; in small, the difference `step` from the run before."""
    if estimate.value is None:
        return Cell("–")
    note = ""
    if step is not None and step.value is not None:
        scale, sign = (100, "%") if curve.kind == "errors" else (1, "")
        ends = "" if step.low is None or step.high is None else f" [{scale * step.low:+.2g}, {scale * step.high:+.2g}]"
        note = f"Δ {scale * step.value:+.2g}{sign}{ends}"
    unit = "%" if curve.kind == "errors" else ""
    return Cell("", estimate.value, estimate.low, estimate.high, unit=unit, note=note)  # type: ignore[arg-type]


def _label(curve: Curve, words: Mapping[str, str]) -> str:
    name = quantity(curve, words)
    return name if curve.better == "higher" else f"{name} ({words[curve.better]})"


def trend_charts(trend: Trend, language: str) -> list[Chart]:
    """A curve for each quantity, those that changed first, with its changes and what else changed marked."""
    moved = {curve.name: place for place, (curve, _) in reversed([*enumerate(trend.moves)])}
    ordered = sorted(trend.curves, key=lambda curve: moved.get(curve.name, len(trend.moves)))
    return [_chart(trend, curve, number, language) for number, curve in enumerate(ordered)]


def _chart(trend: Trend, curve: Curve, number: int, language: str) -> Chart:
    words = messages(__name__, language)
    dates = labels(trend, words)
    points = [point for place, estimate in enumerate(curve.points) for point in estimate.points(place)]
    marks = [ChartMark(change.at - 0.5, dates[change.at], change.kind) for change in curve.changes]
    others = [
        mark for mark in trend.marks
        if mark.kind == "data" or (mark.kind == "ruler" and curve.name in mark.metrics)
    ]  # fmt: skip
    marks += [ChartMark(mark.at - 0.5, words[f"mark_{mark.kind}"], "other") for mark in others]
    told = [
        words["alt_change"].format(
            when=dates[change.at], before=amount(curve, change.before), after=amount(curve, change.after)
        )
        for change in curve.changes
    ] or [words["alt_none"] if curve.p is not None else words["not_tested"]]
    told += [mark_line(trend, mark, language) for mark in others]
    return Chart(
        f"trend-{number}", _label(curve, words), "lines", (Series(quantity(curve, words), tuple(points)),),
        categories=tuple(dates), percent=False, alt=" ".join(told), marks=tuple(marks), zoom=True,
    )  # fmt: skip
