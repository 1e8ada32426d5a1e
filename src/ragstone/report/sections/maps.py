"""Heat maps: how well each cell of a grid was answered."""

from collections.abc import Mapping

from markupsafe import Markup

from ragstone.report.html import figure_html
from ragstone.report.section import Section, View, chosen

__all__ = ["PLUGINS"]

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {"read": "Bright cells were answered, dark ones were not; an empty frame was not measured."},
    "zh": {"read": "亮色的格子答对了，暗色的没有；空框表示未测。"},
}

_TEMPLATE = """
<p>{{ w.read }}</p>
<div class="charts">{% for figure in figures %}{{ figure }}{% endfor %}</div>
"""


def _body(view: View) -> Markup | None:
    maps = [(index, chart) for index, chart in enumerate(view.charts) if chart.kind == "heatmap" and chart.series]
    if not maps:
        return None
    figures = [figure_html(view, chart, index) for index, chart in maps]
    return view.html(_TEMPLATE, w=chosen(WORDS, view.language), figures=figures)


PLUGINS = {"maps": Section(25, {"en": "Heat maps", "zh": "热力图"}, _body)}
