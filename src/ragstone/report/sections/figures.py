"""The benchmark's charts of each kind, but for those that the page opens with."""

from functools import partial
from typing import Literal

from markupsafe import Markup

from ragstone.messages import messages
from ragstone.report.html import figures_html
from ragstone.report.section import Section, View


def _figures(view: View, kind: Literal["bars", "heatmap", "lines"]) -> Markup | None:
    """The charts of a kind, with how to read them; None without any."""
    charts = [
        (index, chart)
        for index, chart in enumerate(view.charts)
        if chart.kind == kind and chart.series and not chart.leading
    ]
    words = messages(__name__, view.language)
    published = any(series.published for _, chart in charts for series in chart.series)
    notes = {"bars": (), "heatmap": ("heatmap",), "lines": ("lines", "published") if published else ("lines",)}[kind]
    shown = view.html(
        "report/charts.html", note=" ".join(words[name] for name in notes), figures=figures_html(view, charts)
    )
    return shown if charts else None


PLUGINS = {
    "overview": Section(20, {"en": "At a glance", "zh": "总览"}, partial(_figures, kind="bars")),
    "heatmaps": Section(25, {"en": "Heat maps", "zh": "热力图"}, partial(_figures, kind="heatmap")),
    "curves": Section(30, {"en": "Curves", "zh": "曲线"}, partial(_figures, kind="lines")),
}
