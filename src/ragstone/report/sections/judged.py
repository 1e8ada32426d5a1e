"""Judged metrics: the judge, the distribution and coverage of the scores, and the worst samples with their claims,
verdicts and passages."""

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from ragstone.messages import messages
from ragstone.metrics.catalogue import in_language
from ragstone.report.histogram import histogram_html
from ragstone.report.judge import judge_name
from ragstone.report.judged import JUDGED_CASES, JudgedDigest, MetricDigest
from ragstone.report.metadata import first, flattened
from ragstone.report.number_format import number
from ragstone.report.sanitize import one_line
from ragstone.report.section import Section, View
from ragstone.report.sections.worst_answers import JUDGED_BYTES, cards

CASES, CASE_BYTES = JUDGED_CASES, JUDGED_BYTES
_OPEN = 8  # cases that are not folded away
_NAMES, _REASONS, _ROWS = 12, 4, 240


def _body(view: View) -> Markup | None:
    digest = view.judged
    if not digest.metrics:
        return None
    w = messages(__name__, view.language)
    rows = [_row(view, w, *entry) for entry in list(_entries(digest))[:_ROWS]]
    shown = {*digest.worst}
    cases = [card.html for key, card in cards(view).items() if key in shown]
    counts = {"shown": f"{len(cases):,}", "below": f"{digest.below:,}"}
    intro = w["shown_all" if len(cases) == digest.below else "shown_some"].format(**counts)
    return view.html(
        "report/judged.html", w=w, open=_OPEN, facts=list(_facts(view, w, digest)), rows=rows,
        systems=len({system for by_system in digest.metrics.values() for system in by_system}),
        reasons=any(row["reasons"] for row in rows), intro=intro if digest.below else w["none_worse"], cases=cases,
        tables=bool(view.tables),
    )  # fmt: skip


def _facts(view: View, w: Mapping[str, str], digest: JudgedDigest) -> Iterator[tuple[str, list[str]]]:
    meta = view.run.meta
    protocol, verify = first(meta, "judge.protocol"), first(meta, "judge.verify")
    if verify in ("joint", "separate"):
        protocol = w[verify].format(protocol=protocol or "matrix")
    facts = {
        w["judge"]: [judge_name(meta)],
        w["answered_as"]: sorted(digest.models),
        w["protocol"]: [protocol],
        w["embedder"]: [first(meta, "judge.embedder")],
        w["prompts"]: sorted(digest.prompts),
        w["rubrics"]: _named(meta, "judge.rubrics."),
    }
    for name, texts in facts.items():
        if shown := [one_line(text, 160) for text in texts if text][: _NAMES + 1]:
            yield name, shown if len(shown) <= _NAMES else [*shown[:_NAMES], "…"]


def _named(meta: Mapping[str, Any], prefix: str) -> list[str]:
    question = flattened(meta.get("question") or {})
    return [f"{key.removeprefix(prefix)} {text}" for key, text in question.items() if key.startswith(prefix)]


def _entries(digest: JudgedDigest) -> Iterator[tuple[str, str, MetricDigest]]:
    for metric, by_system in digest.metrics.items():
        for system in sorted(by_system):
            yield metric, system, by_system[system]


def _row(view: View, w: Mapping[str, str], metric: str, system: str, scores: MetricDigest) -> dict[str, Any]:
    reasons = [
        w["times"].format(n=f"{n:,}", reason=in_language(reason, view.language))
        for reason, n in scores.reasons.most_common(_REASONS)
    ]
    if rest := sum(scores.reasons.values()) - sum(n for _, n in scores.reasons.most_common(_REASONS)):
        reasons.append(w["more_reasons"].format(n=f"{rest:,}"))
    label = w["bins"].format(counts=", ".join(map(str, scores.bins)))
    return {
        "metric": one_line(metric, 80),
        "system": one_line(system, 80),
        "direction": w.get(scores.better, ""),
        "histogram": histogram_html(view, scores.bins, label) if scores.scored else "",
        "mean": "" if scores.mean is None else number(round(scores.mean, 3)),
        "scored": f"{scores.scored:,}",
        "total": f"{scores.scored + scores.failed + scores.not_applicable:,}",
        "failed": f"{scores.failed:,}",
        "not_applicable": f"{scores.not_applicable:,}",
        "reasons": reasons,
    }


PLUGINS = {"judged": Section(18, {"en": "What the judge found", "zh": "裁判模型的判断"}, _body)}
