"""The opening of a page: for each system the verdict, its picture and what to do."""

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from ragstone.display import Action, Bar, Dot, Summary
from ragstone.report.histogram import histogram_html
from ragstone.report.html import figures_html, table_html
from ragstone.report.opening import blocks, heading_of
from ragstone.report.sanitize import one_line
from ragstone.report.section import Section, View
from ragstone.report.sections.configuration import notices_of
from ragstone.report.sections.worst_answers import cards
from ragstone.report.unfinished import unfinished_lines

_TEMPLATE = """
{% for line in unfinished %}<p class="notice" role="note"><bdi>{{ line }}</bdi></p>
{% endfor %}
{% for block in blocks %}
{% for verdict in block.heads %}<p class="verdict{{ ' line' if not loop.first }}"><bdi>{{ verdict }}</bdi></p>
{% endfor %}
{% if block.pictures or block.actions %}<div class="opening{{ ' wide' if block.charts else '' if block.pictures else ' bare' }}">
{% if block.lines %}<div class="lines">{% for verdict in block.lines %}<p class="verdict line"><bdi>{{ verdict }}</bdi></p>
{% endfor %}</div>{% endif %}
{% if block.charts %}{{ block.pictures | join }}{% elif block.pictures %}<div>{{ block.pictures | join }}</div>{% endif %}
{% if block.actions %}<div class="do"><h3>{{ block.heading }}</h3>
<ol class="todo">{% for text, links in block.actions %}<li><bdi>{{ text }}</bdi>{% for at, name in links %} <a href="{{ at }}"><bdi>{{ name }}</bdi></a>{% endfor %}</li>
{% endfor %}</ol></div>{% endif %}
</div>{% endif %}
{% if block.notes %}<p class="legend">{{ block.notes }}</p>{% endif %}
{% endfor %}
{% for notice in notices %}<p class="legend" role="note"><bdi>{{ notice }}</bdi></p>
{% endfor %}
{% for title, table in tables %}
<h3><bdi>{{ title }}</bdi></h3>
{{ table }}
{% endfor %}
"""  # noqa: E501  a template

_FALL = """
<ol class="fall">
{% for bar in bars %}
<li class="{{ bar.kind }}">{% if bar.link %}<a href="#{{ bar.link }}">{{ bar.label }}</a>{% else %}<span>{{ bar.label }}</span>{% endif %}
<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"><path d="M{{ bar.before }} 0V12" class="from"/>
{% if bar.width %}<rect x="{{ bar.x }}" y="1.5" width="{{ bar.width }}" height="9"/>{% endif %}</svg>
<b>{{ bar.value }}{% if bar.interval %} <small>{{ bar.interval }}</small>{% endif %}</b></li>
{% endfor %}
</ol>
<ul class="key fallkey">{% for kind in kinds %}<li class="{{ kind }}"><svg viewBox="0 0 16 10" aria-hidden="true"><rect width="16" height="10"/></svg> {{ words["bar_" ~ kind] }}</li>{% endfor %}</ul>
"""  # noqa: E501  a template

_DOTS = """
<ol class="fall dots">
{% for dot in dots %}
<li><span><bdi>{{ dot.label }}</bdi>{% if dot.lower %} <small>{{ words.lower_turned }}</small>{% endif %}</span>
<svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"><path d="M0 6H100" class="axis"/>
{% if dot.gate is not none %}<path d="M{{ dot.gate }} 0V12" class="gate"/>{% endif %}
{% if dot.low is not none %}<path d="M{{ dot.low }} 6H{{ dot.high }}" class="span"/>{% endif %}<path d="M{{ dot.x }} 6h.01" class="dot{{ ' missed' if dot.missed }}"/></svg>
<b>{{ dot.value }}{% if dot.interval %} <small>{{ dot.interval }}</small>{% endif %}{% if dot.missed %} <small class="bad">✗ {{ words.gate_line }}</small>{% elif dot.open %} <small>{{ words.gate_open }}</small>{% endif %}</b>
<span class="strip">{{ dot.strip }}{% if dot.links %} <small>{{ words.worst_few }}:{% for at, name in dot.links %} <a href="#{{ at }}"><bdi>{{ name }}</bdi></a>{% endfor %}</small>{% endif %}</span></li>
{% endfor %}
</ol>
"""  # noqa: E501  a template

_LINKS = 3
_MOST_LEADING = 6


def anchor(system: int, group: str) -> str:
    """The id on the page of a group of cases of a system (its number); "" where there are none."""
    return f"{group}-{system}" if group and system else group


