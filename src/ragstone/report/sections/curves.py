"""Curves: the benchmark's line charts, with an explanation."""

from markupsafe import Markup

from ragstone.messages import messages
from ragstone.report.html import figure_html
from ragstone.report.section import Section, View

_TEMPLATE = """
<p>{{ w.read }}{% if published %} {{ w.published }}{% endif %}</p>
<div class="charts">{% for figure in figures %}{{ figure }}{% endfor %}</div>
"""


def _body(view: View) -> Markup | None:
    lines = [
        (index, chart)
        for index, chart in enumerate(view.charts)
        if chart.kind == "lines" and chart.series and not chart.leading
    ]
    if not lines:
        return None
    return view.html(
        _TEMPLATE, w=messages(__name__, view.language),
        figures=[figure_html(view, chart, index) for index, chart in lines],
        published=any(series.published for _, chart in lines for series in chart.series),
    )  # fmt: skip


PLUGINS = {"curves": Section(30, {"en": "Curves", "zh": "曲线"}, _body)}
