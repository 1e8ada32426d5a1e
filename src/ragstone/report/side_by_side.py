"""The answers of several systems or runs to one question side by side, with what differs marked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from ragstone.analysis.case_index_rows import status_of
from ragstone.display import Diagnosis, Span
from ragstone.error_text import failure_in
from ragstone.messages import messages
from ragstone.report.case_page import TONES
from ragstone.report.html import lang_attribute, marked, score_entries
from ragstone.report.metadata import metric_name, passage_name, words_of
from ragstone.report.number_format import number
from ragstone.report.passage_path import changes, is_gold, prompted
from ragstone.report.sanitize import one_line
from ragstone.report.section import Canvas
from ragstone.report.word_diff import word_diff
from ragstone.types import Benchmark, Passage, Record

_QUESTION, _TEXT, _LINE, _SLOTS, _ANSWER, _PASSAGE, _PASSAGES, _SCORES = 4_000, 2_000, 180, 20, 40_000, 1_200, 30, 60
MOST = 6  # answers side by side


@dataclass(frozen=True)
class Column:
    """An answer with the name of its system or run, the address of its page ("" for none), and its benchmark, which has
    the names of passages."""

    name: str
    record: Record
    diagnosis: Diagnosis
    href: str = ""
    benchmark: Benchmark | None = None

    @property
    def answer(self) -> str:
        """The text of the answer; "" without one."""
        return self.record.response.answer if self.record.response else ""


def side_by_side(canvas: Canvas, columns: Sequence[Column]) -> Markup:
    """At most `MOST` answers in columns: in each answer the words that the first lacks are marked, and in the first
    those that all others lack; passages say whether they are kept, new, lost or at another rank than in the first."""
    w, columns = messages(__name__, canvas.language), columns[:MOST]
    first = columns[0]
    case = first.record.case
    spans = _spans(columns)
    questions = {column.record.case.query.question for column in columns}
    return canvas.html(
        "report/side_by_side.html", w=w, lang=lang_attribute(case.query.language or case.sample.language),
        question=one_line(case.query.question, _QUESTION), id=one_line(case.sample.id, _LINE),
        expected=[one_line(slot[0], _TEXT) for slot in case.sample.references[:_SLOTS] if slot],
        several=len(columns) > 1, same=len(columns) > 1 and not any(spans), other_questions=len(questions) > 1,
        sides=[_side(canvas, w, column, first, marks) for column, marks in zip(columns, spans, strict=True)],
        scores=_scores(canvas, w, columns),
    )  # fmt: skip


def _spans(columns: Sequence[Column]) -> list[list[Span]]:
    """The words of each answer that differ from the first; of the first, those that differ from all others."""
    pairs = [word_diff(columns[0].answer, column.answer) for column in columns[1:]]
    own = [_places(before) for before, _ in pairs]
    alone = sorted(set.intersection(*own)) if own else []
    first: list[Span] = []
    for place in alone:
        if first and first[-1].end == place:
            first[-1] = Span("", first[-1].start, place + 1, "only")
        else:
            first.append(Span("", place, place + 1, "only"))
    return [first, *(after for _, after in pairs)]


def _places(spans: Sequence[Span]) -> set[int]:
    return {place for span in spans for place in range(span.start, span.end)}


def _side(canvas: Canvas, w: Mapping[str, str], column: Column, first: Column, marks: Sequence[Span]) -> dict[str, Any]:
    record, status = column.record, status_of(column.record, column.diagnosis)
    question = record.case.query.question
    passages = list(_passages(canvas, w, column, None if column is first else first.record))
    why = failure_in(record.error or "", canvas.language) or column.diagnosis.reason
    return {
        "name": one_line(column.name, 80), "href": column.href, "status": w[status], "tone": TONES[status],
        "label": one_line(column.diagnosis.label, _LINE) if status == "wrong" else "",
        "reason": one_line(why, _TEXT) if status in ("wrong", "failed") else "",
        "question": one_line(question, _QUESTION) if question != first.record.case.query.question else "",
        "answer": marked(canvas, column.answer, marks, limit=_ANSWER, kinds=w), "passages": passages[:_PASSAGES],
        "more": max(0, len(passages) - _PASSAGES), "given": len(prompted(record)),
    }  # fmt: skip


def _passages(
    canvas: Canvas, w: Mapping[str, str], column: Column, first: Record | None
) -> list[dict[str, Any]]:  # fmt: skip
    """The passages of a prompt; beside a `first` one, with what became of them and those that are lost."""
    record, benchmark = column.record, column.benchmark
    if first is None:
        return [_passage(canvas, record, passage, rank, benchmark) for rank, passage in enumerate(prompted(record), 1)]
    rows = []
    for change in changes(first, record)[: 2 * _PASSAGES]:
        row = _passage(canvas, first if change.after is None else record, change.passage, change.after, benchmark)
        row |= {"kind": change.kind, "tone": {"new": "good", "lost": "bad"}.get(change.kind, ""),
                "change": w[change.kind].format(n=change.before)}  # fmt: skip
        if change.kind in ("kept", "moved", "lost"):  # its text stands in the first column
            row["text"] = ""
        rows.append(row)
    return rows


def _passage(
    canvas: Canvas, record: Record, passage: Passage, rank: int | None, benchmark: Benchmark | None
) -> dict[str, Any]:
    return {
        "rank": rank, "id": passage_name(passage.id, canvas.language, benchmark), "kind": "",
        "gold": is_gold(record, passage), "change": "",
        "tone": "", "text": marked(canvas, passage.text, (), limit=_PASSAGE),
    }  # fmt: skip


def _scores(
    canvas: Canvas, w: Mapping[str, str], columns: Sequence[Column]
) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Each metric with its score in every column, its reason, and the difference from the first column; of those that
    the benchmark derives, such as causes, the ones that are not 0."""
    words = words_of(columns[0].benchmark, canvas.language)
    entries = [
        {name: (text, why) for name, text, why in score_entries(canvas, column.record.scores, w, limit=_SCORES)}
        for column in columns
    ]
    values = [
        {one_line(name, 80): score.value for name, score in column.record.scores.items()} for column in columns
    ]  # fmt: skip
    rows = []
    for name in dict.fromkeys(name for entry in entries for name in entry):
        shown = metric_name(name, words)
        if shown != name and not any(scored.get(name) for scored in values):
            continue
        cells, base = list[tuple[str, str, str]](), values[0].get(name)
        for place, (entry, scored) in enumerate(zip(entries, values, strict=True)):
            text, why = entry.get(name, ("–", ""))
            now, change = scored.get(name), ""
            if place and base is not None and now is not None and now != base:
                change = ("+" if now > base else "−") + number(abs(now - base))
            cells.append((text, why, change))
        rows.append((shown, cells))
    return rows
