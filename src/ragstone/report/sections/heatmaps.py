"""Heat maps: the share of right answers in each cell of a grid."""

from markupsafe import Markup

from ragstone.messages import messages
from ragstone.report.html import figures_html
from ragstone.report.section import Section, View

_TEMPLATE = """
<p>{{ w.read }}</p>
<div class="charts">{% for figure in figures %}{{ figure }}{% endfor %}</div>
"""


def _body(view: View) -> Markup | None:
    maps = [
        (index, chart)
        for index, chart in enumerate(view.charts)
        if chart.kind == "heatmap" and chart.series and not chart.leading
    ]
    if not maps:
        return None
    return view.html(_TEMPLATE, w=messages(__name__, view.language), figures=figures_html(view, maps))


PLUGINS = {"heatmaps": Section(25, {"en": "Heat maps", "zh": "热力图"}, _body)}
