"""Failures and their causes: how often each cause made an answer wrong, and which requests had no answer at all."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ragstone.report.digest import OTHER, SystemDigest
from ragstone.report.figures import share
from ragstone.report.section import Section, View, chosen

__all__ = ["PLUGINS"]

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "intro": "Every wrong answer has one cause. The small figure is its share of all answers of the column that "
        "could be scored.",
        "cause": "Cause",
        "all": "All",
        "scored": "Answers scored",
        "none": "No answer was wrong.",
        "errors": "Requests without an answer",
        "kind": "Error",
        "count": "Times",
        "examples": "For example",
        "other": "other causes",
        "unnamed": "no cause named",
    },
    "zh": {
        "intro": "每个错误答案归入一种原因。小字为占该列可评分回答的比例。",
        "cause": "原因",
        "all": "合计",
        "scored": "可评分的回答",
        "none": "没有错误答案。",
        "errors": "没有得到回答的请求",
        "kind": "错误",
        "count": "次数",
        "examples": "例如",
        "other": "其他原因",
        "unnamed": "未注明原因",
    },
}

_TEMPLATE = """
{% if systems %}<p>{{ w.intro }}</p>{% else %}<p>{{ w.none }}</p>{% endif %}
{% for s in systems %}
<h3><bdi>{{ s.id }}</bdi></h3>
<div class="scroll" role="region" aria-label="{{ w.cause }}: {{ s.id }}" tabindex="0"><table class="dense">
<thead><tr><th scope="col">{{ w.cause }}</th><th scope="col" class="num">{{ w.all }}</th>
{% for group in s.groups %}<th scope="col" class="num"><bdi>{{ group }}</bdi></th>{% endfor %}</tr></thead>
<tbody>
{% for name, cells in s.rows %}
<tr><th scope="row"><bdi>{{ name }}</bdi></th>
{% for count, part, heat in cells %}<td class="num{% if heat %} h{{ heat }}{% endif %}">{% if count %}<b>{{ "{:,}".format(count) }}</b><small>{{ part }}</small>{% else %}–{% endif %}</td>{% endfor %}</tr>
{% endfor %}
<tr><th scope="row">{{ w.scored }}</th>{% for count in s.scored %}<td class="num">{{ "{:,}".format(count) }}</td>{% endfor %}</tr>
</tbody></table></div>
{% endfor %}
{% if errors %}
<h3>{{ w.errors }}</h3>
{% for id, kinds in errors %}
<div class="scroll" role="region" aria-label="{{ w.errors }}: {{ id }}" tabindex="0"><table>
<thead><tr><th scope="col"><bdi>{{ id }}</bdi></th><th scope="col" class="num">{{ w.count }}</th><th scope="col">{{ w.examples }}</th></tr></thead>
<tbody>
{% for kind, seen in kinds %}
<tr><th scope="row"><bdi>{{ kind }}</bdi></th><td class="num"><b>{{ "{:,}".format(seen.count) }}</b></td>
<td class="wide">{% for case, message in seen.examples %}<p><small class="mono"><bdi>{{ case }}</bdi></small><bdi>{{ message }}</bdi></p>{% endfor %}</td></tr>
{% endfor %}
</tbody></table></div>
{% endfor %}
{% endif %}
"""  # noqa: E501  a template

_MESSAGE = 400  # characters shown of an error


def _body(view: View) -> Markup:
    w = chosen(WORDS, view.language)
    systems = [
        {"id": name, **_table(system, view.digest.labels, w)}
        for name, system in view.digest.systems.items()
        if system.tally.wrong
    ]
    errors = [(name, _errors(system)) for name, system in view.digest.systems.items() if system.errors]
    return view.html(_TEMPLATE, w=w, systems=systems, errors=errors)


def _table(system: SystemDigest, labels: Mapping[str, str], w: Mapping[str, str]) -> dict[str, Any]:
    """Causes down, groups across, the most frequent cause first."""
    groups = [group for group, tally in system.groups.items() if tally.right + tally.wrong]
    over_all: Counter[str] = Counter()
    for counter in system.causes.values():
        over_all.update(counter)
    scored = [system.groups[group].right + system.groups[group].wrong for group in groups]
    columns = [over_all, *(system.causes.get(group, Counter()) for group in groups)]
    totals = [sum(scored), *scored]
    rows = []
    for cause, _ in sorted(over_all.items(), key=lambda item: (-item[1], item[0])):
        cells = [
            (column[cause], share(column[cause], total), _heat(column[cause], total) if index else 0)
            for index, (column, total) in enumerate(zip(columns, totals, strict=True))
        ]
        rows.append((w["other"] if cause == OTHER else labels.get(cause) or w["unnamed"], cells))
    return {"groups": groups, "rows": rows, "scored": totals}


def _heat(count: int, total: int) -> int:
    """0 to 4: how deep the cell is tinted."""
    return sum(count > total * bound for bound in (0.05, 0.15, 0.3, 0.5)) if total else 0


def _errors(system: SystemDigest) -> list[tuple[str, Any]]:
    """Kinds of errors, the most frequent first, with their messages cut."""
    found = sorted(system.errors.items(), key=lambda item: (-item[1].count, item[0]))
    return [
        (kind, {"count": seen.count, "examples": [(case, _cut(message)) for case, message in seen.examples]})
        for kind, seen in found
    ]


def _cut(message: str) -> str:
    return message if len(message) <= _MESSAGE else message[: _MESSAGE - 1] + "…"


PLUGINS = {"failures": Section(50, {"en": "Failures and their causes", "zh": "失败与原因"}, _body)}
