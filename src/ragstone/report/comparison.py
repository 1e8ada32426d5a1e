"""A comparison as one self-contained HTML document: the verdict with its 2 × 2 picture, the tables, the cases side by
side, and how the runs were made."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ragstone.analysis.flips import Cell, Flips
from ragstone.display import Chart, Table
from ragstone.messages import checked_language, messages
from ragstone.report.flips import cell_label, flips_html
from ragstone.report.html import figures_html, table_html
from ragstone.report.page import CASE_BYTES, document
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas
from ragstone.report.sections.worst_answers import free_anchor
from ragstone.report.side_by_side import Column, side_by_side

_VERDICT = """
{% for line in notices %}
<p class="notice" role="note"><bdi>{{ line }}</bdi></p>
{% endfor %}
{% for line in lines %}
<p class="verdict{{ ' line' if not loop.first }}"><bdi>{{ line }}</bdi></p>
{% endfor %}
"""

_CASES = """
{% for cell, title, cards in groups %}
<h3 id="cases-{{ cell }}">{{ title }} <small>{{ cards | length }}</small></h3>
{% for card in cards %}<details class="case"><summary><span class="q"><bdi>{{ card.question }}</bdi></span> <span class="who"><b class="mono"><bdi>{{ card.id }}</bdi></b></span></summary>
<div class="in" id="{{ card.at }}">{{ card.body }}</div></details>
{% endfor %}
{% endfor %}
"""  # noqa: E501  a template

_FACTS = """
<dl class="facts">
{% for name, text in facts %}
<dt>{{ name }}</dt><dd><bdi>{{ text }}</bdi></dd>
{% endfor %}
</dl>
"""


def render(
    a: str, b: str, lines: Sequence[str], notices: Sequence[str], tables: Sequence[Table],
    facts: Mapping[str, Sequence[str]], *, charts: Sequence[Chart] = (), flips: Flips | None = None,
    cases: Sequence[tuple[Cell, Column, Column]] = (), language: str = "en",
) -> str:  # fmt: skip
    """The page. `a` and `b` are the names of the sides, `lines` the verdict, `notices` the warnings above it; `facts`
    describes the sides "a" and "b"; `charts` follow the verdict. `flips`: opens the page as a picture, whose cells
    lead to `cases`."""
    canvas, words = Canvas(checked_language(language)), messages(__name__, language)
    pairs = [(words[side], text) for side in ("a", "b") for text in facts[side]]
    verdict = canvas.html(_VERDICT, lines=lines, notices=notices)
    cards, links, cells = _cards(canvas, (a, b), cases)
    if flips is not None:
        verdict += flips_html(canvas, flips, (a, b), cells)
    sections: list[tuple[str, str, Markup | str]] = [("verdict", words["verdict"], verdict)]
    if charts:
        sections.append(("charts", words["charts"], Markup().join(figures_html(canvas, enumerate(charts)))))
    sections += [
        (f"t{number}", table.title, table_html(canvas, table, links)) for number, table in enumerate(tables, 1)
    ]
    if cards:
        sections.append(("cases", words["cases"], cards))
    sections.append(("made", words["provenance"], canvas.html(_FACTS, facts=pairs)))
    return document(canvas, sections, heading=words["heading"], systems=[a, b])


def _cards(
    canvas: Canvas, names: tuple[str, str], cases: Sequence[tuple[Cell, Column, Column]]
) -> tuple[Markup, dict[str, str], dict[Cell, str]]:
    """The cases side by side, folded, by cell; the place of each sample by its id, and that of each cell."""
    used: set[str] = set()
    links: dict[str, str] = {}
    groups: dict[Cell, list[dict[str, Any]]] = {}
    size = 0
    for cell, one, other in cases:
        body = side_by_side(canvas, [one, other])
        size += len(body.encode("utf-8", "backslashreplace"))
        if size > CASE_BYTES and groups:
            break
        sample = one.record.case.sample.id
        at = free_anchor(sample, used)
        links.setdefault(sample, f"#{at}")
        groups.setdefault(cell, []).append({
            "at": at, "id": one_line(sample, 80), "body": body,
            "question": one_line(one.record.case.query.question, 200),
        })  # fmt: skip
    titled = [(cell, cell_label(cell, names, canvas.language), cards) for cell, cards in groups.items()]
    html = canvas.html(_CASES, groups=titled) if titled else Markup()
    return html, links, {cell: f"#cases-{cell}" for cell in groups}
