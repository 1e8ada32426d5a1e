"""Heat maps: a rectangle per cell, from dark (0%) to bright (100%), legible in grey and to colour-blind readers.

The colours are those of cividis (Nuñez, Anderton & Renslow 2018), whose brightness increases evenly with the value. A
cell that was not measured is an empty frame. With `numbers` each cell shows its value.
"""

from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ragstone.display import Chart
from ragstone.report.sanitize import one_line
from ragstone.report.svg import FAINT, SOFT

__all__ = ["heat_figure"]

_INCH = 72.0
_WIDTH = 440.0
_SIZE = 12.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 14.0, 6.0, 92.0
_TALLEST, _SHORTEST = 30.0, 11.0  # row heights
_MOST_TICKS_X, _MOST_TICKS_Y = 8, 12
_STEPS = 24  # of the colour bar


def heat_figure(chart: Chart) -> Figure:
    """The figure of a chart of kind "heatmap": its series are the rows, from the top."""
    rows, columns = len(chart.series), len(chart.categories)
    tall = min(_TALLEST, max(_SHORTEST, 330.0 / max(1, rows)))
    height = _TOP + _BOTTOM + max(1, rows) * tall
    figure = Figure(figsize=(_WIDTH / _INCH, height / _INCH), dpi=_INCH)
    FigureCanvasSVG(figure)
    inner = (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    axes = figure.add_axes((_LEFT / _WIDTH, _BOTTOM / height, inner, max(1, rows) * tall / height))
    axes.set_xlim(0, max(1, columns))
    axes.set_ylim(max(1, rows), 0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(colors=SOFT, labelsize=_SIZE - 1, length=0, pad=4)
    _cells(axes, chart, tall=tall, wide=(_WIDTH - _LEFT - _RIGHT) / max(1, columns))
    every = -(-columns // _MOST_TICKS_X) if columns else 1
    axes.set_xticks(
        [column + 0.5 for column in range(0, columns, every)],
        [one_line(chart.categories[column], 12) for column in range(0, columns, every)],
    )
    every = -(-rows // _MOST_TICKS_Y) if rows else 1
    axes.set_yticks(
        [row + 0.5 for row in range(0, rows, every)],
        [one_line(chart.series[row].name, 12) for row in range(0, rows, every)],
    )
    axes.set_xlabel(one_line(chart.x_label, 80), color=SOFT, fontsize=_SIZE, labelpad=6)
    axes.set_ylabel(one_line(chart.y_label, 80), color=SOFT, fontsize=_SIZE, labelpad=6)
    _colour_bar(figure, height)
    return figure


def _colour(value: float) -> str:
    return str(to_hex(mpl.colormaps["cividis"](min(1.0, max(0.0, value)))))


def _cells(axes: Any, chart: Chart, *, tall: float, wide: float) -> None:
    for row, series in enumerate(chart.series):
        values = {int(point.x): point.y for point in series.points}
        for column in range(len(chart.categories)):
            value = values.get(column)
            if value is None:
                frame = Rectangle((column + 0.06, row + 0.06), 0.88, 0.88, fill=False, edgecolor=FAINT, linewidth=0.8)
                axes.add_patch(frame)
                continue
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=_colour(value), edgecolor="none", linewidth=0))
            if chart.numbers and wide >= 22 and tall >= _SHORTEST:
                axes.text(
                    column + 0.5, row + 0.5, f"{100 * value:.0f}", ha="center", va="center",
                    fontsize=min(10.0, tall - 2),
                    color="#ffffff" if value < 0.55 else "#16181c", parse_math=False,
                )  # fmt: skip


def _colour_bar(figure: Figure, height: float) -> None:
    """The colour scale below the map."""
    axes = figure.add_axes((_LEFT / _WIDTH, 26 / height, 150 / _WIDTH, 10 / height))
    axes.set_xlim(0, _STEPS)
    axes.set_ylim(0, 1)
    for side in axes.spines.values():
        side.set_visible(False)
    for step in range(_STEPS):
        axes.add_patch(Rectangle((step, 0), 1.02, 1, facecolor=_colour(step / (_STEPS - 1)), edgecolor="none"))
    axes.tick_params(colors=SOFT, labelsize=_SIZE - 1, length=0, pad=3)
    axes.set_xticks([0, _STEPS / 2, _STEPS], ["0%", "50%", "100%"])
    axes.set_yticks([])
