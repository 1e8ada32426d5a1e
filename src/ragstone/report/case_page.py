"""A case on a page of its own: everything that the run file has of it, as the sections of a page.

The answer with its claims and the passages are made by the same code as the card of a case in the report.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from markupsafe import Markup

from ragstone.display import Diagnosis, Span
from ragstone.messages import messages
from ragstone.report.case_course import course_html, prompt_html
from ragstone.report.html import marked, score_entries
from ragstone.report.metadata import condition_of
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
    text=4_000,
    answer=40_000,
    passage=8_000,
    plain=8_000,
    reply=20_000,
    sentences=200,
    claims=200,
    passages=60,
    steps=60,
)
_QUESTION, _TEXT, _LINE, _SCORES, _TURNS, _SLOTS, _NOTES, _OTHERS = 4_000, 2_000, 180, 60, 40, 20, 40, 60
_JUDGED = "ragstone.report.sections.judged"  # whose texts the parts of a judged sample have
_CARD = "ragstone.report.sections.worst_answers"  # and those of a card

_CASE = """
<article class="case page"><div class="in">
<p class="q"{{ lang }}><bdi>{{ question }}</bdi></p>
<p class="who"><b class="mono"><bdi>{{ id }}</bdi></b> <span class="badge {{ tone }}">{{ status }}</span> {% if label %}<span class="badge bad">{{ label }}</span> {% endif %}<bdi>{{ record.system_id }}</bdi></p>
{% if reason %}<p class="{{ "why" if tone == "bad" else "said" }}"><bdi>{{ reason }}</bdi></p>{% endif %}
{% if error %}<p class="why">{{ w.error }} <bdi>{{ error }}</bdi></p>{% endif %}
{% if cut %}<p class="why">{{ card.cut }}</p>{% endif %}
{% if noncommittal %}<p class="why">{{ judged.noncommittal }}</p>{% endif %}
{% if history %}<details class="figures" open><summary>{{ w.history.format(n=history | length) }}</summary>
{% for role, text in history %}<h4>{{ role }}</h4><div class="text" dir="auto"{{ lang }}>{{ text }}</div>{% endfor %}</details>{% endif %}
{{ answer }}
{% if reasoning %}<details class="figures"><summary>{{ card.reasoning }}</summary><div class="text" dir="auto">{{ reasoning }}</div></details>{% endif %}
<h4>{{ card.expected }}</h4>{% if expected %}<p class="text"{{ lang }}>{% for slot in expected %}{{ card.and if not loop.first }}{% for alias in slot %}{{ card.or if not loop.first }}<b><bdi>{{ alias }}</bdi></b>{% endfor %}{% endfor %}</p>{% else %}<p class="legend">{{ w.no_reference }}</p>{% endif %}
{% if fakes %}<h4>{{ card.false }}</h4><p class="text"{{ lang }}>{% for fake in fakes %}{{ card.or if not loop.first }}<bdi>{{ fake }}</bdi>{% endfor %}</p>{% endif %}
{% if scores %}<h4>{{ card.scores }}</h4><ul class="scored">{% for name, text, why in scores %}<li><b class="mono"><bdi>{{ name }}</bdi></b> <b>{{ text }}</b>{% if why %} <small><bdi>{{ why }}</bdi></small>{% endif %}</li>{% endfor %}</ul>{% endif %}
{{ rubrics }}
{{ claims }}
</div></article>
"""  # noqa: E501  a template

_PASSAGES = """
{% if prompt or others %}<p class="legend">{{ w.marks }} <mark class="match">{{ kinds.match }}</mark> <mark class="wrong">{{ kinds.wrong }}</mark>{% if not staged %} {{ w.no_stages }}{% endif %}</p>{% endif %}
<div class="case page"><div class="in">
{% if prompt %}{{ prompt }}{% else %}<p>{{ empty }}</p>{% endif %}

