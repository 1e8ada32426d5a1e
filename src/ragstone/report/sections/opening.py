"""The opening of a page: for each system the verdict, the waterfall and what to do; then the leading tables."""

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from ragstone.report.html import table_html
from ragstone.report.sanitize import one_line
from ragstone.report.section import Section, View
from ragstone.report.unfinished import unfinished_lines
from ragstone.types import Bar, Summary

__all__ = ["PLUGINS", "anchor"]

_TEMPLATE = """
{% for line in unfinished %}<p class="notice" role="note"><bdi>{{ line }}</bdi></p>
{% endfor %}
{% for s in summaries %}
<p class="verdict"><bdi>{{ s.verdict }}</bdi></p>
<div class="opening">
<div><ol class="fall">
{% for bar in s.bars %}
<li class="{{ bar.kind }}">{% if bar.link %}<a href="#{{ bar.link }}">{{ bar.label }}</a>{% else %}<span>{{ bar.label }}</span>{% endif %}
<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"><path d="M{{ bar.before }} 0V12" class="from"/>
{% if bar.width %}<rect x="{{ bar.x }}" y="1.5" width="{{ bar.width }}" height="9"/>{% endif %}</svg>
<b>{{ bar.value }}{% if bar.interval %} <small>{{ bar.interval }}</small>{% endif %}</b></li>
{% endfor %}
</ol>
<ul class="key fallkey">{% for kind in s.kinds %}<li class="{{ kind }}"><svg viewBox="0 0 16 10" aria-hidden="true"><rect width="16" height="10"/></svg> {{ words["bar_" ~ kind] }}</li>{% endfor %}</ul></div>
<div>{% if s.actions %}<h3>{{ words.to_do }}</h3>
<ol class="todo">{% for action, link in s.actions %}<li><bdi>{{ action.text }}</bdi>{% if link %} <a href="#{{ link }}">{{ words.cases }}</a>{% endif %}</li>
{% endfor %}</ol>{% endif %}
</div></div>
<p class="legend">{{ s.notes }}</p>
{% endfor %}
{% for title, table in tables %}
<h3><bdi>{{ title }}</bdi></h3>
{{ table }}
{% endfor %}
"""  # noqa: E501  a template


def anchor(system: int, group: str) -> str:
    """The id on the page of a group of cases of a system (its number); "" where there are none."""
    return f"{group}-{system}" if group and system else group


def _body(view: View) -> Markup | None:
    if not view.summaries:
        return None
    tables = [table for table in view.tables if table.id in view.benchmark.leads]
    return view.html(
        _TEMPLATE, words=view.words, unfinished=unfinished_lines(view.run, language=view.language),
        summaries=[_summary(summary, number) for number, summary in enumerate(view.summaries.values())],
        tables=[(table.title, table_html(view, table)) for table in tables],
    )  # fmt: skip


def _summary(summary: Summary, system: int) -> dict[str, Any]:
    return {
        "verdict": summary.verdict, "notes": " ".join(summary.notes),
        "bars": list(_bars(summary.bars, system)),
        "kinds": [kind for kind in ("level", "gain", "loss", "rest") if any(bar.kind == kind for bar in summary.bars)],
        "actions": [(action, anchor(system, action.group)) for action in summary.actions],
    }  # fmt: skip


def _bars(bars: Sequence[Bar], system: int) -> Iterator[dict[str, Any]]:
    """Where each bar is, in percent of the width; the smallest can still be seen, and a step of nothing has none."""
    for bar in bars:
        low, high = sorted((100 * bar.start, 100 * bar.end))
        width = max(high - low, 0.7)
        value, _, interval = bar.text.partition(" ")
        yield {
            "kind": bar.kind, "label": one_line(bar.label, 120), "value": value, "interval": interval,
            "link": anchor(system, bar.group), "before": f"{100 * bar.start:.2f}", "x": f"{min(low, 100 - width):.2f}",
            "width": f"{width:.2f}" if bar.start != bar.end else "",
        }  # fmt: skip


PLUGINS = {"opening": Section(0, {"en": "Verdict", "zh": "结论"}, _body)}
