"""A trend as one self-contained HTML document: the verdict, the curves, what to look at, the tables, and its runs."""

from collections.abc import Sequence

from markupsafe import Markup

from ragstone.display import Chart, Table
from ragstone.messages import messages
from ragstone.report.html import figure_html, table_html
from ragstone.report.page import Part, document
from ragstone.report.section import Canvas

_LEADING = 2  # charts beside the verdict


def parts(
    canvas: Canvas, lines: Sequence[str], charts: Sequence[Chart], actions: Sequence[str], tables: Sequence[Table],
    notes: Sequence[str], files: Sequence[str],
) -> list[Part]:  # fmt: skip
    """The sections of the page. `lines`: the verdict first, then what it rests on. `charts`: those that changed first.
    `actions`: what to look at. `notes`: what limits the trend. `files`: the runs."""
    words = messages(__name__, canvas.language)
    drawn = [figure_html(canvas, chart, number) for number, chart in enumerate(charts)]
    first = Markup().join(drawn[:_LEADING])
    sections: list[Part] = [
        (
            "verdict",
            words["verdict"],
            canvas.html("comparison/trend_verdict.html", lines=lines, charts=first, actions=actions, words=words),
        ),
    ]
    if rest := drawn[_LEADING:]:
        sections.append(
            (
                "curves",
                words["curves"],
                canvas.html('<div class="charts">{{ charts }}</div>', charts=Markup().join(rest)),
            )
        )
    sections += [(f"t{number}", table.title, table_html(canvas, table)) for number, table in enumerate(tables, 1)]
    sections.append(
        ("made", words["made"], canvas.html("comparison/trend_runs.html", notes=notes, files=files, words=words))
    )
    return sections


def render(canvas: Canvas, sections: Sequence[Part], systems: Sequence[str]) -> str:
    """The sections as a file."""
    return document(canvas, sections, heading=messages(__name__, canvas.language)["heading"], systems=systems)