{% if others %}<details{{ " open" if gold_lost }}><summary><b>{{ w.not_in_prompt.format(n=others | length) }}</b>{% if gold_lost %} <span class="badge bad">{{ w.gold_lost }}</span>{% endif %}</summary>
<ol class="passages">
{% for p in others %}<li><div class="head"><span class="mono"><bdi>{{ p.id }}</bdi></span>{% if p.title %}<b><bdi>{{ p.title }}</bdi></b>{% endif %}{% for text, tone in p.badges %}<span class="badge {{ tone }}">{{ text }}</span>{% endfor %}</div>
<div class="text" dir="auto"{{ lang }}>{{ p.text }}</div></li>
{% endfor %}</ol></details>{% endif %}
</div></div>
"""  # noqa: E501  a template

_RELATED = """
<div class="scroll" role="region" aria-label="{{ title }}" tabindex="0"><table>
<thead><tr><th scope="col">{{ head }}</th><th scope="col">{{ w.verdict }}</th><th scope="col">{{ card.answer }}</th><th scope="col">{{ w.side_by_side }}</th></tr></thead>
<tbody>{% for row in rows %}<tr><th scope="row">{% if row.href %}<a href="{{ row.href }}"><bdi>{{ row.name }}</bdi></a>{% else %}<bdi>{{ row.name }}</bdi>{% endif %}</th><td><span class="badge {{ row.tone }}">{{ row.status }}</span></td><td class="wide"><bdi>{{ row.answer }}</bdi></td><td>{% if row.beside %}<a href="{{ row.beside }}">{{ w.compare }}</a>{% endif %}</td></tr>
{% endfor %}</tbody></table></div>
"""  # noqa: E501  a template

_MADE = """
<ul class="chips"><li class="mono"><bdi>{{ id }}</bdi></li>{% for name, text in condition %}<li><b><bdi>{{ name }}</bdi></b> <bdi>{{ text }}</bdi></li>{% endfor %}</ul>
{% if notes %}<h4>{{ w.columns }}</h4><ul class="chips">{% for name, text in notes %}<li><b><bdi>{{ name }}</bdi></b> <bdi>{{ text }}</bdi></li>{% endfor %}</ul>{% endif %}
"""  # noqa: E501  a template


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


def status_of(record: Record, diagnosis: Diagnosis) -> str:
    """right, wrong, unscored or failed."""
    if record.error is not None or record.response is None:
        return "failed"
    return {True: "right", False: "wrong", None: "unscored"}[diagnosis.right]


def case_parts(canvas: Canvas, case: ShownCase) -> list[Part]:
    """The sections of the page: the answer first, what it rests on, other answers to the same question, and how it was
    made."""
    w = messages(__name__, canvas.language)
    record = case.record
    sample = judged_sample(canvas, messages(_JUDGED, canvas.language), record, "c", limits=_LIMITS)
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
        _CASE, w=w, card=messages(_CARD, canvas.language), judged=sample.w, record=record, lang=sample.lang,
        question=one_line(record.case.query.question, _QUESTION), id=one_line(data.id, _LINE), status=w[status],
        tone=TONES[status], label=one_line(case.diagnosis.label, _LINE) if status == "wrong" else "",
        reason=one_line(case.diagnosis.reason, _TEXT), error=one_line(record.error or "", _TEXT),
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
        {"id": one_line(path.passage.id, 80), "title": one_line(path.passage.title, _LINE),
         "badges": list(_badges(w, path)),
         "text": sample.marked(path.passage.text, _spans(case.diagnosis, path.passage.id), _LIMITS.plain)}
        for path in paths if not path.in_prompt
    ][:_OTHERS]  # fmt: skip
    closed = record.case.query.passages == () and not paths
    return canvas.html(
        _PASSAGES, w=w, kinds=sample.kinds, lang=sample.lang, prompt=prompt, others=others,
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
    return canvas.html(_RELATED, w=w, card=card, rows=rows, title=title, head=head) if rows else Markup()


def _made(canvas: Canvas, w: Mapping[str, str], record: Record, benchmark: Benchmark | None) -> Markup:
    """The condition, and the other columns of the data."""
    case = record.case
    plain = [(name, value) for name, value in case.sample.meta.items() if isinstance(value, str | int | float | bool)]
    notes = [(one_line(str(name), 80), one_line(str(value), _LINE)) for name, value in plain[:_NOTES]]
    return canvas.html(
        _MADE,
        w=w,
        id=one_line(case.id, _LINE),
        condition=list(condition_of(case.condition, canvas.language, benchmark)),
        notes=notes,
    )
