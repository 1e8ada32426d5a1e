"""Where it fails: the slices of the run that fail more than the rest, with links to their wrong answers."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ragstone.analysis.slice_tables import MOST_ROWS, slice_name, slice_tables, slice_verdict
from ragstone.analysis.slices import MOST, Slice, Slices, find_slices, thinned
from ragstone.messages import messages
from ragstone.report.html import table_html
from ragstone.report.metadata import words_of
from ragstone.report.sanitize import one_line
from ragstone.report.section import Section, View
from ragstone.report.sections.worst_answers import cards

_LINKS = 12  # wrong answers of a slice
_NAME, _VERDICT = 120, 400


def _body(view: View) -> Markup | None:
    w, words = messages(__name__, view.language), words_of(view.benchmark, view.language)
    total = view.digest.total
    results = [result for result in _found(view, total) if any(result.tested)]
    tables = slice_tables(results, language=view.language, words=words)
    systems = [
        (
            one_line(slice_verdict(result, language=view.language, words=words), _VERDICT),
            table_html(view, table),
            [_linked(view, w, words, result.system, slice_) for slice_ in result.found[:MOST_ROWS]],
        )
        for result, table in zip(results, tables, strict=True)
    ]
    some = w["some"].format(n=f"{MOST:,}", total=f"{total:,}") if total > MOST else ""
    return view.html("report/slices.html", systems=systems, some=some) if systems else None


def _found(view: View, total: int) -> list[Slices]:
    if view.slices is not None:
        return view.slices.slices()
    records = thinned(view.benchmark.view(view.run).records(texts=view.benchmark.reads_texts), total)
    return find_slices(records, lambda record: view.benchmark.classify(record).right)


def _linked(
    view: View, w: Mapping[str, str], words: Mapping[str, str], system: str, slice_: Slice
) -> tuple[str, list[tuple[str, Any]], str]:
    """The name of a slice, links to the wrong answers in it that are shown, and how many more there are."""
    shown = [card for case in slice_.wrong if (card := cards(view).get((system, case)))][:_LINKS]
    links = [(card.at, card.question) for card in shown]
    more = len(slice_.wrong) - len(links)
    name = slice_name(slice_.where, language=view.language, words=words)
    return one_line(name, _NAME), links, w["more"].format(n=f"{more:,}") if more else ""


PLUGINS = {"slices": Section(17, {"en": "Where it fails", "zh": "哪里容易出错"}, _body)}
