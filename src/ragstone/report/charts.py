"""Charts as SVG, drawn by Matplotlib (extra `report`) and then adapted to the page.

Text stays text, so the reader's fonts draw Chinese. Colours are custom properties of the page, with the Okabe-Ito
palette as the default, so they follow light and dark mode. The SVG has no active content, and the same chart gives
the same bytes. Names are untrusted: they are cleaned, never parsed as mathematics, and escaped by the XML writer.
"""

import io
import unicodedata
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ragstone.display import Chart, Point, Series
from ragstone.report.sanitize import one_line
from ragstone.report.svg import BAD, COLOURS, FAINT, GOOD, GREY, INK, SOFT, adapted

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: Sequence[Any] = ("-", "--", "-.", ":")
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "ragstone",
    "text.parse_math": False,
    "text.usetex": False,
    "axes.unicode_minus": True,
    "path.simplify": False,
}
_INCH = 72.0  # SVG units per inch in Matplotlib's SVG writer
_SIZE = 12.0  # font size in SVG units
_WIDTH = 440.0
_MOST_TICKS = 9
_MOST_NAMES = 5
_SMALL = 1.4  # text of small multiples, which are drawn at about half the size
_MOST_LABELS = 12  # direct labels of published curves that fit without overlap


def style_of(index: int) -> tuple[str, str, Any]:
    """Colour, marker and dash of the measured series number `index`; the first 28 combinations are distinct."""
    return COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)], DASHES[index // len(COLOURS) % len(DASHES)]


def chart_svg(chart: Chart, *, prefix: str = "c") -> str:
    """The chart as one `<svg>` element for HTML, about 440 units wide, with its title and text alternative.

    `prefix` makes its ids unique on a page with several charts.
    """
    with mpl.rc_context(cast(Any, _SETTINGS)), warnings.catch_warnings():
        # The font with which Matplotlib measures text may lack Chinese; the reader's browser has fonts for it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        figure = _DRAWN[chart.kind](chart)
        stream = io.BytesIO()
        figure.savefig(
            stream, format="svg", transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )  # fmt: skip
    title = one_line(chart.title, 300)
    return adapted(stream.getvalue(), title=title, description=one_line(chart.alt or chart.title, 4_000), prefix=prefix)


def _size(chart: Chart) -> float:
    return _SIZE * (_SMALL if chart.leading else 1.0)


def _figure(
    height: float, *, left: float, right: float, top: float, bottom: float, size: float = _SIZE
) -> tuple[Figure, Any]:
    """A figure whose axes leave exactly these margins, in SVG units."""
    figure = Figure(figsize=(_WIDTH / _INCH, height / _INCH), dpi=_INCH)
    FigureCanvasSVG(figure)
    rectangle = (left / _WIDTH, bottom / height, (_WIDTH - left - right) / _WIDTH, (height - top - bottom) / height)
    axes = figure.add_axes(rectangle)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(colors=SOFT, labelsize=size, length=0, pad=6)
    axes.set_axisbelow(True)
    return figure, axes


def _name(series: Series, width: float) -> str:
    """The name of the series, cut to about `width` SVG units."""
    text = one_line(series.name, 200)
    used = 0.0
    for index, character in enumerate(text):
        used += _SIZE * (1.0 if unicodedata.east_asian_width(character) in "WF" else 0.56)
        if used > width:
            return text[: max(1, index - 1)].rstrip() + "…"
    return text


def _percent(value: float) -> str:
    return f"{round(100 * value, 9):.0f}%"  # 57.4999… is 57.5


def _plain(value: float) -> str:
    return f"{value:g}"


# Curves


def _lines(chart: Chart) -> Figure:
    labelled = [series for series in chart.series if series.published and series.points and not chart.leading]
    labelled, size = labelled[:_MOST_LABELS], _size(chart)
    left, right, bottom = 62 if chart.y_label else 46, 112 if labelled else 18, 36 + size if chart.x_label else 32
    height, top = 280 if chart.leading else 300, 30 if chart.marks else 14
    figure, axes = _figure(height, left=left, right=right, top=top, bottom=bottom, size=size)
    xs = sorted({point.x for series in chart.series for point in series.points})
    _scale_y(axes, chart, horizontal=False)
    for series in chart.series:
        if series.published:
            xy = _xy(series.points)
            axes.plot(*xy, color=GREY, linewidth=1.0, linestyle=(0, (3, 2.5)), zorder=1.5)
    measured = [series for series in chart.series if not series.published]
    for index, series in enumerate(measured):
        _curve(axes, series, index)
    if xs:
        room = (xs[-1] - xs[0]) * 0.04 or 0.5
        axes.set_xlim(xs[0] - room, xs[-1] + room)
        _scale_x(axes, xs, chart.categories)
    else:
        axes.set_xticks([])
    if chart.x_label:
        axes.set_xlabel(one_line(chart.x_label, 80), color=SOFT, fontsize=size, labelpad=8)
    _direct_labels(axes, labelled)
    _marks(axes, chart)
    return figure


_MARK_STYLES = {"regression": (BAD, "-", "▼ "), "improvement": (GOOD, "-", "▲ "), "change": (INK, "-", ""),
                "other": (GREY, "--", "")}  # fmt: skip
_MARK_LETTER = 0.6  # width of a letter, in its size


def _marks(axes: Any, chart: Chart) -> None:
    """Vertical lines with their labels above the axes; a label that would overlap the one before it is left out."""
    end, (low, high) = -1.0, axes.get_xlim()
    width = axes.get_position().width * _WIDTH
    for mark in sorted(chart.marks, key=lambda mark: (mark.x, mark.kind)):
        colour, dash, sign = _MARK_STYLES[mark.kind]
        axes.axvline(mark.x, color=colour, linewidth=1.4, linestyle=dash, zorder=1.8)
        text, place = one_line(sign + mark.label, 40), (mark.x - low) / (high - low)
        half = _SIZE * _MARK_LETTER * sum(1.7 if ord(letter) > 0x2E80 else 1 for letter in text) / 2 / width
        centre = min(max(place, half), 1 - half)
        if centre - half > end:
            axes.text(
                centre, 1.02, text, transform=axes.transAxes, ha="center", va="bottom", fontsize=_SIZE, color=colour,
                parse_math=False,
            )  # fmt: skip
            end = centre + half


def _scale_x(axes: Any, xs: Sequence[float], names: Sequence[str]) -> None:
    """A tick at each x, or at every second, third…; at round numbers where those would be too close together. `names`:
    of the places 0, 1, 2…, as many as fit."""
    if xs[-1] < len(names):
        every = -(-len(names) // _MOST_NAMES)
        axes.set_xticks(range(0, len(names), every), [one_line(name, 20) for name in names[::every]])
        return
    ticks = xs if len(xs) <= _MOST_TICKS else xs[:: -(-len(xs) // _MOST_TICKS)]
    closest = min((b - a for a, b in pairwise(ticks)), default=1.0)
    if closest * _MOST_LABELS < xs[-1] - xs[0]:
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.xaxis.set_major_formatter(lambda value, _: _plain(value))
    else:
        axes.set_xticks(ticks, [_plain(x) for x in ticks])


def _xy(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    ordered = sorted(points, key=lambda point: point.x)
    return [point.x for point in ordered], [point.y for point in ordered]


def _curve(axes: Any, series: Series, index: int) -> None:
    """A measured curve with its interval as a band, and as a whisker at each point."""
    colour, marker, dash = style_of(index)
    xs, ys = _xy(series.points)
    banded = sorted(
        (point for point in series.points if point.low is not None and point.high is not None), key=lambda p: p.x
    )
    if len(banded) > 1:
        axes.fill_between(
            [point.x for point in banded], [point.low for point in banded], [point.high for point in banded],
            color=colour, alpha=0.14, linewidth=0, zorder=2,
        )  # fmt: skip
    for point in banded:
        axes.plot([point.x, point.x], [point.low, point.high], color=colour, linewidth=1.1, alpha=0.65, zorder=2.5)
    axes.plot(
        xs, ys, color=colour, linewidth=2.2, linestyle=dash, marker=marker, markersize=6, markeredgewidth=0,
        zorder=3, clip_on=False,
    )  # fmt: skip


_LEADER = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 3, "relpos": (0, 0.5)}


def _direct_labels(axes: Any, labelled: Sequence[Series]) -> None:
    """The names of published curves at their right ends, moved apart so that they do not overlap."""
    ends = sorted(((*_end(series), series) for series in labelled), key=lambda end: (end[1], end[2].name))
    if not ends:
        return
    low, high = axes.get_ylim()
    step = (high - low) * (_SIZE + 1) / (axes.get_position().height * axes.figure.get_figheight() * _INCH)
    for label_y, (x, y, series) in zip(_apart([end[1] for end in ends], step, high), ends, strict=True):
        axes.annotate(
            _name(series, 92), (x, y), xytext=(1.045, label_y), textcoords=axes.get_yaxis_transform(), va="center",
            ha="left", fontsize=_SIZE - 1, color=SOFT, annotation_clip=False, parse_math=False,
            arrowprops=_LEADER,
        )  # fmt: skip


def _end(series: Series) -> tuple[float, float]:
    last = max(series.points, key=lambda point: point.x)
    return last.x, last.y


def _apart(positions: Sequence[float], step: float, highest: float) -> list[float]:
    """The nearest positions at least `step` apart, none above `highest`; positions ascend, as does the result."""
    clusters: list[tuple[float, int]] = []  # (centre, size); overlapping neighbours are merged
    for position in positions:
        centre, count = position, 1
        while clusters and centre - clusters[-1][0] < step * (count + clusters[-1][1]) / 2:
            below, size = clusters.pop()
            centre, count = (centre * count + below * size) / (count + size), count + size
        clusters.append((centre, count))
    spread = [centre + (index - (count - 1) / 2) * step for centre, count in clusters for index in range(count)]
    excess = max(0.0, spread[-1] - highest)
    return [position - excess for position in spread]


def _scale_y(axes: Any, chart: Chart, *, horizontal: bool) -> None:
    """The value axis with a thin grid: 0-100% for shares, otherwise the range of the data."""
    axis = axes.xaxis if horizontal else axes.yaxis
    limit = axes.set_xlim if horizontal else axes.set_ylim
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    if chart.percent:
        limit(0, 1.0)
        axis.set_ticks(ticks, [_percent(tick) for tick in ticks])
    else:
        ends = [value for s in chart.series for p in s.points for value in (p.y, p.low, p.high) if value is not None]
        low, high = min(ends if chart.zoom and ends else [0.0, *ends]), max(ends, default=1.0)
        high = high if high > low else low + (abs(low) / 10 if chart.zoom and low else 1.0)
        limit(low - (high - low) * 0.05 * chart.zoom, high + (high - low) * 0.05)
        axis.set_major_formatter(lambda value, _: _plain(value))
    axes.grid(axis="x" if horizontal else "y", color=FAINT, linewidth=0.8)
    if chart.y_label and not horizontal and not chart.leading:
        axes.set_ylabel(one_line(chart.y_label, 80), color=SOFT, fontsize=_SIZE, labelpad=6)


# Bars


_BAR = 15.0  # height of a bar
_SPACE = 4.0  # between two bars of a category
_LABEL = 25.0  # for the category's name above its bars
_BETWEEN = 16.0  # between two categories


def _bars(chart: Chart) -> Figure:
    """Horizontal bars with the name of each category above them, which leaves room for long names in any script."""
    count = max((int(p.x) + 1 for s in chart.series for p in s.points), default=0)
    categories = [*chart.categories, *[""] * (count - len(chart.categories))]
    lanes = 1 if chart.stacked else max(1, len(chart.series))
    block = _LABEL + lanes * (_BAR + _SPACE) + _BETWEEN
    top, bottom, size = 2.0, 30.0, _size(chart)
    height = top + bottom + max(1, len(categories)) * block
    figure, axes = _figure(height, left=8, right=40 + 16 * size / _SIZE, top=top, bottom=bottom, size=size)
    axes.set_ylim(len(categories) * block or block, 0)
    axes.set_yticks([])
    _scale_y(axes, chart, horizontal=True)
    for index, category in enumerate(categories):
        axes.text(
            0, index * block + _LABEL - 7, one_line(category, 70), fontsize=size, color=INK, weight="bold",
            va="baseline", ha="left",
            transform=axes.get_yaxis_transform(), parse_math=False,
        )  # fmt: skip
    if chart.stacked:
        _stacks(axes, chart, len(categories), block)
        return figure
    measured = 0
    for row, series in enumerate(chart.series):
        colour = GREY if series.published else style_of(measured)[0]
        measured += not series.published
        for point in series.points:
            y = int(point.x) * block + _LABEL + row * (_BAR + _SPACE) + _BAR / 2
            _bar(axes, point, y, colour, percent=chart.percent, published=series.published, size=size)
    return figure


def _stacks(axes: Any, chart: Chart, count: int, block: float) -> None:
    """One bar per category: its parts end to end in the order of the series, their values above in the same order."""
    for index in range(count):
        parts = [
            (number, point) for number, series in enumerate(chart.series) for point in series.points if point.x == index
        ]
        end = 0.0
        for number, point in parts:
            axes.barh(
                index * block + _LABEL + _BAR / 2, point.y, left=end, height=_BAR, color=style_of(number)[0], zorder=2,
                linewidth=0,
            )  # fmt: skip
            end += point.y
        values = " · ".join(_percent(point.y) if chart.percent else _plain(point.y) for _, point in parts)
        axes.text(
            1, index * block + _LABEL - 7, values, fontsize=_SIZE - 1, color=SOFT, va="baseline", ha="right",
            transform=axes.get_yaxis_transform(), parse_math=False,
        )  # fmt: skip


def _bar(
    axes: Any, point: Point, y: float, colour: str, *, percent: bool, published: bool, size: float
) -> None:  # fmt: skip
    """A bar with its interval as a whisker and its value beyond both."""
    axes.barh(
        y, point.y, height=_BAR, color="none" if published else colour, edgecolor=colour,
        linewidth=1 if published else 0, linestyle="--" if published else "-", zorder=2,
    )  # fmt: skip
    end = point.y
    if point.low is not None and point.high is not None:
        axes.plot([point.low, point.high], [y, y], color=INK, linewidth=1.2, alpha=0.75, zorder=3)
        for x in (point.low, point.high):
            axes.plot([x, x], [y - 3, y + 3], color=INK, linewidth=1.2, alpha=0.75, zorder=3)
        end = max(end, point.high)
    axes.annotate(
        _percent(point.y) if percent else _plain(point.y), (end, y), xytext=(6, 0), textcoords="offset points",
        va="center", ha="left", fontsize=size, color=INK, annotation_clip=False, parse_math=False,
    )  # fmt: skip


_DRAWN = {"lines": _lines, "bars": _bars}
