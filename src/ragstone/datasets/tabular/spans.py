"""Converts OpenInference traces (Arize Phoenix, LlamaIndex, LangChain…) to rows: question and answer of each root span,
and the documents retrieved below it.

Spans can be JSON lines, JSON or Parquet: as exported by Phoenix (columns `context.trace_id` and
`attributes.input.value`), as printed by the SDK (`context`, `attributes`), or OTLP (`resourceSpans`). Attribute names
may be dotted or nested.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ragstone.datasets.tabular.cells import is_missing, listed, plain, scalar
from ragstone.datasets.tabular.problems import warning
from ragstone.datasets.tabular.rows import DataRow, Rows

__all__ = ["are_spans", "spans_as_rows"]

_TRACE = ("context.trace_id", "trace_id", "traceId", "context.traceId")
_SPAN = ("context.span_id", "span_id", "spanId", "context.spanId", "id")
_PARENT = ("parent_id", "parentSpanId", "parent_span_id", "parentId")
_START = ("start_time", "startTimeUnixNano", "start_time_unix_nano", "startTime")
_END = ("end_time", "endTimeUnixNano", "end_time_unix_nano", "endTime")
_DOCUMENT = re.compile(
    r"(?P<list>retrieval\.documents|reranker\.output_documents)\.(?P<place>\d+)\.document\.(?P<what>content|id|score|metadata)"
)
_ASKED = ("question", "query", "user_input", "input", "user_query", "user_message", "query_str", "prompt", "text",
          "message", "content")  # fmt: skip
_ANSWERED = ("answer", "response", "output", "result", "output_text", "content", "text", "generation", "message")
_MAPPING = {"question": "input.value", "answer": "output.value", "contexts": "retrieval.documents", "id": "trace_id"}
_SKIPPED = ("input.", "output.", "llm.input_messages", "llm.output_messages", "retrieval.", "reranker.", "embedding.",
            "llm.tools", "llm.prompt_template")  # fmt: skip


@dataclass(slots=True)
class TraceSpan:
    """A span with dotted attribute names."""

    where: str
    trace: str
    id: str
    parent: str
    name: str
    start: Any
    end: Any
    attributes: dict[str, Any]
    children: list["TraceSpan"] = field(default_factory=list)


def are_spans(columns: Sequence[str]) -> bool:
    """Whether a table with these columns has spans."""
    if "resourceSpans" in columns:
        return True
    traced = any(name in columns for name in _TRACE) or "context" in columns
    return traced and any(name == "attributes" or name.startswith("attributes.") for name in columns)


def spans_as_rows(rows: Rows) -> Rows:
    """One row for each root span with a question, in the order of the file."""
    spans: list[TraceSpan] = []
    problems: list[DataRow] = []
    for row in rows.take():
        if row.problem:
            problems.append(row)
            continue
        try:
            spans.extend(_spans(row))
        except RecursionError:
            problems.append(DataRow(row.where, {}, "is nested too deeply to be read."))
    roots = _roots(spans)
    several: dict[str, int] = {}
    result: list[DataRow] = []
    for root in roots:
        cells = _cells(root)
        if cells is None:
            continue
        several[root.trace] = several.get(root.trace, 0) + 1
        number = several[root.trace]
        cells["trace_id"] = root.trace if number == 1 else f"{root.trace}/{number}"
        result.append(DataRow(root.where, cells))
    lost = len(spans) - sum(1 for root in roots for _ in _below(root))
    if lost:
        rows.raw.warnings.append(warning("span_circle", count=lost, total=len(spans)))
    left = len(roots) - len(result)
    if left:
        rows.raw.warnings.append(warning("no_input", count=left, total=len(roots)))
    return rows.instead([*problems, *result], schema="openinference", mapping=_MAPPING)


def _spans(row: DataRow) -> Iterator[TraceSpan]:
    """The spans in a row: one, or all of an OTLP request."""
    packages = row.cells.get("resourceSpans")
    if not isinstance(packages, list):
        yield _span(row.where, row.cells)
        return
    for package in packages:
        for scope in _list(package, "scopeSpans") or _list(package, "instrumentationLibrarySpans"):
            for span in _list(scope, "spans"):
                if isinstance(span, dict):
                    yield _span(row.where, span)


def _span(where: str, cells: Mapping[str, Any]) -> TraceSpan:
    flat: dict[str, Any] = {}
    attributes = plain(cells.get("attributes"))
    if isinstance(attributes, str):
        attributes = listed(attributes)
    if isinstance(attributes, list):  # OTLP: keys with typed values
        attributes = {
            str(attribute.get("key")): _otlp(attribute.get("value"))
            for attribute in attributes
            if isinstance(attribute, dict)
        }
    if isinstance(attributes, dict):
        _flatten("", attributes, flat)
    for name, value in cells.items():
        if name.startswith("attributes."):
            _flatten(name.removeprefix("attributes."), value, flat)
    context = plain(cells.get("context"))
    ids = {**(context if isinstance(context, dict) else {}), **cells}
    kind = flat.get("openinference.span.kind") or cells.get("span_kind")
    if isinstance(kind, str):
        flat["openinference.span.kind"] = kind.upper()
    trace, span, parent = (str(_first(ids, names) or "") for names in (_TRACE, _SPAN, _PARENT))
    return TraceSpan(
        where, trace, span, parent, str(cells.get("name") or ""), _first(ids, _START), _first(ids, _END), flat
    )


def _roots(spans: Sequence[TraceSpan]) -> list[TraceSpan]:
    """The spans without a parent in the data; links children to their parents."""
    known = {(span.trace, span.id): span for span in spans if span.id}
    roots = []
    for span in spans:
        parent = known.get((span.trace, span.parent)) if span.parent else None
        if parent is None or parent is span:
            roots.append(span)
        else:
            parent.children.append(span)
    return roots


def _below(root: TraceSpan) -> Iterator[TraceSpan]:
    """The span and its descendants: parents before children, siblings by start time."""
    waiting = [root]
    while waiting:
        span = waiting.pop()
        yield span
        waiting.extend(sorted(span.children, key=lambda child: _moment(child.start), reverse=True))


def _cells(root: TraceSpan) -> dict[str, Any] | None:
    """The cells of a root span's row; None if neither it nor a descendant has a question."""
    spans = list(_below(root))
    question_span = next((span for span in spans if _question_of(span) is not None), None)
    if question_span is None:
        return None
    answered = next((span for span in (root, question_span, *reversed(spans)) if _answered(span) is not None), None)
    cells: dict[str, Any] = {
        "input.value": _question_of(question_span),
        "output.value": None if answered is None else _answered(answered),
        "retrieval.documents": _documents(spans)
        or None,  # an empty list leaves no attribute: it may be that none was kept
    }
    cells |= {name: value for name, value in root.attributes.items() if not name.startswith(_SKIPPED)}
    cells["name"] = root.name
    models = [span.attributes["llm.model_name"] for span in spans if "llm.model_name" in span.attributes]
    if models:
        cells["model"] = models[-1]
    if (seconds := _seconds(root)) is not None:
        cells["seconds"] = seconds
    return cells


