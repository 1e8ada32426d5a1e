"""HTML shared by several sections: tables, charts with their legends, highlighted text."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import Any

from markupsafe import Markup

from ragstone.display import Chart, Point, Span, Table
from ragstone.metrics.catalogue import in_language
from ragstone.optional import load
from ragstone.report.heat import heat_html
from ragstone.report.number_format import counts, interval, number, value
from ragstone.report.sanitize import fragments, one_line, readable
from ragstone.report.section import Canvas
from ragstone.types import Score

HTML_LANG = {"en": "en", "zh": "zh-CN"}


def table_html(view: Canvas, table: Table, links: Mapping[str, str] | None = None) -> Markup:
    """A table with its notes, which scrolls on narrow screens. Published rows are tagged as such. `links`: the address
    of what a key names, by its text."""
    cells = [cell for row in table.rows for cell in row.cells[table.keys :] if cell.value is not None]
    words = view.words
    legend = [
        words["in_percent"] if any(cell.unit == "%" for cell in cells) else "",
        words["interval_below"] if any(map(interval, cells)) else "",
        words["scored_of_total"] if any(map(counts, cells)) else "",
    ]
    return view.html(
        "report/table.html", table=table, links=links or {}, words=words, value=value, interval=interval, counts=counts,
        legend=" · ".join(part for part in legend if part), numeric=_numeric(table),
    )  # fmt: skip


def _numeric(table: Table) -> set[int]:
    """The columns other than keys that have at least one value; their headings are right-aligned, as values are."""
    width = len(table.columns)
    return {
        i
        for row in table.rows
        for i, cell in enumerate(row.cells[:width])
        if i >= table.keys and cell.value is not None
    }


_TINTS = 5


def _grid_html(view: Canvas, chart: Chart) -> Markup:
    """Shares as a table of tinted cells, the best outlined, or the lowest of each row."""

    def cell(point: Point, outlined: float | None) -> dict[str, Any]:
        ends = None if point.low is None or point.high is None else f"{100 * point.low:.0f}–{100 * point.high:.0f}"
        tint = min(_TINTS - 1, int(_TINTS * point.y))
        return {"value": f"{100 * point.y:.0f}%", "interval": ends, "tint": tint, "best": point.y == outlined}

    rows = []
    for series, outlined in zip(chart.series, chart.outlined(), strict=True):
        points = {int(point.x): cell(point, outlined) for point in series.points}
        rows.append((one_line(series.name, 80), [points.get(at) for at in range(len(chart.categories))]))
    return view.html(
        "report/grid.html",
        chart=chart,
        rows=rows,
        key=view.words["outlined_lowest" if chart.lowest else "outlined_best"],
    )


_SHAPES = {
    "o": "M13 3a3 3 0 1 0 .01 0z",
    "s": "M10 3h6v6h-6z",
    "^": "M13 2.5l3.5 6.5h-7z",
    "D": "M13 2l4 4-4 4-4-4z",
    "v": "M13 9.5L9.5 3h7z",
    "P": "M12 2.5h2v2.5h2.5v2H14v2.5h-2V7H9.5V5H12z",
    "X": "M10.5 2.5L13 5l2.5-2.5L16.5 3.5 14 6l2.5 2.5-1 1L13 7l-2.5 2.5-1-1L12 6 9.5 3.5z",
}
_DASH_ARRAYS = {"-": "", "--": "6 3", "-.": "6 2 1.5 2", ":": "1.5 2"}


def figures_html(view: Canvas, charts: Iterable[tuple[int, Chart]]) -> list[Markup]:
    """The figures of charts with their numbers on the page; consecutive heat maps of one figure are one."""
    grouped = groupby(charts, lambda item: item[1].figure or item[0])
    figures = [list(group) for _, group in grouped]
    return [
        heat_html(view, [chart for _, chart in group], group[0][0])
        if group[0][1].kind == "heatmap" else figure_html(view, group[0][1], group[0][0])
        for group in figures
    ]  # fmt: skip


def figure_html(view: Canvas, chart: Chart, index: int) -> Markup:
    """A chart with its legend and a folded table of its figures. `index` is the number of the chart on the page."""
    if chart.kind == "heatmap":
        return heat_html(view, [chart], index)
    if chart.kind == "grid":
        return _grid_html(view, chart)
    charts = load("ragstone.report.charts", extra="report", purpose="A chart")
    svg_module = load("ragstone.report.svg", extra="report", purpose="A chart")
    legend: list[tuple[str, Markup, bool]] = []
    measured = 0
    for series in chart.series:
        colour, marker, dash = charts.style_of(measured)
        measured += not series.published
        values: dict[str, Any] = {"kind": chart.kind, "published": series.published, "shape": _SHAPES[marker]}
        values |= {"colour": svg_module.variable(colour), "dash": _DASH_ARRAYS[dash]}
        if series.published:
            values |= {"colour": svg_module.variable(svg_module.GREY), "dash": "3 2.5", "shape": ""}
        legend.append((series.name, view.html("report/swatch.html", **values), series.published))
    svg = Markup(charts.chart_svg(chart, prefix=f"c{index}"))
    return view.html("report/figure.html", chart=chart, svg=svg, legend=legend, words=view.words, rows=_rows(chart))


def _rows(chart: Chart) -> list[tuple[str, list[tuple[str, str] | None]]]:
    """The chart's figures: a row for each x, with (value, interval) of every series."""
    xs = sorted({point.x for series in chart.series for point in series.points})
    by_x = [{point.x: point for point in series.points} for series in chart.series]
    rows = []
    for x in xs:
        named = x == int(x) and int(x) < len(chart.categories)
        head = chart.categories[int(x)] if named else f"{x:g}"
        rows.append((head, [_entry(points.get(x), percent=chart.percent) for points in by_x]))
    return rows