def _body(view: View) -> Markup | None:
    if not view.summaries and not view.run.systems:
        return None
    tables = [table for table in view.tables if table.id in view.benchmark.leads] if opens_with_tables(view) else []
    return view.html(
        _TEMPLATE, words=view.words, unfinished=unfinished_lines(view.run, language=view.language),
        blocks=list(_blocks(view)), notices=notices_of(view),
        tables=[(table.title, table_html(view, table)) for table in tables],
    )  # fmt: skip


def opens_with_tables(view: View) -> bool:
    """Whether the leading tables explain the picture of the opening: where it is a waterfall."""
    return any(summary.bars for summary in view.summaries.values())


def _blocks(view: View) -> Iterator[dict[str, Any]]:
    """The verdicts with their pictures: one block for each system that has a picture of its own, else one for all."""
    leading = [(number, chart) for number, chart in enumerate(view.charts) if chart.leading and chart.series]
    charts = figures_html(view, leading)[:_MOST_LEADING]
    for number, some in enumerate(blocks(view.summaries)):
        own = [picture for each in some if (picture := _picture(view, *each))]
        yield _block(view, some, own) if own else _block(view, some, charts if number == 0 else (), charts=True)


def _block(
    view: View, numbered: Sequence[tuple[int, str, Summary]], pictures: Sequence[Markup], *, charts: bool = False
) -> dict[str, Any]:
    """Beside charts only the first sentence stands as a heading."""
    sentences = [line for *_, summary in numbered for line in summary.verdict.splitlines()]
    heads = 1 if charts and pictures else len(sentences)
    actions = [
        (action.text, _links(view, number, system, action))
        for number, system, summary in numbered
        for action in summary.actions
    ]
    return {
        "heads": sentences[:heads], "lines": sentences[heads:], "pictures": list(pictures), "actions": actions,
        "charts": charts and bool(pictures),
        "heading": view.words[heading_of([summary for *_, summary in numbered])],
        "notes": " ".join(note for *_, summary in numbered for note in summary.notes),
    }  # fmt: skip


def _links(view: View, number: int, system: str, action: Action) -> list[tuple[str, str]]:
    """Where the cases behind an action are: their list, their group, or the first that the page shows, by the user's
    ids."""
    if action.cause and view.case_list:
        name, *causes = action.cause
        return [(view.case_list([("system", name), *(("cause", cause) for cause in causes)]), view.words["cases"])]
    return [(f"#{at}", name) for at, name in _places(view, number, system, action)]


def _places(view: View, number: int, system: str, action: Action) -> list[tuple[str, str]]:
    if action.cause:
        its, *causes = action.cause
        shown = [card for (name, _), card in cards(view).items() if name == its and card.cause in causes]
        first = {card.sample: card for card in reversed(shown)}  # a question once
        return [(card.at, card.name) for card in reversed(first.values())][:_LINKS]
    if action.samples:
        return _samples(view, system, action.samples)
    return [(anchor(number, action.group), view.words["cases"])] if action.group else []


def _samples(view: View, system: str, samples: Sequence[str]) -> list[tuple[str, str]]:
    """The cards of these samples, in their order."""
    places = {
        card.sample: (card.at, card.name) for (name, _), card in reversed(list(cards(view).items())) if name == system
    }
    return [places[sample] for sample in samples if sample in places][:_LINKS]


def _picture(view: View, number: int, system: str, summary: Summary) -> Markup:
    if summary.bars:
        kinds = [kind for kind in ("level", "gain", "loss", "rest") if any(bar.kind == kind for bar in summary.bars)]
        return view.html(_FALL, words=view.words, bars=list(_bars(summary.bars, number)), kinds=kinds)
    if summary.dots:
        return view.html(_DOTS, words=view.words, dots=[_dot(view, system, dot) for dot in summary.dots])
    return Markup()


def _dot(view: View, system: str, dot: Dot) -> dict[str, Any]:
    """Where a dot, its interval and its gate are, in percent of the width; right is good."""

    def at(value: float | None) -> str | None:
        return None if value is None else f"{100 * (1 - value if dot.lower else value):.1f}"

    value, _, interval = dot.text.partition(" ")
    short = dot.gate is not None and (dot.value > dot.gate if dot.lower else dot.value < dot.gate)
    end = dot.low if dot.lower else dot.high  # the gate fails where the whole interval is on the wrong side
    missed = short and (end is None or dot.gate is None or (end > dot.gate if dot.lower else end < dot.gate))
    return {
        "label": one_line(dot.label, 80), "lower": dot.lower, "x": at(dot.value), "low": at(dot.low),
        "high": at(dot.high), "gate": at(dot.gate), "value": value, "interval": interval, "missed": missed,
        "open": short and not missed,
        "strip": histogram_html(view, dot.bins, view.words["bins"].format(counts=", ".join(map(str, dot.bins)))),
        "links": _samples(view, system, dot.samples)[:3],
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