def _documents(spans: Iterable[TraceSpan]) -> list[dict[str, Any]]:
    """The retrieved documents without duplicates: the output of the last reranker if there is one, else of all
    retrievers in order of time."""
    retrieved: list[dict[str, Any]] = []
    reranked: list[dict[str, Any]] = []
    for span in spans:
        lists: dict[str, dict[int, dict[str, Any]]] = {}
        for name, value in span.attributes.items():
            if (match := _DOCUMENT.match(name)) is not None:
                document = lists.setdefault(match["list"], {}).setdefault(int(match["place"]), {})
                _put(document, match["what"], name[match.end() :].removeprefix("."), value)
        for kind, items in lists.items():
            documents = [items[place] for place in sorted(items)]
            if kind.startswith("reranker"):
                reranked = documents
            else:
                retrieved.extend(documents)
    by_key: dict[tuple[str, str], dict[str, Any]] = {}
    for document in reranked or retrieved:
        by_key.setdefault((str(document.get("id")), str(document.get("text"))), document)
    return list(by_key.values())


def _put(document: dict[str, Any], what: str, inner: str, value: Any) -> None:
    if what != "metadata":
        document["text" if what == "content" else what] = value
        return
    if not inner:
        value = _json(value)
        document.setdefault("metadata", {}).update(value if isinstance(value, dict) else {})
    else:
        document.setdefault("metadata", {})[inner] = value