def _entry(point: Point | None, *, percent: bool) -> tuple[str, str] | None:
    if point is None:
        return None

    def formatted(amount: float) -> str:
        return f"{100 * amount:.1f}%" if percent else number(amount)

    if point.low is None or point.high is None:
        return formatted(point.y), ""
    return formatted(point.y), f"{formatted(point.low)}–{formatted(point.high)}"


def marked(
    view: Canvas, text: str, spans: Sequence[Span], *, limit: int, kinds: Mapping[str, str] | None = None
) -> Markup:
    """Text with its highlights, cut to about `limit` characters, with the number of those left out in place. `kinds`
    overrides the meanings of the highlights."""
    words = {**view.words, **(kinds or {})}
    return view.html("report/marked.html", fragments=fragments(text, spans, limit=limit), words=words, safe=_escaped)


def _escaped(text: str) -> Markup:
    """Escaped text, which is not cut again."""
    return Markup.escape(readable(text))


def score_entries(
    view: Canvas, scores: Mapping[str, Score], w: Mapping[str, str], *, limit: int
) -> list[tuple[str, str, str]]:
    """(metric, value or status, reason) of at most `limit` scores. `w` has the word of each status."""
    entries = []
    for name, score in list(scores.items())[:limit]:
        value = number(score.value) if score.value is not None else w[score.status]
        entries.append((one_line(name, 80), value, one_line(in_language(score.reason, view.language), 180)))
    return entries


def static_text(name: str) -> str:
    """A style sheet or a script of pages."""
    return files("ragstone.report").joinpath(name).read_text("utf-8")


def hash_of(text: str) -> str:
    """What a content security policy allows a style or script by."""
    return b64encode(sha256(text.encode()).digest()).decode()


def lang_attribute(language: str) -> Markup:
    """` lang="…"` for text in a known language, which determines glyphs and hyphenation; "" otherwise."""
    return Markup(' lang="{}"').format(HTML_LANG[language]) if language in HTML_LANG else Markup()
