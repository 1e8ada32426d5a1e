"""`trend`: runs over time, or the periods of one run."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragstone.analysis.pairing import Side
from ragstone.comparison.compare import system_of
from ragstone.comparison.trend_figures import Change, Curve, Mark, Trend, TrendRun, trend_of
from ragstone.comparison.trend_reading import Reading, read_by_time, read_whole
from ragstone.comparison.trend_tables import trend_charts, trend_tables
from ragstone.comparison.trend_verdict import curve_lines, trend_actions, trend_notes, trend_verdict
from ragstone.display import Table
from ragstone.engine.blocking import public
from ragstone.engine.open_run import check_target, language_of, open_checked
from ragstone.errors import UsageError
from ragstone.evaluation.evaluate import data_frame
from ragstone.messages import checked_language
from ragstone.optional import load
from ragstone.prices import read_price
from ragstone.report.notebook import Tables, result_snippet
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
    which one of them has changed. A series without a change raises a false alarm with at most 5% probability, over all
    quantities together. See `analysis.trend` for what is tested and how.

    `metrics`: only these (all by default). `by`: "day" or "week" splits one run by the time of its records, which is in
    `time_column` (by default a column with one of the usual names). `system`: of runs with several. `where`: only cases
    with these values of the condition or of a column. `price`: of the system, "IN/OUT[/CACHED]" per million tokens.
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
        for path in _distinct([runs] if isinstance(runs, str | Path) else runs):
            run = stack.enter_context(open_checked(path))
            sides.append((path, Side(run, system_of(run, path, system, "--system"), path.name)))
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


def _distinct(paths: Sequence[str | Path]) -> list[Path]:
    """The paths, each file once. UsageError if there is none."""
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        found.setdefault(path.resolve(), path)
    if not found:
        raise UsageError("A trend needs at least two runs: none was given.")
    return [*found.values()]
