"""Heat maps as tables of coloured cells, from dark (0%) to bright (100%), legible in grey and to colour-blind readers.

The colours are those of cividis (Nuñez, Anderton & Renslow 2018), whose brightness increases evenly with the value; of
differences, those of ColorBrewer's BrBG (Harrower & Brewer 2003), brown for worse. A cell that was not measured is an
hatched frame. A cell says its figure where the pointer is; by keyboard the rows are one group of radio buttons, and
the chosen row shows its figures; a switch shows all of them, another one enlarges the figure. It takes no script.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from ragstone.display import Chart, Point, Tick
from ragstone.report.number_format import number
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas

_SHADES = 20  # steps of colour from 0% to 100%; the style sheet has a class for each
_FEW, _SOME = 12, 20  # rows: up to so many are tall, or of middle height


_CELL = Markup('<td class="{kind}{shade}" data-at="{place}: {figure}"><b>{number}</b></td>')
_MISSING = Markup('<td class="none"></td>')


def heat_html(canvas: Canvas, charts: Sequence[Chart], index: int) -> Markup:
    """One figure of these heat maps, which are its panels and steps. `index`: of its first chart on the page."""
    steps = [(name, list(panels)) for name, panels in groupby(charts, lambda chart: chart.step)]
    place = iter(range(len(charts)))
    first = charts[0]
    scales = {
        False: {"kind": "v", "low": "0%", "high": "100%"},
        True: {"kind": "d", "low": canvas.words["worse"], "high": canvas.words["better"]},
    }
    return canvas.html(
        "report/heat_figure.html", words=canvas.words, id=f"h{index}", title=first.figure or first.title,
        numbers=first.numbers,
        steps=[(name, [_map(canvas, panel, f"h{index}-r{next(place)}") for panel in panels]) for name, panels in steps],
        beside=any(len(panels) > 1 for _, panels in steps), shades=range(_SHADES + 1),
        alts=[one_line(chart.alt, 4_000) for chart in charts if chart.alt],
        scales=[scales[signed] for signed in dict.fromkeys(chart.signed for chart in charts)],
    )  # fmt: skip


def _map(canvas: Canvas, chart: Chart, name: str) -> Markup:
    """One map with its axes."""
    rows = len(chart.series)
    return canvas.html(
        "report/heat_map.html", words=canvas.words, id=name, title=one_line(chart.title, 300),
        panel=one_line(chart.panel, 80),
        size="few" if rows <= _FEW else "some" if rows <= _SOME else "many", corner=one_line(chart.y_label, 40),
        columns=[one_line(name, 12) for name in chart.categories], x_label=one_line(chart.x_label, 80),
        rows=[(one_line(row.name, 40), _cells(chart, row.name, row.points)) for row in chart.series],
        ticks_x=_places(chart.ticks_x, len(chart.categories)), ticks_y=_places(chart.ticks_y, rows),
    )  # fmt: skip


def _places(ticks: Sequence[Tick], cells: int) -> list[dict[str, Any]]:
    """Ticks at whole percents of an axis of so many cells; the style sheet has a class for each."""
    return [
        {"at": min(100, max(0, round(100 * tick.at / max(1, cells)))), "label": one_line(tick.label, 12)}
        for tick in ticks
    ]  # fmt: skip


def _cells(chart: Chart, row: str, points: Sequence[Point]) -> Markup:
    """The cells of a row; written without a template, for a page may have 30,000."""
    by_column = {int(point.x): point for point in points}
    places = [f"{one_line(name, 12)} · {one_line(row, 40)}" for name in chart.categories]
    return Markup().join(_cell(chart, place, by_column.get(column)) for column, place in enumerate(places))


def _cell(chart: Chart, place: str, point: Point | None) -> Markup:
    if point is None:
        return _MISSING
    share = (point.y + 1) / 2 if chart.signed else point.y
    shown = _figure(chart, point.y)
    unit = "%" if chart.percent and not chart.signed else ""
    ends = ""
    if point.low is not None and point.high is not None:
        ends = f" [{_figure(chart, point.low)}, {_figure(chart, point.high)}]"
    return _CELL.format(
        kind="d" if chart.signed else "v", shade=round(_SHADES * min(1.0, max(0.0, share))), place=place,
        figure=f"{shown}{unit}{ends}", number=shown,
    )  # fmt: skip


def _figure(chart: Chart, value: float) -> str:
    """A share in percent, a difference in points with its sign, or else a number."""
    if not chart.percent:
        return number(value)
    rounded = round(100 * value)
    return f"{rounded:+d}" if chart.signed and rounded else f"{rounded}"
