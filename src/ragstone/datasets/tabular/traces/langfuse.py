"""Langfuse's exports (https://api.reference.langfuse.com): observations, or traces with or without their observations,
as JSON, JSON lines or CSV; names in camel or snake case."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragstone.datasets.tabular.cells import plain
from ragstone.datasets.tabular.traces.messages import question_in, texts_in
from ragstone.datasets.tabular.traces.span import Kind, TraceSpan, first_of, json_value, passages_in, seconds_of, tokens
from ragstone.datasets.tabular.words import plain_name

NAME = "langfuse"
_KINDS: dict[str, Kind] = {"RETRIEVER": "retriever", "GENERATION": "llm", "TOOL": "tool"}
_TRACE = {"id", "timestamp", "input", "output", "session_id", "user_id"}
_TRACE_SIGNS = {"bookmarked", "environment", "public", "release"}  # other logs have the names above, too
_OBSERVATION = {"trace_id", "parent_observation_id"}


def matches(columns: Sequence[str]) -> bool:
    """Whether a table with these columns has traces or observations."""
    names = {plain_name(column) for column in columns}
    is_trace = names >= _TRACE and bool(names & _TRACE_SIGNS)
    return names >= _OBSERVATION or is_trace or names >= {"id", "name", "observations", "timestamp"}


def spans_of(where: str, cells: Mapping[str, Any]) -> Iterator[TraceSpan]:
    """The span of an observation; or those of a trace: a root, and below it its observations."""
    record = _snake(cells)
    if "trace_id" in record or "parent_observation_id" in record:
        yield _observation(where, record)
        return
    root = _span(where, record, str(record.get("id") or ""), "")
    root.id = f"trace:{root.trace}"
    yield root
    observations = json_value(plain(record.get("observations")))
    for item in observations if isinstance(observations, list) else ():
        if isinstance(item, dict):
            span = _observation(where, {"trace_id": root.trace, **_snake(item)})
            span.parent = span.parent or root.id
            span.session = span.session or root.session
            yield span


def _observation(where: str, record: Mapping[str, Any]) -> TraceSpan:
    span = _span(where, record, str(record.get("trace_id") or ""), str(first_of(record, "parent_observation_id") or ""))
    span.kind = _KINDS.get(str(record.get("type")).upper(), "")
    if str(record.get("level")).upper() == "ERROR":
        span.error = str(first_of(record, "status_message") or "the observation failed without a message")
    span.model = str(first_of(record, "model", "provided_model_name") or "")
    if span.kind in ("retriever", "tool"):
        span.passages = passages_in(span.output)
        query = question_in(span.input)
        span.query = query if isinstance(query, str) else ""
    if span.kind == "llm":
        span.prompt = texts_in(span.input)
        counts = (json_value(plain(record.get(name))) for name in ("usage_details", "usage"))
        counted = next((count for count in counts if isinstance(count, dict) and count), None)
        source, more = (record, "_usage") if counted is None else (counted, "")
        span.usage = tokens(
            first_of(source, f"input{more}", "prompt_tokens", "promptTokens", "input_tokens"),
            first_of(source, f"output{more}", "completion_tokens", "completionTokens", "output_tokens"),
        )
        first = seconds_of(record.get("completion_start_time"))
        span.first_token = None if first is None or span.start is None else max(0.0, first - span.start)
    return span


def _span(where: str, record: Mapping[str, Any], trace: str, parent: str) -> TraceSpan:
    span = TraceSpan(where, trace, str(record.get("id") or ""), parent, str(record.get("name") or ""))
    span.start = seconds_of(first_of(record, "start_time", "timestamp"))
    span.end = seconds_of(record.get("end_time"))
    span.input, span.output = (json_value(plain(record.get(name))) for name in ("input", "output"))
    span.session = str(first_of(record, "session_id") or "")
    metadata = json_value(plain(record.get("metadata")))
    span.columns = {
        **(metadata if isinstance(metadata, dict) else {}),
        **{name: record[name] for name in ("user_id", "environment", "release", "version") if record.get(name)},
    }
    return span


def _snake(record: Mapping[str, Any]) -> dict[str, Any]:
    return {plain_name(str(name)): value for name, value in record.items()}
