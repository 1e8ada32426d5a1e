"""Curves: the benchmark's line charts, with how to read them."""

from collections.abc import Mapping

from markupsafe import Markup

from ragstone.report.html import figure_html
from ragstone.report.section import Section, View, chosen

__all__ = ["PLUGINS"]

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "read": "Bands and whiskers are 95% intervals.",
        "published": "Thin grey dashes are figures that a paper published; they stand here because data, choice of "
        "documents, scoring and template are the same.",
    },
    "zh": {
        "read": "色带与须线为 95% 置信区间。",
        "published": "灰色细虚线是论文公布的结果；数据、文档选取、评分与模板均相同，因此可以放在一起。",
    },
}

_TEMPLATE = """
<p>{{ w.read }}{% if published %} {{ w.published }}{% endif %}</p>
<div class="charts">{% for figure in figures %}{{ figure }}{% endfor %}</div>
"""


def _body(view: View) -> Markup | None:
    lines = [(index, chart) for index, chart in enumerate(view.charts) if chart.kind == "lines" and chart.series]
    if not lines:
        return None
    return view.html(
        _TEMPLATE, w=chosen(WORDS, view.language), figures=[figure_html(view, chart, index) for index, chart in lines],
        published=any(series.published for _, chart in lines for series in chart.series),
    )  # fmt: skip


PLUGINS = {"curves": Section(30, {"en": "Curves", "zh": "曲线"}, _body)}
