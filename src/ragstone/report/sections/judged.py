"""What a judge found: who judged, how the scores are spread and what could not be scored, and the worst samples with
their claims, verdicts and passages."""

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from ragstone.messages import messages
from ragstone.report.histogram import histogram_html
from ragstone.report.judge import judge_label, judge_name
from ragstone.report.judged import JudgedDigest, MetricDigest, judged_digest
from ragstone.report.metadata import first, flattened
from ragstone.report.number_format import number
from ragstone.report.sanitize import one_line
from ragstone.report.section import Section, View
from ragstone.report.sections._judged_case import case_html

__all__ = ["PLUGINS"]

CASES, CASE_BYTES = 30, 420_000  # of the worst samples at most
_NAMES, _REASONS, _ROWS = 12, 4, 240

_SECTION = """
{% if label %}<p class="notice" role="note"><bdi>{{ label }}</bdi></p>{% endif %}
<dl class="facts">
{% for name, texts in facts %}<dt>{{ name }}</dt><dd>{% for text in texts %}<bdi>{{ text }}</bdi>{{ ", " if not loop.last }}{% endfor %}</dd>
{% endfor %}
</dl>
<h3>{{ w.coverage }}</h3>
<p>{{ w.coverage_told }}{% if tables %} {{ w.intervals }}{% endif %}</p>
<div class="scroll" role="region" aria-label="{{ w.coverage }}" tabindex="0"><table class="coverage">
<thead><tr><th scope="col">{{ w.metric }}</th>{% if systems > 1 %}<th scope="col">{{ w.system }}</th>{% endif %}
<th scope="col">{{ w.distribution }}</th><th scope="col" class="num">{{ w.mean }}</th><th scope="col" class="num">{{ w.scored }}</th>
<th scope="col" class="num">{{ w.failed }}</th><th scope="col" class="num">{{ w.not_applicable }}</th>{% if reasons %}<th scope="col">{{ w.reasons }}</th>{% endif %}</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row"><bdi>{{ row.metric }}</bdi>{% if row.side %}<small>{{ row.side }}</small>{% endif %}</th>{% if systems > 1 %}<td class="txt"><bdi>{{ row.system }}</bdi></td>{% endif %}
<td>{{ row.histogram or "–" }}</td><td class="num">{% if row.mean %}<b>{{ row.mean }}</b>{% else %}–{% endif %}</td>
<td class="num">{{ row.scored }}<small class="n">/ {{ row.total }}</small></td>
<td class="num{% if row.failed != '0' %} h2{% endif %}">{{ row.failed }}</td><td class="num">{{ row.not_applicable }}</td>
{% if reasons %}<td class="wide">{% for text in row.reasons %}<small><bdi>{{ text }}</bdi></small>{% endfor %}</td>{% endif %}</tr>
{% endfor %}
</tbody></table></div>
<h3>{{ w.worst }}</h3>
<p>{{ told }}{% if cases %} {{ w.open_told }}{% endif %}</p>
{% if cases %}<p class="legend"><mark class="match">{{ w.quoted }}</mark> <mark class="wrong">{{ w.quoted_against }}</mark></p>{% endif %}
{% for case in cases %}{{ case }}{% endfor %}
"""  # noqa: E501  a template


def _body(view: View) -> Markup | None:
    shown = max(0, min(CASES, view.cases_shown))
    found = judged_digest(view.run, shown=shown)
    if not found.metrics:
        return None
    w = messages(__name__, view.language)
    rows = [_row(view, w, *entry) for entry in list(_entries(found))[:_ROWS]]
    cases = _cases(view, w, found)
    counts = {"shown": f"{len(cases):,}", "below": f"{found.below:,}"}
    told = w["shown_all" if len(cases) == found.below else "shown_some"].format(**counts)
    return view.html(
        _SECTION, w=w, label=judge_label(view.run.meta, view.language), facts=list(_facts(view, w, found)), rows=rows,
        systems=len({system for by_system in found.metrics.values() for system in by_system}),
        reasons=any(row["reasons"] for row in rows), told=told if found.below else w["none_worse"], cases=cases,
        tables=bool(view.tables),
    )  # fmt: skip


def _facts(view: View, w: Mapping[str, str], found: JudgedDigest) -> Iterator[tuple[str, list[str]]]:
    meta = view.run.meta
    protocol, verify = first(meta, "judge.protocol"), first(meta, "judge.verify")
    if verify in ("joint", "separate"):
        protocol = w[verify].format(protocol=protocol or "matrix")
    told = {
        w["who"]: [judge_name(meta)],
        w["answered_as"]: sorted(found.models),
        w["protocol"]: [protocol],
        w["embedder"]: [first(meta, "judge.embedder")],
        w["prompts"]: sorted(found.prompts),
        w["rubrics"]: _named(meta, "judge.rubrics."),
    }
    for name, texts in told.items():
        if kept := [one_line(text, 160) for text in texts if text][: _NAMES + 1]:
            yield name, kept if len(kept) <= _NAMES else [*kept[:_NAMES], "…"]


def _named(meta: Mapping[str, Any], prefix: str) -> list[str]:
    question = flattened(meta.get("question") or {})
    return [f"{key.removeprefix(prefix)} {text}" for key, text in question.items() if key.startswith(prefix)]


def _entries(found: JudgedDigest) -> Iterator[tuple[str, str, MetricDigest]]:
    for metric, by_system in found.metrics.items():
        for system in sorted(by_system):
            yield metric, system, by_system[system]


def _row(view: View, w: Mapping[str, str], metric: str, system: str, one: MetricDigest) -> dict[str, Any]:
    told = [w["times"].format(n=f"{n:,}", reason=reason) for reason, n in one.reasons.most_common(_REASONS)]
    if rest := sum(one.reasons.values()) - sum(n for _, n in one.reasons.most_common(_REASONS)):
        told.append(w["more_reasons"].format(n=f"{rest:,}"))
    told_bins = w["bins"].format(counts=", ".join(map(str, one.bins)))
    return {
        "metric": one_line(metric, 80),
        "system": one_line(system, 80),
        "side": w.get(one.better, ""),
        "histogram": histogram_html(view, one.bins, told_bins) if one.scored else "",
        "mean": "" if one.mean is None else number(round(one.mean, 3)),
        "scored": f"{one.scored:,}",
        "total": f"{one.scored + one.failed + one.not_applicable:,}",
        "failed": f"{one.failed:,}",
        "not_applicable": f"{one.not_applicable:,}",
        "reasons": told,
    }


def _cases(view: View, w: Mapping[str, str], found: JudgedDigest) -> list[Markup]:
    """The worst samples as HTML, as many as fit. Records are streamed; only their HTML is kept."""
    place = {pair: index for index, pair in enumerate(found.worst, start=1)}
    rendered: dict[tuple[str, str], Markup] = {}
    for system in sorted({system for system, _ in place}):
        left = {case for name, case in place if name == system}
        for record in view.run.records(system=system):
            pair = (system, record.case.id)
            if record.case.id in left:
                rendered[pair] = case_html(view, w, record, place[pair])
                left.discard(record.case.id)
                if not left:
                    break
    cases: list[Markup] = []
    used = 0
    for pair in found.worst:
        if pair not in rendered:
            continue
        used += len(rendered[pair].encode("utf-8", "backslashreplace"))
        if used > CASE_BYTES and cases:
            break
        cases.append(rendered[pair])
    return cases


PLUGINS = {"judged": Section(55, {"en": "What the judge found", "zh": "评审模型的判断"}, _body)}
