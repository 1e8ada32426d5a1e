"""Spans of OpenTelemetry: OTLP requests, what the SDK's ConsoleSpanExporter prints, and Phoenix's exports.

Attributes have the names of OpenInference (https://github.com/Arize-ai/openinference, spec/semantic_conventions.md) or
of the GenAI conventions (https://github.com/open-telemetry/semantic-conventions-genai); names may be dotted or nested.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragstone.datasets.tabular.cells import is_missing, listed, plain
from ragstone.datasets.tabular.traces import genai, openinference
from ragstone.datasets.tabular.traces.span import TraceSpan, first_of, json_value, seconds_of, whole

NAME = "opentelemetry"
_TRACE = ("context.trace_id", "trace_id", "traceId", "context.traceId")
_SPAN = ("context.span_id", "span_id", "spanId", "context.spanId", "id")
_PARENT = ("parent_id", "parentSpanId", "parent_span_id", "parentId")
_START = ("start_time", "startTimeUnixNano", "start_time_unix_nano", "startTime")
_END = ("end_time", "endTimeUnixNano", "end_time_unix_nano", "endTime")
_ERROR = ("ERROR", "STATUS_CODE_ERROR", "2", "StatusCode.ERROR")


def matches(columns: Sequence[str]) -> bool:
    """Whether a table with these columns has such spans."""
    if "resourceSpans" in columns:
        return True
    traced = any(name in columns for name in _TRACE) or "context" in columns
    return traced and any(name == "attributes" or name.startswith("attributes.") for name in columns)


def spans_of(where: str, cells: Mapping[str, Any]) -> Iterator[TraceSpan]:
    """The spans in a row: one, or all of an OTLP request."""
    packages = cells.get("resourceSpans")
    if not isinstance(packages, list):
        yield _span(where, cells)
        return
    for package in packages:
        for scope in _list(package, "scopeSpans") or _list(package, "instrumentationLibrarySpans"):
            for span in _list(scope, "spans"):
                if isinstance(span, dict):
                    yield _span(where, span)


def _span(where: str, cells: Mapping[str, Any]) -> TraceSpan:
    attributes = _attributes(cells)
    context = json_value(plain(cells.get("context")))
    ids = {**(context if isinstance(context, dict) else {}), **cells}
    trace, identity, parent = (
        str(first_of(ids, *names) or "").removeprefix("0x") for names in (_TRACE, _SPAN, _PARENT)
    )
    span = TraceSpan(where, trace, identity, parent, str(cells.get("name") or ""))
    span.start, span.end = seconds_of(first_of(cells, *_START)), seconds_of(first_of(cells, *_END))
    span.error = _error(cells)
    events = [event for event in _items(cells.get("events")) if isinstance(event, dict)]
    span.first_token = _first_token(span, events)
    openinference.read(span, attributes)
    genai.read(span, attributes, [(str(event.get("name")), _of_event(event)) for event in events])
    skipped = (*openinference.SKIPPED, *genai.SKIPPED)
    span.columns = {name: value for name, value in attributes.items() if not name.startswith(skipped)}
    return span


def _attributes(cells: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span under dotted names."""
    flat: dict[str, Any] = {}
    attributes = _of_event(cells)
    if isinstance(attributes, dict):
        flatten("", attributes, flat)
    for name, value in cells.items():
        if name.startswith("attributes."):
            flatten(name.removeprefix("attributes."), value, flat)
    kind = flat.get("openinference.span.kind") or cells.get("span_kind")
    if isinstance(kind, str):
        flat["openinference.span.kind"] = kind.upper()
    return flat


def _of_event(cells: Mapping[str, Any]) -> Any:
    """The attributes of a span or an event as an object."""
    attributes = plain(cells.get("attributes"))
    if isinstance(attributes, str):
        attributes = listed(attributes)
    if isinstance(attributes, list):  # OTLP: keys with typed values
        return {str(item.get("key")): _typed(item.get("value")) for item in attributes if isinstance(item, dict)}
    return attributes if isinstance(attributes, dict) else {}


def flatten(name: str, value: Any, flat: dict[str, Any]) -> None:
    """Adds nested objects and lists to `flat` under dotted names."""
    if name.startswith("embedding."):
        return
    value = plain(value)
    if isinstance(value, str) and name in ("retrieval.documents", "reranker.output_documents"):
        value = listed(value)
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            flatten(f"{name}.{key}" if name else str(key), inner, flat)
    elif isinstance(value, list) and value and any(isinstance(inner, dict | list) for inner in value):
        for place, inner in enumerate(value):
            flatten(f"{name}.{place}", inner, flat)
    elif not is_missing(value):
        flat[name] = value


def _error(cells: Mapping[str, Any]) -> str:
    """What a failed span says of its error, in a line; "" if it did not fail."""
    status = plain(cells.get("status"))
    status = status if isinstance(status, dict) else {}
    code = first_of({**status, **cells}, "code", "status_code")
    if str(code) not in _ERROR:
        return ""
    message = first_of({**status, **cells}, "message", "description", "status_message")
    for event in _items(cells.get("events")):
        if isinstance(event, dict) and event.get("name") == "exception":
            details = _of_event(event)
            kind, text = details.get("exception.type"), details.get("exception.message")
            message = f"{kind}: {text}" if kind and text else text or kind or message
    return str(message or "the span failed without a message").partition("Traceback (most recent")[0].strip()


def _first_token(span: TraceSpan, events: Sequence[Mapping[str, Any]]) -> float | None:
    """Seconds to the event that instrumentations add at the first token of a stream."""
    for event in events:
        if str(event.get("name")).lower().replace("_", " ") in ("first token stream event", "first token", "new token"):
            moment = seconds_of(first_of(event, "timeUnixNano", "timestamp", "time"))
            if moment is not None and span.start is not None:
                return max(0.0, moment - span.start)
    return None


def _typed(value: Any) -> Any:
    """The value of a typed OTLP value."""
    if not isinstance(value, dict) or not value:
        return value
    kind, inner = next(iter(value.items()))
    if kind == "intValue":
        number = whole(str(inner))
        return inner if number is None else number
    if kind == "arrayValue":
        return [_typed(item) for item in _list(inner, "values")]
    if kind == "kvlistValue":
        pairs = [item for item in _list(inner, "values") if isinstance(item, dict)]
        return {str(item.get("key")): _typed(item.get("value")) for item in pairs}
    return inner


def _list(value: Any, name: str) -> list[Any]:
    items = value.get(name) if isinstance(value, dict) else None
    return items if isinstance(items, list) else []


def _items(value: Any) -> list[Any]:
    value = json_value(plain(value))
    return value if isinstance(value, list) else []
