"""The opening of a page: for each system the verdict, its picture and what to do."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

from markupsafe import Markup

from ragstone.display import Action, Bar, BarKind, Dot, Summary
from ragstone.report.histogram import histogram_html
from ragstone.report.html import figures_html, table_html
from ragstone.report.named_run import id_of
from ragstone.report.opening import blocks, heading_of
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas, Section, View
from ragstone.report.sections.configuration import notices_of
from ragstone.report.sections.worst_answers import cards
from ragstone.report.unfinished import unfinished_lines

_LINKS = 2  # links to cases of a metric, and of a cause
_MOST_LEADING = 6
_ABOUT = 110  # characters of what a metric measures


def anchor(system: int, group: str) -> str:
    """The id on the page of a group of cases of a system (its number); "" where there are none."""
    return f"{group}-{system}" if group and system else group


def _body(view: View) -> Markup | None:
    if not view.summaries and not view.run.systems:
        return None
    tables = [table for table in view.tables if table.id in view.benchmark.leads] if opens_with_tables(view) else []
    return opening_html(
        view, list(_blocks(view)), unfinished=unfinished_lines(view.run, language=view.language),
        notices=notices_of(view), tables=[(table.title, table_html(view, table)) for table in tables],
    )  # fmt: skip


def opening_html(
    canvas: Canvas, blocks: Sequence[Mapping[str, Any]], *, unfinished: Sequence[str] = (),
    notices: Sequence[str] = (), tables: Sequence[tuple[str, Markup]] = (),
) -> Markup:  # fmt: skip
    """What every page opens with, from blocks of `block_of`: what is `unfinished` above them, notices and tables
    below."""
    return canvas.html("report/opening.html", unfinished=unfinished, blocks=blocks, notices=notices, tables=tables)


def block_of(
    sentences: Sequence[str], pictures: Sequence[Markup], actions: Sequence[tuple[str, Sequence[tuple[str, str]]]],
    *, heading: str, notes: str = "", charts: bool = False, alarms: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """Sentences with their pictures and what to do: a text with its links as (address, name). Of more than two beside
    `charts` only the first sentence stands as a heading. `alarms` stand above everything else."""
    charts = charts and bool(pictures)
    heads = 1 if charts and len(sentences) > 2 else len(sentences)
    return {
        "heads": sentences[:heads], "lines": sentences[heads:], "pictures": pictures, "actions": actions,
        "charts": charts, "heading": heading, "notes": notes, "alarms": alarms,
    }  # fmt: skip


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
    sentences = [line for *_, summary in numbered for line in summary.verdict.splitlines()]
    linked: set[tuple[str, str]] = set()  # a system and a sample: a question is linked once for each
    actions = [
        (action.text, _links(view, number, system, action, linked))
        for number, system, summary in numbered
        for action in summary.actions
    ]
    return block_of(
        sentences, pictures, actions, heading=view.words[heading_of([summary for *_, summary in numbered])],
        notes=" ".join(note for *_, summary in numbered for note in summary.notes), charts=charts,
        alarms=[alarm for *_, summary in numbered for alarm in summary.alarms],
    )  # fmt: skip


def _links(view: View, number: int, system: str, action: Action, linked: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Where the cases behind an action are: their list, their group, or the first that the page shows and that are not
    `linked` yet, as questions."""
    if action.cause and view.case_list:
        name, *causes = action.cause
        return [
            (
                view.case_list([("system", id_of(view.run, name)), *(("cause", cause) for cause in causes)]),
                view.words["cases"],
            )
        ]
    return [(f"#{at}", name) for at, name in _places(view, number, system, action, linked)]


def _places(
    view: View, number: int, system: str, action: Action, linked: set[tuple[str, str]]
) -> list[tuple[str, str]]:
    if action.cause:
        its, *causes = action.cause
        shown = [card for (name, _), card in cards(view).items() if name == its and card.cause in causes]
        new = {card.sample: card for card in reversed(shown) if (its, card.sample) not in linked}
        few = list(reversed(new.values()))[:_LINKS]
        linked |= {(its, card.sample) for card in few}
        return [(card.at, card.question) for card in few]
    if action.samples:
        return _samples(view, system, action.samples)
    return [(anchor(number, action.group), view.words["cases"])] if action.group else []


