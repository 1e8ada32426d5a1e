"""Overview: the benchmark's bar charts."""

from markupsafe import Markup

from ragstone.report.html import figure_html
from ragstone.report.section import Section, View

_TEMPLATE = '<div class="charts">{% for figure in figures %}{{ figure }}{% endfor %}</div>'


def _body(view: View) -> Markup | None:
    figures = [
        figure_html(view, chart, index)
        for index, chart in enumerate(view.charts)
        if chart.kind == "bars" and chart.series and not chart.leading
    ]
    return view.html(_TEMPLATE, figures=figures) if figures else None


PLUGINS = {"overview": Section(20, {"en": "At a glance", "zh": "总览"}, _body)}
