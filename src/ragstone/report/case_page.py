"""A case on a page of its own: everything that the run file has of it, as the sections of a page.

The answer with its claims and the passages are made by the same code as the card of a case in the report.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from markupsafe import Markup

from ragstone.analysis.case_index_rows import status_of
from ragstone.display import Diagnosis, Span
from ragstone.error_text import failure_in
from ragstone.messages import messages
from ragstone.report.case_course import course_html, prompt_html
from ragstone.report.html import marked, score_entries
from ragstone.report.metadata import column_of, condition_of, passage_name
from ragstone.report.passage_path import PassagePath, passage_paths
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas
from ragstone.report.sections._judged_case import (
    JudgedSample,
    Limits,
    answer_html,
    claims_html,
    judged_sample,
    passages_html,
    replies_html,
)
from ragstone.report.sections._judged_rubric import rubrics_html
from ragstone.report.sections.worst_answers import fakes_of
from ragstone.types import Benchmark, Record, Template

Part: TypeAlias = tuple[str, str, Markup]

_LIMITS = Limits(
    text=4_000, answer=40_000, passage=8_000, plain=8_000, reply=20_000, sentences=200, claims=200, passages=60,
    steps=60,
)  # fmt: skip
_QUESTION, _TEXT, _LINE, _SCORES, _TURNS, _SLOTS, _NOTES, _OTHERS = 4_000, 2_000, 180, 60, 40, 20, 40, 60
_JUDGED = "ragstone.report.sections.judged"  # whose texts the parts of a judged sample have
_CARD = "ragstone.report.sections.worst_answers"  # and those of a card


@dataclass(frozen=True)
class LinkedRecord:
    """Another answer to the same question. `name`: what differs (a condition, a run, a system); `href` its page, and
    `beside` the page of both side by side, "" for none."""

    name: str
    status: str
    answer: str
    href: str = ""
    beside: str = ""


@dataclass(frozen=True)
class ShownCase:
    """What the page of a case is made of. `meta`: of the run; `spec`: of the system; `template`: of the `benchmark`,
    whose words the condition has; `recipe`: the passages of the query are not in the file. `conditions`: the same
    question under other conditions; `elsewhere`: in other systems and runs; `cause`: what all answers to the question
    together show."""

    record: Record
    diagnosis: Diagnosis
    meta: Mapping[str, Any]
    spec: Mapping[str, Any]
    template: Template | None = None
    recipe: bool = False
    benchmark: Benchmark | None = None
    conditions: Sequence[LinkedRecord] = ()
    elsewhere: Sequence[LinkedRecord] = ()
    cause: Markup = field(default_factory=Markup)


def case_parts(canvas: Canvas, case: ShownCase) -> list[Part]:
    """The sections of the page: the answer first, what it rests on, other answers to the same question, and how it was
    made."""
    w = messages(__name__, canvas.language)
    record = case.record
    sample = judged_sample(
        canvas, messages(_JUDGED, canvas.language), record, "c", limits=_LIMITS, benchmark=case.benchmark
    )
    parts = [
        ("answer", w["answer"], _answer(canvas, w, case, sample)),
        ("cause", w["cause"], case.cause),
        ("passages", w["passages"], _passages(canvas, w, case, sample)),
        ("conditions", w["conditions"], related_html(canvas, case.conditions, w["conditions"], w["condition"])),
        ("elsewhere", w["elsewhere"], related_html(canvas, case.elsewhere, w["elsewhere"], w["where"])),
        ("course", w["course"], course_html(canvas, record, case.meta)),
        ("prompts", w["prompts"],
         prompt_html(canvas, record, case.spec, case.template, recipe=case.recipe) + replies_html(sample)),
        ("made", w["condition"], _made(canvas, w, record, case.benchmark)),
    ]  # fmt: skip
    return [part for part in parts if part[2]]


def _answer(canvas: Canvas, w: Mapping[str, str], case: ShownCase, sample: JudgedSample) -> Markup:
    record, response, data = case.record, case.record.response, case.record.case.sample
    status = status_of(record, case.diagnosis)
    return canvas.html(
        "report/case_page.html", w=w, card=messages(_CARD, canvas.language), judged=sample.w, record=record,
        lang=sample.lang,
        question=one_line(record.case.query.question, _QUESTION), id=one_line(data.id, _LINE), status=w[status],
        tone=TONES[status], label=one_line(case.diagnosis.label, _LINE) if status == "wrong" else "",
        reason=one_line(case.diagnosis.reason, _TEXT),
        error=one_line(failure_in(record.error or "", canvas.language), _TEXT),
        cut=response is not None and response.finish_reason == "length", noncommittal=sample.noncommittal,
        history=[(w[f"role_{turn.role}"], marked(canvas, turn.content, (), limit=_LIMITS.text))
                 for turn in record.case.query.history[-_TURNS:]],
        answer=answer_html(sample, _spans(case.diagnosis, "answer")) if response else "",
        reasoning=marked(canvas, response.reasoning if response else "", (), limit=_LIMITS.reply),
        expected=[[one_line(alias, _TEXT) for alias in slot[:_SLOTS]] for slot in data.references[:_SLOTS]],
        fakes=fakes_of(data.meta),
        scores=score_entries(canvas, record.scores, messages(_CARD, canvas.language), limit=_SCORES),
        rubrics=rubrics_html(canvas, sample.w, sample.judged, sample.lang), claims=claims_html(sample),
    )  # fmt: skip


TONES = {"right": "good", "wrong": "bad", "failed": "bad", "unscored": ""}


def _spans(diagnosis: Diagnosis, name: str) -> list[Span]:
    return [span for span in diagnosis.spans if span.field == name]


def _passages(canvas: Canvas, w: Mapping[str, str], case: ShownCase, sample: JudgedSample) -> Markup:
    """The passages of the prompt with what the answer uses of them, then those that did not get so far."""
    record = case.record
    paths = passage_paths(record)
    inside = {(path.passage.id, path.passage.text): path for path in paths if path.in_prompt}
    shown = [inside[passage.id, passage.text] for passage in sample.passages]
    marks = {place: _spans(case.diagnosis, path.passage.id) for place, path in enumerate(shown, 1)}
    badges = [list(_badges(w, path)) for path in shown]
    prompt = passages_html(sample, marks, badges, title=w["in_prompt"].format(n=len(shown))) if shown else ""
    others = [
        {"id": passage_name(path.passage.id, canvas.language, case.benchmark),
         "title": one_line(path.passage.title, _LINE),
         "badges": list(_badges(w, path)),
         "text": sample.marked(path.passage.text, _spans(case.diagnosis, path.passage.id), _LIMITS.plain)}
        for path in paths if not path.in_prompt
    ][:_OTHERS]  # fmt: skip
    closed = record.case.query.passages == () and not paths
    return canvas.html(
        "report/case_passages.html", w=w, kinds=sample.kinds, lang=sample.lang, prompt=prompt, others=others,
        empty=w["closed" if closed else "no_passages"], staged=any(set(path.ranks) - {"prompt"} for path in paths),
        gold_lost=any(path.gold and not path.in_prompt for path in paths),
    )  # fmt: skip


def _badges(w: Mapping[str, str], path: PassagePath) -> Iterator[tuple[str, str]]:
    """Whether a passage is gold, and its ranks from stage to stage."""
    if path.gold:
        yield w["gold"], "good"
    elif path.passage.relevant is False:
        yield w["not_gold"], ""
    if ranks := [w[f"rank_{stage}"].format(n=rank) for stage, rank in path.ranks.items()]:
        if set(path.ranks) != {"prompt"}:
            yield " → ".join(ranks), ""
    else:
        yield w["never_fetched"], "bad"


def related_html(canvas: Canvas, records: Sequence[LinkedRecord], title: str, head: str) -> Markup:
    """A table of other answers to the same question; "" without any. `head`: of its first column."""
    w = messages(__name__, canvas.language)
    rows = [
        {"name": one_line(other.name, _LINE), "href": other.href, "beside": other.beside, "status": w[other.status],
         "tone": TONES[other.status], "answer": one_line(other.answer, _LINE)}
        for other in records
    ]  # fmt: skip
    card = messages(_CARD, canvas.language)
    return (
        canvas.html("report/related_answers.html", w=w, card=card, rows=rows, title=title, head=head)
        if rows
        else Markup()
    )


def _made(canvas: Canvas, w: Mapping[str, str], record: Record, benchmark: Benchmark | None) -> Markup:
    """The condition, and the other columns of the data."""
    case = record.case
    plain = [(name, value) for name, value in case.sample.meta.items() if isinstance(value, str | int | float | bool)]
    notes = [column_of(str(name), str(value), canvas.language, benchmark) for name, value in plain[:_NOTES]]
    return canvas.html(
        "report/case_condition.html",
        w=w,
        id=one_line(case.sample.id, _LINE),
        condition=list(condition_of(case.condition, canvas.language, benchmark)),
        notes=notes,
    )
