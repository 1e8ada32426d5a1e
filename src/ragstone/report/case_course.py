"""How an answer came about: the seconds of each stage as a bar, the tokens and their cost, the prompt as it was sent,
and what came back."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup
from msgspec.structs import replace

from ragstone.messages import messages
from ragstone.metrics.judge.record import requests_of
from ragstone.prices import Price, price_of
from ragstone.report.html import marked
from ragstone.report.number_format import number
from ragstone.report.passage_path import prompted
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas
from ragstone.responses.stages import FIRST_TOKEN, STAGES
from ragstone.systems.template import PromptTemplate
from ragstone.types import Record, Response, Step, Template, Turn, Usage

_STEPS, _NAME, _TURN, _TURNS, _OUTPUT = 24, 60, 30_000, 40, 1_200
_NO_PROMPT = ("recorded", "extractive", "retrieval")  # kinds of systems without one that could be known


def course_html(canvas: Canvas, record: Record, meta: Mapping[str, Any]) -> Markup:
    """The timeline of the stages, and the tokens of the system and of its judge with their cost where the run knows
    prices. `meta`: of the run."""
    w, response = messages(__name__, canvas.language), record.response
    bars, first = ([], None) if response is None else _bars(response, w)
    judge, own = price_of(meta.get("price")), price_of(meta.get("system_price"))
    spent = sum((step.usage for step in requests_of(record) if step.usage and not step.cached), Usage())
    rows = [
        _row(w[name], usage, price)
        for name, usage, price in (("system", response.usage if response else None, own), ("judge", spent, judge))
        if usage is not None and usage != Usage()
    ]
    prices = " · ".join(
        one_line(str(meta[key]), 40) for key, price in (("system_price", own), ("price", judge)) if price
    )
    return canvas.html(
        "report/course.html", w=w, bars=bars,
        first_token="" if first is None else w["first_token"].format(seconds=_seconds(first)),
        rows=rows, priced=bool(prices), price=prices,
    )  # fmt: skip


def _bars(response: Response, w: Mapping[str, str]) -> tuple[list[dict[str, Any]], float | None]:
    """A bar for each step with a time, one after the other, and one for the rest of the answer's time; and the seconds
    to the first token."""
    timed = [(step.name, step.seconds) for step in response.steps if step.seconds is not None and step.seconds >= 0]
    first = next((seconds for name, seconds in timed if name == FIRST_TOKEN), None)
    timed = [(name, seconds) for name, seconds in timed if name != FIRST_TOKEN][:_STEPS]
    used, total = math.fsum(seconds for _, seconds in timed), response.seconds or 0.0
    if total > used:
        timed.append(("answer" if timed else "all", total - used))
    whole, at, bars = max(total, used), 0.0, []
    for name, seconds in timed if whole > 0 else ():
        bars.append({
            "name": w.get(f"stage_{name}") or one_line(name, _NAME), "start": f"{100 * at / whole:.2f}",
            "width": f"{max(0.4, 100 * seconds / whole):.2f}", "text": _seconds(seconds),
            "kind": "search" if name in (*STAGES, "rewrite") else "level",
        })  # fmt: skip
        at += seconds
    return bars, first


def _seconds(seconds: float) -> str:
    return (
        f"{seconds:,.1f} s" if seconds >= 10 else f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.1f} ms"
    )


def _row(name: str, usage: Usage, price: Price | None) -> dict[str, str]:
    sent, got = max(0, usage.prompt_tokens), max(0, usage.completion_tokens)
    cost = price.cost(usage) if price else None
    return {
        "name": name, "requests": f"{max(0, usage.requests):,}", "sent": f"{sent:,}", "got": f"{got:,}",
        "cost": "–" if cost is None else number(cost) if cost >= 0.01 else f"{cost:.6f}",
    }  # fmt: skip


def prompt_html(
    canvas: Canvas, record: Record, spec: Mapping[str, Any], template: Template | None, *, recipe: bool = False
) -> Markup:
    """The prompt as it was sent, or why it is not known, and what other steps of the system put out. `spec`: of the
    system; `template`: of the benchmark."""
    w = messages(__name__, canvas.language)
    sent = sent_prompt(record, spec, template, recipe=recipe)
    turns = [(w[f"role_{turn.role}"], marked(canvas, turn.content, (), limit=_TURN)) for turn in sent.turns[-_TURNS:]]
    steps = record.response.steps if record.response else ()
    return canvas.html(
        "report/prompt.html",
        w=w,
        note=w[sent.note],
        turns=turns,
        outputs=list(_outputs(steps, w)),
        judged=bool(requests_of(record)),
    )


def _outputs(steps: Sequence[Step], w: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The name and the output of each step that has another one than passages."""
    for step in steps[:_STEPS]:
        if step.name not in STAGES and step.output is not None:
            name = w.get(f"stage_{step.name}") or one_line(step.name, _NAME)
            lines = step.output if isinstance(step.output, list) else [step.output]
            yield name, "\n".join(one_line(str(line), _OUTPUT) for line in lines[:_STEPS])


class SentPrompt(NamedTuple):
    """The messages, and the key of a sentence about them: "rendered", or why there are none."""

    turns: tuple[Turn, ...]
    note: str


def sent_prompt(
    record: Record, spec: Mapping[str, Any], template: Template | None, *, recipe: bool = False
) -> SentPrompt:
    """The prompt of a record. `spec`: of its system; `template`: the benchmark's; `recipe`: the file has a recipe of
    the passages instead of their text, as for long contexts."""
    reader, query = _innermost(spec), record.case.query
    kind = reader.get("kind")
    if kind != "reader":
        return SentPrompt((), f"no_prompt_{kind}" if kind in _NO_PROMPT else "no_prompt")
    if record.response is None:
        return SentPrompt((), "no_prompt_failed")
    if recipe:
        return SentPrompt((), "no_prompt_recipe")
    known = _template(reader.get("template"), template)
    if known is None:
        return SentPrompt((), "no_prompt_template")
    if query.passages is None:
        query = replace(query, passages=tuple(prompted(record)))
    try:
        return SentPrompt(tuple(known.messages(query)), "rendered")
    except Exception:  # a plug-in's template, and a query that anybody may have written
        return SentPrompt((), "no_prompt_template")


def _innermost(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a system's settings that says how it answers from passages."""
    while True:
        inner = spec.get("reader") or spec.get("of")
        if not isinstance(inner, Mapping) or spec.get("kind") == "reader":
            return spec
        spec = inner


def _template(spec: Any, own: Template | None) -> Template | None:
    if own is not None and spec == dict(own.spec):
        return own
    try:
        made: PromptTemplate = msgspec.convert(spec, PromptTemplate)
    except (msgspec.ValidationError, ValueError):
        return None
    return made if made.user else None
