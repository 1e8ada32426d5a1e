"""One judged sample: its sentences, claims and passages with links between them, its rubrics, and the raw replies. As a
folded card of a report (`case_html`), and in parts for the page of a case.

Ids on the page are made only of numbers counted here, never of contents of the run file.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from markupsafe import Markup

from ragstone.display import Diagnosis, Span
from ragstone.error_text import failure_in
from ragstone.metrics.judge.record import (
    AnswerClaim,
    Judged,
    JudgeStep,
    ReferenceClaim,
    judged_scores,
    merged,
    requests_of,
)
from ragstone.report.html import lang_attribute, marked, score_entries
from ragstone.report.judged import goodness
from ragstone.report.metadata import condition_of, passage_name
from ragstone.report.number_format import number
from ragstone.report.sanitize import cut, one_line
from ragstone.report.section import Canvas
from ragstone.report.sections._judged_rubric import answer_spans, rubrics_html
from ragstone.text.quotes import find_quote
from ragstone.types import Benchmark, Passage, Record, Score, Usage

_QUESTION, _LINE, _SCORES, _SLOTS = 1_000, 180, 30, 8
_SEARCHED = 60_000  # characters of a passage that are searched


@dataclass(frozen=True)
class Limits:
    """How much of a sample is shown: characters of a sentence or claim (`text`), of the answer, of a passage with
    quotes and of another one (`plain`), and of a reply; and the number of sentences, claims, passages and replies."""

    text: int = 600
    answer: int = 2_400
    passage: int = 1_100
    plain: int = 420
    reply: int = 1_200
    sentences: int = 40
    claims: int = 30
    passages: int = 12
    steps: int = 12


CARD = Limits()

Badges: TypeAlias = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class JudgedSample:
    """A sample on the page: `at` is the prefix of its ids, `w` the texts of the section, `passages` those that the
    judge saw, and `missing_quotes` are in none of them."""

    canvas: Canvas
    w: Mapping[str, str]
    record: Record
    at: str
    judged: Mapping[str, Score]
    matrix: Judged
    passages: Sequence[Passage]
    spans: Mapping[int, Sequence[Span]]
    missing_quotes: Collection[str]
    limits: Limits = CARD
    benchmark: Benchmark | None = None

    @property
    def answer(self) -> str:
        """The answer; "" without one."""
        return self.record.response.answer if self.record.response else ""

    @cached_property
    def verdicts(self) -> Mapping[int, tuple[bool, bool | None]]:
        """By passage number: whether the passage is relevant, and useful."""
        return {passage.id: (passage.relevant, passage.useful) for passage in self.matrix.passages}

    @property
    def noncommittal(self) -> bool:
        """Whether the judge considers the answer noncommittal."""
        return self.matrix.noncommittal and any(step.noncommittal for step in self.matrix.steps)

    @property
    def lang(self) -> Markup:
        """The language attribute of its texts."""
        return lang_attribute(self.record.case.query.language or self.record.case.sample.language)

    @property
    def kinds(self) -> Mapping[str, str]:
        """What highlights mean: what the judge quotes; without a judge, where the answer and false ones stand."""
        words = self.canvas.words if not self.judged else {
            "match": self.w["quoted"], "wrong": self.w["quoted_against"]
        }  # fmt: skip
        return {name: words[name] for name in ("match", "wrong")}

    def marked(self, text: str, spans: Sequence[Span], limit: int) -> Markup:
        """Text with highlights of what is quoted, cut to `limit` characters."""
        return marked(self.canvas, text, spans, limit=limit, kinds=self.kinds)

    def html(self, template: str, **values: Any) -> Markup:
        """Fills in a template of a part of the sample."""
        return self.canvas.html(template, w=self.w, at=self.at, lang=self.lang, **values)


def judged_sample(
    canvas: Canvas, w: Mapping[str, str], record: Record, at: str, *, limits: Limits = CARD,
    benchmark: Benchmark | None = None,
) -> JudgedSample:  # fmt: skip
    """What a judge found in a record. `at`: prefix of the ids on the page; `w`: the texts of the section `judged`;
    `benchmark`: has the names of passages."""
    matrix = merged(requests_of(record))
    # The passages that the judge saw: those the system returned, else those it was given.
    passages = (record.response and record.response.passages) or record.case.query.passages or ()
    spans, missing = quote_spans(matrix, [passage.text for passage in passages])
    return JudgedSample(
        canvas, w, record, at, judged_scores(record), matrix, passages, spans, missing, limits, benchmark
    )


def case_html(
    canvas: Canvas, w: Mapping[str, str], record: Record, index: int, *, place: str, diagnosis: Diagnosis,
    benchmark: Benchmark | None = None,
) -> Markup:  # fmt: skip
    """The sample as a folded block. `index` is its number on the page, from 1; `place` its id."""
    sample = judged_sample(canvas, w, record, f"j{index}", benchmark=benchmark)
    case = record.case
    return sample.html(
        "report/judged_case.html", record=record, place=place,
        id=one_line(case.sample.id, 80),
        label=one_line(diagnosis.label, _LINE),
        reason=one_line(diagnosis.reason, CARD.text) if diagnosis.right is False else "",
        question=one_line(case.query.question, _QUESTION), low=_low(sample.judged),
        answer_line=one_line(sample.answer, _LINE), noncommittal=sample.noncommittal,
        scores=score_entries(canvas, sample.judged, w, limit=_SCORES),
        answer=answer_html(sample), rubrics=rubrics_html(canvas, w, sample.judged, sample.lang),
        claims=claims_html(sample),
        expected=[one_line(slot[0], CARD.text) for slot in case.sample.references[:_SLOTS] if slot],
        passages=passages_html(sample), replies=replies_html(sample),
        condition=list(condition_of(case.condition, canvas.language, benchmark)),
    )  # fmt: skip


def _low(judged: Mapping[str, Score]) -> list[tuple[str, str]]:
    """The lowest scores, at most four, that are below sample half."""
    ranked = sorted((good, name) for name, score in judged.items() if (good := goodness(name, score)) is not None)
    return [(one_line(name, 60), number(judged[name].value or 0.0)) for good, name in ranked[:4] if good < 0.5]


def answer_html(sample: JudgedSample, spans: Sequence[Span] = ()) -> Markup:
    """The answer's sentences with the claims of each; the full answer where rubrics quote it, it has other highlights
    (`spans`) or it was not split."""
    limits = sample.limits
    by_sentence: dict[int, list[int]] = {}
    for claim in sample.matrix.answer_claims[: limits.claims]:
        by_sentence.setdefault(claim.sentence, []).append(claim.id)
    sentences = [
        (sample.marked(text, (), limits.text), by_sentence.get(place, []))
        for place, text in enumerate(sample.matrix.sentences[: limits.sentences], start=1)
    ]
    parts = []
    if sentences:
        more = max(0, len(sample.matrix.sentences) - limits.sentences)
        parts.append(sample.html("report/judged_answer.html", sentences=sentences, more=more, whole=""))
    if (spans := [*answer_spans(sample.judged), *spans]) or not sentences:
        whole = sample.marked(sample.answer, spans, limits.answer)
        parts.append(sample.html("report/judged_answer.html", sentences=[], more=0, whole=whole))
    return Markup().join(parts)


def claims_html(sample: JudgedSample) -> Markup:
    """The claims of both texts, side by side; "" where there are none."""
    if not (sample.matrix.answer_claims or sample.matrix.reference_claims):
        return Markup()
    sides = []
    for letter, claims, side in _sides(sample.matrix):
        sides.append({
            "letter": letter, "title": sample.w[f"{side}_claims"], "none": sample.w[f"no_{side}_claims"],
            "claims": [_claim(sample, claim, letter) for claim in claims[: sample.limits.claims]],
            "more": max(0, len(claims) - sample.limits.claims),
        })  # fmt: skip
    return sample.html("report/judged_claims.html", sides=sides)


def _sides(matrix: Judged) -> Sequence[tuple[str, Sequence[AnswerClaim | ReferenceClaim], str]]:
    """The claims of the answer and of the reference, with the letter and name of each side."""
    return (("a", matrix.answer_claims, "answer"), ("r", matrix.reference_claims, "reference"))


def _claim(sample: JudgedSample, claim: AnswerClaim | ReferenceClaim, letter: str) -> dict[str, Any]:
    w, badges = sample.w, list[tuple[str, str]]()
    if claim.verified and not (claim.supported_by or claim.contradicted_by):
        badges.append((w["unsupported"], ""))
    if claim.shared is not None:
        opposite = "reference" if letter == "a" else "answer"
        badges.append(
            (w[f"in_{opposite}" if claim.shared else f"not_in_{opposite}"], "good" if claim.shared else "bad")
        )
    sentence, relevant = (claim.sentence, claim.relevant) if isinstance(claim, AnswerClaim) else (0, True)
    if not relevant:
        badges.append((w["irrelevant_claim"], ""))
    if claim.together:
        badges.append((w["together"], "good"))
    if isinstance(claim, ReferenceClaim) and claim.alternative:
        badges.append((w["alternative"].format(n=claim.alternative), ""))
    limits = sample.limits
    linked, sentences = min(len(sample.passages), limits.passages), min(len(sample.matrix.sentences), limits.sentences)
    return {
        "id": claim.id, "text": one_line(claim.text, limits.text), "badges": badges,
        "tone": "good" if claim.supported_by else "bad" if claim.contradicted_by else "open",
        "sentence": sentence if sentence <= sentences else 0,
        "support": [(place, place <= linked) for place in claim.supported_by[: limits.passages]],
        "against": [(place, place <= linked) for place in claim.contradicted_by[: limits.passages]],
        "quotes": [(one_line(quote.text, _LINE), quote.text in sample.missing_quotes) for quote in claim.quotes],
        "reason": one_line(claim.reason, _LINE),
    }  # fmt: skip


def passages_html(
    sample: JudgedSample,
    marks: Mapping[int, Sequence[Span]] | None = None,
    badges: Sequence[Badges] = (),
    title: str = "",
) -> Markup:
    """The passages that the judge saw, with its verdicts. `marks`: more highlights by place, from 1; `badges`: more
    badges of each passage, as (text, tone)."""
    most, marks = sample.limits.passages, marks or {}
    shown = [_passage(sample, passage, place, marks.get(place, ())) for place, passage in
             enumerate(sample.passages[:most], start=1)]  # fmt: skip
    for values, more in zip(shown, badges, strict=False):
        values["badges"] = [*more, *values["badges"]]
    return sample.html(
        "report/judged_passages.html",
        title=title or sample.w["passages"],
        shown=shown,
        more=max(0, len(sample.passages) - most),
    )


def _passage(sample: JudgedSample, passage: Passage, place: int, more: Sequence[Span]) -> dict[str, Any]:
    """A passage with the judge's verdicts on it, the claims it supports or contradicts, and the quotes in its text."""
    relevant, useful = sample.verdicts.get(place, (None, None))
    badges = []
    if relevant is not None:
        badges.append((sample.w["relevant" if relevant else "irrelevant_passage"], "good" if relevant else ""))
    if useful is not None:
        badges.append((sample.w["useful" if useful else "not_useful"], "good" if useful else ""))
    supports, contradicts = list[tuple[str, str]](), list[tuple[str, str]]()
    for letter, claims, _ in _sides(sample.matrix):
        for claim in claims[: sample.limits.claims]:
            name = (f"{letter.upper()}{claim.id}", f"{letter}{claim.id}")
            if place in claim.supported_by:
                supports.append(name)
            elif place in claim.contradicted_by:
                contradicts.append(name)
    marks = [*sample.spans.get(place, ()), *more]
    return {
        "n": place, "id": passage_name(passage.id, sample.canvas.language, sample.benchmark),
        "title": one_line(passage.title, _LINE), "badges": badges,
        "supports": supports, "contradicts": contradicts,
        "text": sample.marked(passage.text, marks, sample.limits.passage if marks else sample.limits.plain),
    }  # fmt: skip


