"""A comparison as one self-contained HTML document: the verdict with its 2 × 2 picture, the tables, the cases side by
side, and how the runs were made."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ragstone.analysis.flips import Cell, Flips
from ragstone.comparison.flips_page import cell_label, flips_html, flips_todo, flips_verdict
from ragstone.display import Chart, Summary, Table
from ragstone.messages import checked_language, messages
from ragstone.report.html import figures_html, table_html
from ragstone.report.page import CASE_BYTES, Part, document
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas
from ragstone.report.sections.opening import block_of, dots_html, opening_html
from ragstone.report.sections.worst_answers import free_anchor
from ragstone.report.side_by_side import Column, side_by_side

FOLDED = ("compare-flips", "compare-power")
METRICS = "metrics"
_NAME = 60
_TODO = 3
_FOLDED = """<details class="figures"><summary>{{ title }}</summary>{{ body }}</details>"""


def render(
    names: tuple[str, str], summary: Summary, tables: Sequence[Table], facts: Mapping[str, Sequence[str]], *,
    notices: Sequence[str] = (), charts: Sequence[Chart] = (), flips: Flips | None = None,
    cases: Sequence[tuple[Cell, Column, Column]] = (), language: str = "en",
) -> str:  # fmt: skip
    """The page. `names`: the sides, A and B. `summary`: the differences by metric; `flips`: which side has more right
    answers, which the page then opens with, and whose cells lead to `cases`. `notices`: warnings above it; `facts`
    describes the sides "a" and "b"; `charts` follow the verdict. The first table is that of all metrics, below which
    those of `FOLDED` are."""
    canvas, words = Canvas(checked_language(language)), messages(__name__, language)
    cards, links, cells = _cards(canvas, names, cases, flips.counts if flips else {})
    sections: list[Part] = [("verdict", words["verdict"], _opening(canvas, names, summary, notices, flips, cells))]
    if charts:
        sections.append(("charts", words["charts"], Markup().join(figures_html(canvas, enumerate(charts)))))
    if cards:
        sections.append(("cases", words["cases"], cards))
    metrics = dots_html(canvas, summary.dots) if flips is not None and summary.dots else Markup()
    for number, table in enumerate(tables, 1):
        body = table_html(canvas, table, links)
        if number == 1:
            metrics += body
        elif table.id in FOLDED:
            metrics += canvas.html(_FOLDED, title=table.title, body=body)
        else:
            sections.append((f"t{number}", table.title, body))
    place = next((at for at, (part, _, _) in enumerate(sections) if part.startswith("t")), len(sections))
    sections.insert(place, (METRICS, words["metrics"], metrics))
    pairs = [(words[side], text) for side in ("a", "b") for text in facts[side]]
    folded: list[Part] = [("sides", words["heading"], canvas.html("comparison/compared_runs.html", facts=pairs))]
    heading = words["pair"].format(a=one_line(names[0], _NAME), b=one_line(names[1], _NAME))
    return document(canvas, sections, folded, heading=heading, systems=names)


def _opening(
    canvas: Canvas, names: tuple[str, str], summary: Summary, notices: Sequence[str], flips: Flips | None,
    cells: Mapping[Cell, str],
) -> Markup:  # fmt: skip
    """The verdict, the picture of flips with the differences by metric, and what to do."""
    sentences = summary.verdict.splitlines()
    pictures = [dots_html(canvas, summary.dots)] if summary.dots and flips is None else []
    where = (f"#{METRICS}", messages(__name__, canvas.language)["metrics"])
    todo = [(action.text, [where]) for action in summary.actions]
    if flips is not None:
        sentences = [flips_verdict(flips, names, canvas.language)]
        pictures = [flips_html(canvas, flips, names, cells)]
        first, *others = flips_todo(flips, names, canvas.language, cells)
        todo = [first, *todo, *others]
    block = block_of(sentences, pictures, todo[:_TODO], heading=canvas.words["to_do"])
    return opening_html(canvas, [block], unfinished=notices)


def _cards(
    canvas: Canvas, names: tuple[str, str], cases: Sequence[tuple[Cell, Column, Column]], counts: Mapping[Cell, int]
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
    words = messages(__name__, canvas.language)
    titled = [
        (cell, cell_label(cell, names, canvas.language), cards,
         words["some"].format(shown=len(cards), n=f"{counts[cell]:,}") if len(cards) < counts.get(cell, 0)
         else len(cards))
        for cell, cards in groups.items()
    ]  # fmt: skip
    html = canvas.html("comparison/compared_cases.html", groups=titled) if titled else Markup()
    return html, links, {cell: f"#cases-{cell}" for cell in groups}