def _question_of(span: TraceSpan) -> Any:
    """The question of a span, a text or a list of messages; None if it has none."""
    value = _json(span.attributes.get("input.value"))
    if isinstance(value, dict):
        messages = value.get("messages")
        if isinstance(messages, list) and messages:
            return _messages(messages)
        return _text_under(value, _ASKED)
    if isinstance(value, list) and value and all(isinstance(turn, (dict, list)) for turn in value):
        return _messages(value)
    return value if isinstance(value, str) and value.strip() else None


def _answered(span: TraceSpan) -> str | None:
    value = _json(span.attributes.get("output.value"))
    if isinstance(value, dict):
        messages = value.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[-1], dict):
            return _text_under(messages[-1], ("content",))
        return _text_under(value, _ANSWERED)
    return value if isinstance(value, str) else None


def _text_under(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The text under the first of these names, or nested one level below it; else the only text; else all as JSON."""
    for name in names:
        inner = value.get(name)
        if isinstance(inner, str) and inner.strip():
            return inner
        if isinstance(inner, dict) and (
            nested_text := next((inner[key] for key in names if isinstance(inner.get(key), str)), None)
        ):
            return str(nested_text)
    texts = [inner for inner in value.values() if isinstance(inner, str) and inner.strip()]
    return texts[0] if len(texts) == 1 else json.dumps(value, ensure_ascii=False) if value else None


def _messages(messages: list[Any]) -> list[Any]:
    """Messages as objects: some programs log [role, content] pairs, or a list inside a list."""
    if (
        len(messages) == 1
        and isinstance(messages[0], list)
        and all(isinstance(message, dict) for message in messages[0])
    ):
        messages = messages[0]
    return [
        {"role": turn[0], "content": turn[1]} if isinstance(turn, list) and len(turn) == 2 else turn
        for turn in messages
    ]


def _json(value: Any) -> Any:
    """The list or object that a text encodes as JSON; otherwise the value itself."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, (dict, list)) else value


def _flatten(name: str, value: Any, flat: dict[str, Any]) -> None:
    """Adds nested objects and lists to `flat` under dotted names."""
    if name.startswith("embedding."):
        return
    value = plain(value)
    if isinstance(value, str) and name in ("retrieval.documents", "reranker.output_documents"):
        value = listed(value)
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            _flatten(f"{name}.{key}" if name else str(key), inner, flat)
    elif isinstance(value, list) and value and any(isinstance(inner, (dict, list)) for inner in value):
        for place, inner in enumerate(value):
            _flatten(f"{name}.{place}", inner, flat)
    elif not is_missing(value):
        flat[name] = value


def _otlp(value: Any) -> Any:
    """The value of a typed OTLP value."""
    if not isinstance(value, dict) or not value:
        return value
    kind, inner = next(iter(value.items()))
    if kind == "intValue":
        return int(inner) if str(inner).lstrip("-").isdigit() else inner
    if kind == "arrayValue":
        return [_otlp(item) for item in _list(inner, "values")]
    if kind == "kvlistValue":
        return {
            str(item.get("key")): _otlp(item.get("value")) for item in _list(inner, "values") if isinstance(item, dict)
        }
    return inner


def _list(value: Any, name: str) -> list[Any]:
    items = value.get(name) if isinstance(value, dict) else None
    return items if isinstance(items, list) else []


def _first(cells: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((plain(cells[name]) for name in names if name in cells and not is_missing(cells[name])), None)


def _moment(value: Any) -> tuple[float, str]:
    """A sort key for a time: nanoseconds as a number, ISO times as text."""
    value = scalar(value)
    if isinstance(value, str) and not value.isdigit():
        return 0.0, value
    return (float(value), "") if value is not None else (0.0, "")


def _seconds(span: TraceSpan) -> float | None:
    start, end = scalar(span.start), scalar(span.end)
    if start is None or end is None:
        return None
    try:
        if str(start).isdigit() and str(end).isdigit():
            return (int(end) - int(start)) / 1e9
        return (datetime.fromisoformat(str(end)) - datetime.fromisoformat(str(start))).total_seconds()
    except (ValueError, TypeError):
        return None