def replies_html(sample: JudgedSample) -> Markup:
    """The judge's replies as they came, folded; "" where there are none."""
    steps, most = sample.matrix.steps, sample.limits.steps
    return sample.html(
        "report/judge_replies.html", steps=[_reply(step, sample) for step in steps[:most]],
        count=len(steps),
        more_steps=max(0, len(steps) - most),
    )  # fmt: skip


def _reply(step: JudgeStep, sample: JudgedSample) -> dict[str, str]:
    w = sample.w
    reply, left_out = cut(step.reply or "", sample.limits.reply)
    problem = one_line(failure_in(step.problem, sample.canvas.language), _LINE)
    usage = step.usage or Usage()
    sent, got = max(0, usage.prompt_tokens), max(0, usage.completion_tokens)
    return {
        "name": one_line(step.name, 60),
        "model": one_line(step.model, 80),
        "prompt": one_line(step.prompt, 80),
        "tokens": w["tokens"].format(sent=f"{sent:,}", got=f"{got:,}") if sent or got else "",
        "problem": w["problem"].format(problem=problem) if problem else "",
        "reply": reply + (f"… (+{left_out:,})" if left_out else ""),
    }


def quote_spans(judged: Judged, texts: Sequence[str]) -> tuple[dict[int, list[Span]], set[str]]:
    """Highlights by passage (`match` where a quote supports its claim, `wrong` where it only contradicts), and the
    quotes that are missing from the passages they refer to. `texts` are the passages in order."""
    spans: dict[int, list[Span]] = {}
    missing: set[str] = set()
    claims: list[AnswerClaim | ReferenceClaim] = [*judged.answer_claims, *judged.reference_claims]
    for claim in claims:
        for quote in claim.quotes:
            located = False
            for place in [quote.place] if quote.place else (*claim.supported_by, *claim.contradicted_by):
                text = texts[place - 1][:_SEARCHED] if place <= len(texts) else ""
                if (position := find_quote(quote.text, text)) is not None:
                    located = True
                    kind = "match" if place in claim.supported_by else "wrong"
                    spans.setdefault(place, []).append(Span(str(place), *position, kind))  # type: ignore[arg-type]
            if not located:
                missing.add(quote.text)
    return spans, missing