def _samples(view: View, system: str, samples: Sequence[str]) -> list[tuple[str, str]]:
    """The cards of these samples, in their order."""
    places = {
        card.sample: (card.at, card.question)
        for (name, _), card in reversed(list(cards(view).items()))
        if name == system
    }
    return [places[sample] for sample in samples if sample in places][:_LINKS]


def _picture(view: View, number: int, system: str, summary: Summary) -> Markup:
    if summary.bars:
        kinds = [kind for kind in get_args(BarKind) if any(bar.kind == kind for bar in summary.bars)]
        return view.html("report/waterfall.html", words=view.words, bars=list(_bars(summary.bars, number)), kinds=kinds)
    return dots_html(view, summary.dots, lambda dot: _samples(view, system, dot.samples)) if summary.dots else Markup()


def dots_html(
    canvas: Canvas, dots: Sequence[Dot], links: Callable[[Dot], list[tuple[str, str]]] = lambda _: []
) -> Markup:  # fmt: skip
    """Metrics as dots, each with the first `links` to its worst cases."""
    drawn, gated = [_dot(canvas, dot, links(dot)) for dot in dots], any(dot.gate is not None for dot in dots)
    return canvas.html("report/dots.html", words=canvas.words, dots=drawn, gated=gated)


def _dot(canvas: Canvas, dot: Dot, links: list[tuple[str, str]]) -> dict[str, Any]:
    """Where a dot, its interval and its gate are, in percent of the width; right is good."""

    def at(value: float | None) -> str | None:
        if value is None:
            return None
        share = (1 + value) / 2 if dot.signed else value
        return f"{100 * (1 - share if dot.lower else share):.1f}"

    value, _, interval = dot.text.partition(" ")
    short = dot.gate is not None and (dot.value > dot.gate if dot.lower else dot.value < dot.gate)
    end = dot.low if dot.lower else dot.high  # the gate fails where the whole interval is on the wrong side
    missed = short and (end is None or dot.gate is None or (end > dot.gate if dot.lower else end < dot.gate))
    bins, told = dot.bins[::-1] if dot.lower else dot.bins, canvas.words["bins"]
    return {
        "label": one_line(dot.label, 80),
        "note": canvas.words["lower_better" if dot.signed else "lower_turned"] if dot.lower else "",
        "x": at(dot.value), "low": at(dot.low), "high": at(dot.high), "gate": at(0.0 if dot.signed else dot.gate),
        "value": value, "interval": interval, "missed": missed, "open": short and not missed,
        "tone": "missed" if missed else dot.tone,
        "about": one_line(dot.about, _ABOUT),
        "strip": histogram_html(canvas, bins, told.format(counts=", ".join(map(str, dot.bins)))) if bins else "",
        "links": links,
    }  # fmt: skip


def _bars(bars: Sequence[Bar], system: int) -> Iterator[dict[str, Any]]:
    """Where each bar is, in percent of the width; the smallest can still be seen, and a step of nothing has none."""
    for bar in bars:
        low, high = sorted((100 * bar.start, 100 * bar.end))
        width = max(high - low, 0.7)
        value, _, interval = (bar.text, "", "") if bar.kind == "unmeasured" else bar.text.partition(" ")
        yield {
            "kind": bar.kind, "label": one_line(bar.label, 120), "value": value, "interval": interval,
            "link": anchor(system, bar.group), "before": f"{100 * bar.start:.2f}", "x": f"{min(low, 100 - width):.2f}",
            "width": f"{width:.2f}" if bar.start != bar.end else "",
        }  # fmt: skip


PLUGINS = {"opening": Section(0, {"en": "Verdict", "zh": "结论"}, _body)}
