"""Failures and their causes: the number of wrong answers by cause, and requests without an answer."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from ragstone.error_text import failure_in, kind_in
from ragstone.messages import messages
from ragstone.report.digest import OTHER, AnswerCounts, SystemDigest
from ragstone.report.number_format import share
from ragstone.report.section import Section, View
from ragstone.report.sections.worst_answers import OWN_CASES

_MESSAGE = 400  # characters of an error message


def _body(view: View) -> Markup | None:
    if OWN_CASES in view.shared:
        return None
    w = messages(__name__, view.language)
    systems = view.digest.systems
    groups = [_group(group, systems, view.digest.labels, w) for group in view.digest.groups]
    errors = [(name, _errors(system, view.language)) for name, system in systems.items() if system.errors]
    groups = [group for group in groups if group["rows"]]
    noticed = not view.digest.decided and any(system.counts.unscored for system in systems.values())
    if noticed and not (groups or errors):
        return None  # the opening says that nothing counts as right or wrong
    return view.html(
        "report/failures.html", w=w, systems=list(systems), groups=groups, errors=errors,
        decided=view.digest.decided,
    )  # fmt: skip


def _group(
    name: str, systems: Mapping[str, SystemDigest], labels: Mapping[str, str], w: Mapping[str, str]
) -> dict[str, Any]:
    """The causes of one group, the most frequent over all systems first, with a cell for each system."""
    causes = [system.causes.get(name, Counter()) for system in systems.values()]
    counts = [system.groups.get(name, AnswerCounts()) for system in systems.values()]
    scored = [count.right + count.wrong for count in counts]
    over_all: Counter[str] = sum(causes, Counter())
    rows = []
    for cause, _ in sorted(over_all.items(), key=lambda item: (-item[1], item[0])):
        cells = [(c[cause], share(c[cause], n), _heat(c[cause], n)) for c, n in zip(causes, scored, strict=True)]
        rows.append((w["other"] if cause == OTHER else labels.get(cause) or w["unnamed"], cells))
    wrong = [(count.wrong, n, share(count.wrong, n)) for count, n in zip(counts, scored, strict=True)]
    return {"name": name, "all": wrong, "rows": rows}


def _heat(count: int, total: int) -> int:
    """The tint of the cell, 0 to 4."""
    return sum(count > total * bound for bound in (0.05, 0.15, 0.3, 0.5)) if total else 0


def _errors(system: SystemDigest, language: str) -> list[tuple[str, Any]]:
    """Kinds of errors, the most frequent first, with their messages cut."""
    return [
        (
            kind_in(kind, language),
            {
                "count": error.count,
                "examples": [(case, _cut(failure_in(message, language))) for case, message in error.examples],
            },
        )
        for kind, error in sorted(system.errors.items(), key=lambda item: (-item[1].count, item[0]))
    ]


def _cut(message: str) -> str:
    return message if len(message) <= _MESSAGE else message[: _MESSAGE - 1] + "…"


PLUGINS = {"failures": Section(16, {"en": "Failures and their causes", "zh": "失败与原因"}, _body)}
