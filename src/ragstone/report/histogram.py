"""A histogram small enough for a table cell."""

from collections.abc import Sequence

from markupsafe import Markup

from ragstone.report.section import Canvas
from ragstone.report.svg import COLOURS, FAINT, variable

_STEP, _BAR, _HEIGHT = 13, 11, 34


def histogram_html(canvas: Canvas, counts: Sequence[int], label: str) -> Markup:
    """Bars for these counts, scaled to the largest; any count above 0 is visible. `label` is the text alternative and
    should name the counts."""
    most = max(counts, default=0) or 1
    bars = []
    for index, count in enumerate(counts):
        if count:
            tall = max(1.5, round((_HEIGHT - 2) * count / most, 1))
            bars.append((index * _STEP + 1, round(_HEIGHT - 1 - tall, 1), tall))
    return canvas.html(
        "report/histogram.html", width=_STEP * len(counts), height=_HEIGHT, bar=_BAR, bars=bars, label=label,
        fill=variable(COLOURS[0]), line=variable(FAINT),
    )  # fmt: skip
