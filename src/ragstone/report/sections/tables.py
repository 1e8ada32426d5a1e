"""The benchmark's tables; without the leading ones, where the page opens with them."""

from markupsafe import Markup

from ragstone.report.html import table_html
from ragstone.report.section import Section, View

__all__ = ["PLUGINS"]

_TEMPLATE = """
{% for title, table in tables %}
<h3><bdi>{{ title }}</bdi></h3>
{{ table }}
{% endfor %}
"""


def _body(view: View) -> Markup | None:
    shown = [table for table in view.tables if not view.summaries or table.id not in view.benchmark.leads]
    tables = [(table.title, table_html(view, table)) for table in shown]
    return view.html(_TEMPLATE, tables=tables) if tables else None


PLUGINS = {"tables": Section(40, {"en": "Tables", "zh": "表格"}, _body)}
