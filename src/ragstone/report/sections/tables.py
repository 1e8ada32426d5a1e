"""The benchmark's tables: the leading ones open; the others and published ones folded, with a line that says what each
is."""

from markupsafe import Markup

from ragstone.display import Table
from ragstone.report.html import table_html
from ragstone.report.section import Section, View
from ragstone.report.sections.opening import opens_with_tables


def _body(view: View) -> Markup | None:
    leads = view.benchmark.leads
    shown = [table for table in view.tables if not (opens_with_tables(view) and table.id in leads)]
    leading = [table for table in shown if _is_leading(table, leads)]
    folded = [
        (table.title, _rows(view, len(table.rows)), table_html(view, table)) for table in shown if table not in leading
    ]
    tables = [(table.title, table_html(view, table)) for table in leading]
    return view.html("report/tables.html", open=tables, folded=folded) if shown else None


def _is_leading(table: Table, leads: tuple[str, ...]) -> bool:
    return (not leads or table.id in leads) and not all(row.published for row in table.rows)


def _rows(view: View, n: int) -> str:
    return view.words["one_row" if n == 1 else "rows"].format(n=f"{n:,}")


PLUGINS = {"tables": Section(40, {"en": "Tables", "zh": "表格"}, _body)}
