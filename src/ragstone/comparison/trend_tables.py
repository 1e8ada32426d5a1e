"""The tables and charts of a trend."""

from collections.abc import Mapping

from ragstone.comparison.trend_figures import Curve, Trend
from ragstone.comparison.trend_verdict import amount, labels, mark_line, quantity
from ragstone.display import Cell, Chart, ChartMark, Row, Series, Table
from ragstone.messages import messages
from ragstone.stats import Estimate


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
