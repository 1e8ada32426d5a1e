"""Findings about the judge by labels of experts: agreement, calibrated means, and the cases where they differ."""

from markupsafe import Markup

from ragstone.messages import messages
from ragstone.report.expert_tables import expert_tables
from ragstone.report.html import table_html
from ragstone.report.named_run import id_of
from ragstone.report.sanitize import one_line
from ragstone.report.section import Section, View
from ragstone.report.sections.worst_answers import cards

_SHOWN = 20  # cases that are named


def _body(view: View) -> Markup | None:
    if view.experts is None or not view.experts.judged:
        return None
    words = messages(__name__, view.language)
    system = view.experts.system
    places = {
        card.sample: f"#{card.at}"
        for (name, _), card in reversed(list(cards(view).items()))
        if id_of(view.run, name) == system
    }

    def link(item: str) -> tuple[str, str]:
        """The address of a case, and its id: in the list of cases, or on its card if the page shows it."""
        found = view.case_list([("system", system), ("q", item)]) if view.case_list else places.get(item, "")
        return found, one_line(item, 40)

    differ = [
        (words["differ"].format(metric=agreement.metric, n=len(agreement.differ)),
         [link(item) for item in agreement.differ[:_SHOWN]],
         max(0, len(agreement.differ) - _SHOWN))
        for agreement in view.experts.judged if not agreement.part and agreement.differ
    ]  # fmt: skip
    tables = [(table.title, table_html(view, table)) for table in expert_tables(view.experts, language=view.language)]
    return view.html("experts/experts.html", differ=differ, tables=tables)


PLUGINS = {"experts": Section(35, {"en": "Judge and experts", "zh": "裁判模型与专家"}, _body)}
