"""Samples of traces: one row for each root span with a question, with the stages of its answer."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ragstone.datasets.tabular import fields
from ragstone.datasets.tabular.problems import places, warning
from ragstone.datasets.tabular.rows import DataRow, Rows
from ragstone.datasets.tabular.traces import langfuse, langsmith, opentelemetry
from ragstone.datasets.tabular.traces.messages import answer_in, question_in, texts_in
from ragstone.datasets.tabular.traces.span import TraceSpan, json_value
from ragstone.messages import preferred_language
from ragstone.responses.outputs import LONGEST_ANSWER
from ragstone.responses.stages import FIRST_TOKEN, StageRecorder
from ragstone.types import Passage, Response, Step

_FORMATS = (opentelemetry, langsmith, langfuse)
SCHEMAS = frozenset(kind.NAME for kind in _FORMATS)
"""The schemas of data that were read from traces."""
_MAPPING = {"question": "input.value", "answer": "output.value", "contexts": "retrieval.documents", "id": "trace_id"}
_REMEMBERED = (
    20  # messages of a session before a question: applications that have one session for all are not quadratic
)
_Messages = list[dict[str, str]]
_PARTS = ("retriever", "reranker", "llm", "tool")  # kinds of spans that answer nothing by themselves


def is_trace(columns: Sequence[str]) -> bool:
    """Whether a table with these columns has spans."""
    return any(kind.matches(columns) for kind in _FORMATS)


def spans_as_rows(rows: Rows) -> Rows:
    """One row for each root span with a question, in the order of the file. What cannot be read is told as a warning;
    if nothing can, the rows say why."""
    kind = next(kind for kind in _FORMATS if kind.matches(rows.columns))
    spans: list[TraceSpan] = []
    problems: list[DataRow] = []
    for row in rows.take():
        if row.problem:
            problems.append(row)
            continue
        try:
            spans.extend(kind.spans_of(row.where, row.cells))
        except RecursionError:
            problems.append(DataRow(row.where, {}, "is nested too deeply to be read."))
    roots, missing, circles = roots_of(spans)
    result = _rows_of(roots, _ids_by_text(spans))
    notes = rows.raw.warnings
    if result:
        notes += _notes_on(problems)
    if missing:
        notes.append(warning("no_root", count=missing, total=len(roots)))
    if circles:
        notes.append(warning("span_circle", count=circles, total=len(spans)))
    if left := len(roots) - len(result):
        notes.append(warning("no_input", count=left, total=len(roots)))
    return rows.instead([*([] if result else problems), *result], schema=kind.NAME, mapping=_MAPPING)


def _notes_on(problems: Sequence[DataRow]) -> list[str]:
    """A warning for each kind of problem."""
    grouped: dict[str, list[str]] = defaultdict(list)
    for row in problems:
        grouped[row.problem].append(row.where)
    language = preferred_language()
    return [
        warning("unreadable_spans", where=places(where, len(where), language), problem=problem.rstrip("."))
        for problem, where in grouped.items()
    ]


class _Traced(NamedTuple):
    root: TraceSpan
    row: DataRow
    question: str | _Messages


def _rows_of(roots: Sequence[TraceSpan], ids: Mapping[str, str]) -> list[DataRow]:
    """The rows of these roots, with the earlier turns of their sessions as history."""
    traced: list[_Traced] = []
    several: dict[str, int] = {}
    for root in roots:
        found = _row(root, ids)
        if found is None:
            continue
        number = several[root.trace] = several.get(root.trace, 0) + 1
        found.row.cells["trace_id"] = root.trace if number == 1 else f"{root.trace}/{number}"
        traced.append(found)
    sessions: dict[str, list[_Traced]] = defaultdict(list)
    for item in traced:
        if session := item.row.cells.get("session.id"):
            sessions[session].append(item)
    for turns in sessions.values():
        _remember(sorted(turns, key=lambda item: item.root.start or 0.0))
    return [item.row for item in traced]


def _remember(turns: Sequence[_Traced]) -> None:
    """Puts the last questions and answers of a session before each question that has no history of its own."""
    history: _Messages = []
    for item in turns:
        messages = item.question if isinstance(item.question, list) else []
        own = item.question if isinstance(item.question, str) else (messages[-1]["content"] if messages else "")
        if history and sum(turn["role"] in ("user", "assistant") for turn in messages) <= 1:
            item.row.cells["input.value"] = [*history, {"role": "user", "content": own}]
        answer = item.row.cells.get("output.value")
        history = [*history, {"role": "user", "content": own}]
        if isinstance(answer, str) and not item.row.error:
            history.append({"role": "assistant", "content": answer})
        history = history[-_REMEMBERED:]


def _row(root: TraceSpan, ids: Mapping[str, str]) -> _Traced | None:
    """The row of a root span; None if neither it nor a descendant has a question."""
    spans = list(root.below())
    asked = next(((span, found) for span in spans if (found := question_in(span.input)) is not None), None)
    if asked is None:
        return None
    span, question = asked
    if isinstance(question, list) and not any(turn["role"] == "user" for turn in question):
        question = question[-1]["content"]
    answers = (answer_in(item.output) for item in (root, span, *reversed(spans)) if item.kind in ("", "llm"))
    answer = next((found for found in answers if found is not None), None)
    response = _recorded(root, spans, question if isinstance(question, str) else question[-1]["content"], ids)
    cells: dict[str, Any] = {
        "input.value": question,
        "output.value": answer,
        "retrieval.documents": [msgspec.to_builtins(passage) for passage in response.passages]
        or ([] if response.empty_retrieval else None),
        **{
            name: logged
            for name, value in (("inputs", root.input), ("outputs", root.output))
            if isinstance(logged := json_value(value), dict)
        },
        **root.columns,
        "name": root.name or None,
        "model": response.model or None,
        "seconds": response.seconds,
        "start_time": root.start,
        "session.id": next((item.session for item in spans if item.session), None),
    }
    return _Traced(root, DataRow(root.where, cells, recorded=response, error=_error(root, spans, answer)), question)


def _error(root: TraceSpan, spans: Sequence[TraceSpan], answer: str | None) -> str:
    """Why there is no answer: the error of the root, or, without an answer, that of any span."""
    if answer is not None and len(answer) > LONGEST_ANSWER:
        return f"The answer has {len(answer):,} characters; the limit is {LONGEST_ANSWER:,}."
    failed = [span.error for span in spans if span.error]
    return root.error or (failed[-1] if failed and answer is None else "")


def _recorded(root: TraceSpan, spans: Sequence[TraceSpan], question: str, ids: Mapping[str, str]) -> Response:
    """The response with everything but its text: passages, stages, tokens, seconds, model."""
    recorder = StageRecorder(question)
    known = [span for span in spans if span.passages is not None and span.kind in ("retriever", "tool")]
    if not known:
        known = _results_of_tools(spans)
    _record_retrieval(recorder, known, ids)
    rerankers = [span for span in spans if span.kind == "reranker" and span.passages is not None]
    for span in rerankers:
        if not recorder.fetched and span.candidates:
            recorder.fetch(_identified(span.candidates, ids))
        recorder.rerank(_identified(span.passages or [], ids), span.seconds)
    models = [span for span in spans if span.kind == "llm"]
    recorder.prompts += [span.prompt for span in models if span.prompt]
    counted = [span for span in models if span.usage and not _repeats(span)] or [root] * (root.usage is not None)
    for span in counted:
        if span.usage is not None:
            recorder.usage = span.usage if recorder.usage is None else recorder.usage + span.usage
    response = recorder.response(Response("", seconds=root.seconds))
    steps = list(response.steps)
    if (seconds := _elapsed(models)) is not None:
        steps.append(Step("generate", seconds=seconds, usage=recorder.usage))
    streamed = [span for span in models if span.first_token is not None]
    if streamed and root.start is not None and streamed[-1].start is not None:
        steps.append(
            Step(FIRST_TOKEN, seconds=round(streamed[-1].start - root.start + (streamed[-1].first_token or 0.0), 6))
        )
    empty = bool(known) and not response.passages
    names = [span.model for span in spans if span.model]
    return replace(response, steps=tuple(steps), model=names[-1] if names else "", empty_retrieval=empty)


def _record_retrieval(recorder: StageRecorder, spans: Sequence[TraceSpan], ids: Mapping[str, str]) -> None:
    """Pools what retrievers returned. One that asks others is counted once if it repeats what they returned (LlamaIndex
    has two spans for each retrieval), and is a reranker if it chooses of it."""
    leaves: list[TraceSpan] = []
    for span in reversed(spans):  # children before parents
        inner = [item for item in span.below() if item is not span and item.kind == "retriever" and item.passages]
        pooled = {passage.text for item in inner for passage in item.passages or ()}
        own = {passage.text for passage in span.passages or ()}
        if not inner or not own <= pooled:
            leaves.insert(0, span)
        elif own != pooled:
            recorder.rerank(_identified(span.passages or [], ids), span.seconds)
    recorder.queries += [span.query for span in spans if span.query]
    for span in leaves:
        recorder.fetch(_identified(span.passages or [], ids))
    recorder.fetch_seconds = _elapsed(leaves)


def _results_of_tools(spans: Sequence[TraceSpan]) -> list[TraceSpan]:
    """Tools whose results are texts, each of them a passage: what an agent searched with."""
    tools = [span for span in spans if span.kind == "tool" and span.output]
    for span in tools:
        span.passages = [Passage("", texts_in(span.output))]
    return tools


def _repeats(span: TraceSpan) -> bool:
    """Whether the tokens of a model call are those of a call below it."""
    return any(inner is not span and inner.kind == "llm" and inner.usage for inner in span.below())


def _elapsed(spans: Iterable[TraceSpan]) -> float | None:
    """The seconds in which at least one of these spans was running; None if no times are known."""
    times = sorted((span.start, span.end) for span in spans if span.start is not None and span.end is not None)
    total, until = 0.0, float("-inf")
    for start, end in times:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return round(total, 6) if times else None


def _ids_by_text(spans: Iterable[TraceSpan]) -> dict[str, str]:
    """Text → id, of the passages that some span names: other spans lose the ids, but not the texts."""
    ids: dict[str, str] = {}
    for span in spans:
        for passage in (*(span.passages or ()), *(span.candidates or ())):
            if passage.id and passage.text:
                ids.setdefault(passage.text, passage.id)
    return ids


def _identified(passages: Sequence[Passage], ids: Mapping[str, str]) -> list[Passage]:
    return [
        passage if passage.id else replace(passage, id=ids.get(passage.text) or fields.passage_id(passage.text))
        for passage in passages
    ]


def roots_of(spans: Sequence[TraceSpan]) -> tuple[list[TraceSpan], int, int]:
    """The root spans, with their descendants as `children`, in the order of the data; how many roots were missing; and
    how many spans were in circles of parents.

    A span that was exported twice is one. Parts of an answer whose root is missing (it may come in a later export) are
    put together under a root without input and output. Of a circle, the earliest span is the root."""
    known: dict[tuple[str, str], TraceSpan] = {}
    for place, span in enumerate(spans):
        key = (span.trace, span.id or f"#{place}")
        earlier = known.get(key)
        if earlier is None or earlier.end is None or span.end is not None:
            known[key] = span
    roots: list[TraceSpan] = []
    missing: dict[tuple[str, str], TraceSpan] = {}
    for span in known.values():
        parent = known.get((span.trace, span.parent)) if span.parent else None
        if parent is not None and parent is not span:
            parent.children.append(span)
        elif span.parent and parent is None and span.kind in _PARTS:
            lost = missing.get((span.trace, span.parent))
            if lost is None:
                lost = missing[span.trace, span.parent] = TraceSpan(span.where, span.trace, span.parent, "")
                roots.append(lost)
            lost.children.append(span)
        else:
            roots.append(span)
    circles = _open_circles(list(known.values()), roots)
    for lost in missing.values():
        lost.start = min((span.start for span in lost.children if span.start is not None), default=None)
    return roots, len(missing), circles


def _open_circles(spans: Sequence[TraceSpan], roots: list[TraceSpan]) -> int:
    """Adds a root for each circle of parents; returns the number of spans that no root reached."""
    reached = {id(span) for root in roots for span in root.below()}
    lost = sorted((span for span in spans if id(span) not in reached), key=lambda span: span.start or 0.0)
    parents = {id(child): span for span in lost for child in span.children}
    for span in lost:
        if id(span) not in reached:
            parents[id(span)].children.remove(span)
            roots.append(span)
            reached.update(id(inner) for inner in span.below())
    return len(lost)
