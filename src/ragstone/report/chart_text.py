"""The leading charts of a run in characters, for a terminal: figures in a grid, bars, curves and heat maps."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from ragstone.display import Chart, Point
from ragstone.messages import messages, wrapped
from ragstone.report.sanitize import one_line

_MOST = 12  # systems, rows or bars of a chart; more are counted
_MOST_COLUMNS = 10  # of a grid
_NAME = 28
_HEAD, _INTERVAL = 3, 16  # lines of a heading of a grid; columns of "▶ 100% [99, 100]"
_STEPS = "▁▂▃▄▅▆▇█"
_SHADES = "·░▒▓█"


def chart_lines(chart: Chart, *, width: int = 100, language: str = "en") -> list[str]:
    """The chart with its title; [] for a chart that characters cannot show. Published curves are left out."""
    draw = _DRAWN.get(chart.kind)
    lines = list(draw(chart, width, messages(__name__, language))) if draw is not None and chart.percent else []
    return [fitted(line, width, indented=True) for line in [chart.title, *lines]] if lines else []


def fitted(text: str, width: int, *, indented: bool = False) -> str:
    """The text on one line of at most so many columns; what is `indented` may have several spaces in a row."""
    line = Text(text if indented else one_line(text, 4 * width))
    line.truncate(max(1, width), overflow="ellipsis")
    return line.plain


def _named(names: Sequence[str], room: int = _NAME) -> tuple[list[str], int]:
    """Names cut to a common width of at most `room` columns, padded."""
    shown = [fitted(name, min(room, _NAME)) for name in names]
    widest = max(map(cell_len, shown), default=0)
    return [name + " " * (widest - cell_len(name)) for name in shown], widest


def _more(left: int, words: Mapping[str, str]) -> Iterator[str]:
    if left > 0:
        yield f"  {words['more'].format(n=left)}"


def _figure(point: Point) -> str:
    ends = "" if point.low is None or point.high is None else f" [{100 * point.low:.0f}, {100 * point.high:.0f}]"
    return f"{100 * point.y:.0f}%{ends}"


def _grid(chart: Chart, width: int, words: Mapping[str, str]) -> Iterator[str]:
    """A row of figures for each series, the outlined ones after arrows; their intervals where there is room."""
    rows = chart.series[:_MOST]
    names, widest = _named([series.name for series in rows])
    room = max(1, min(_MOST_COLUMNS, len(chart.categories), (width - widest - 2) // 10))
    most = max(8, (width - widest - 2) // room - 2)
    heads = [wrapped(one_line(name, 80), most)[:_HEAD] for name in chart.categories[:room]]
    shown = _figure if most >= _INTERVAL else (lambda point: f"{point.y:.0%}")
    table = []
    for series, outlined in zip(rows, chart.outlined(), strict=False):
        cells = {int(point.x): f"{'▶ ' * (point.y == outlined)}{shown(point)}" for point in series.points}
        table.append([cells.get(at, "–") for at in range(room)])
    size = min(most, max(map(cell_len, (text for texts in (*heads, *table) for text in texts)), default=8))
    for at in range(-max(map(len, heads), default=0), 0):
        line = [fitted(head[at], size) if -at <= len(head) else "" for head in heads]
        yield "  " + " " * widest + "".join("  " + " " * (size - cell_len(text)) + text for text in line)
    for name, texts in zip(names, table, strict=True):
        yield f"  {name}" + "".join(f"  {text:>{size}}" for text in texts)
    yield from _more(len(chart.series) - len(rows), words)
    yield f"  {words['lowest' if chart.lowest else 'best']}"


def _bars(chart: Chart, width: int, words: Mapping[str, str]) -> Iterator[str]:
    """A bar for each series and category."""
    if chart.stacked:
        return
    entries = [
        (words["joined"].format(a=series.name, b=chart.categories[int(point.x)])
         if len(chart.categories) > 1 else series.name, point)
        for series in chart.series if not series.published for point in series.points
    ]  # fmt: skip
    figures = [_figure(point) for _, point in entries[:_MOST]]
    left = width - max(map(len, figures), default=0) - 6
    names, widest = _named([name for name, _ in entries[:_MOST]], left - 8)
    room = max(8, min(40, left - widest))
    for name, figure, (_, point) in zip(names, figures, entries, strict=False):
        full = round(room * min(1.0, max(0.0, point.y)))
        yield f"  {name}  {'█' * full}{'·' * (room - full)}  {figure}"
    yield from _more(len(entries) - len(names), words)


def _lines(chart: Chart, width: int, words: Mapping[str, str]) -> Iterator[str]:
    """A block of its height for each point of a curve, if all curves are over the same x."""
    measured = [series for series in chart.series if not series.published and series.points]
    if len({tuple(point.x for point in series.points) for series in measured}) > 1:
        return
    names, _ = _named([series.name for series in measured[:_MOST]])
    for name, series in zip(names, measured, strict=False):
        blocks = "".join(_STEPS[min(7, max(0, int(8 * point.y)))] * 2 for point in series.points)
        first, last = series.points[0], series.points[-1]
        text = words["from_to"] if len(series.points) > 1 else words["at"]
        figures = text.format(first=f"{first.y:.0%}", x=f"{first.x:g}", last=f"{last.y:.0%}", end=f"{last.x:g}")
        yield f"  {name}  {blocks}  {figures}"
    yield from _more(len(measured) - len(names), words)


def _heatmap(chart: Chart, width: int, words: Mapping[str, str]) -> Iterator[str]:
    """Two characters for each cell, from "··" (0%) to full (100%), a difference with its sign before its shade; blank
    was not measured."""
    rows = chart.series[:: -(-len(chart.series) // _MOST)] if chart.series else ()
    names, widest = _named([series.name for series in rows])
    every = max(1, -(-2 * len(chart.categories) // max(2, width - widest - 4)))
    columns = range(0, len(chart.categories), every)
    for name, series in zip(names, rows, strict=True):
        cells = {int(point.x): point.y for point in series.points}
        yield f"  {name}  " + "".join(_shade(cells.get(column), signed=chart.signed) for column in columns)
    ends = [one_line(chart.categories[at], 12) for at in (columns[0], columns[-1])] if columns else []
    yield f"  {' ' * widest}  {words['across'].format(name=chart.x_label, ends=' … '.join(dict.fromkeys(ends)))}"
    yield f"  {words['differences' if chart.signed else 'shades']}"


def _shade(value: float | None, *, signed: bool) -> str:
    if value is None:
        return "  "
    shade = _SHADES[min(4, int(4 * abs(value) + 0.5))]
    return ("+" if value > 0 else "−") + shade if signed and value else shade * 2


_DRAWN: Mapping[str, Callable[[Chart, int, Mapping[str, str]], Iterator[str]]] = {
    "grid": _grid, "bars": _bars, "lines": _lines, "heatmap": _heatmap,
}  # fmt: skip
