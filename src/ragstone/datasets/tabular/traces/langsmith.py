"""LangSmith's runs (https://docs.langchain.com/langsmith/run-data-format): JSON, JSON lines or CSV, flat or nested."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragstone.datasets.tabular.cells import plain
from ragstone.datasets.tabular.traces.messages import question_in, texts_in, turns_in
from ragstone.datasets.tabular.traces.span import Kind, TraceSpan, first_of, json_value, passages_in, seconds_of, tokens

NAME = "langsmith"
_KINDS: dict[str, Kind] = {"retriever": "retriever", "llm": "llm", "tool": "tool"}
_THREADS = ("session_id", "thread_id", "conversation_id")  # of the metadata; a run's own session_id is its project


def matches(columns: Sequence[str]) -> bool:
    """Whether a table with these columns has such runs."""
    return {"run_type", "inputs"} <= set(columns)


def spans_of(where: str, cells: Mapping[str, Any]) -> Iterator[TraceSpan]:
    """The spans of a run: itself, and the runs nested in it."""
    waiting: list[tuple[Mapping[str, Any], str, str]] = [(cells, "", "")]
    while waiting:
        run, trace, parent = waiting.pop()
        span = _span(where, run, trace, parent)
        yield span
        children = json_value(plain(run.get("child_runs")))
        listed = children if isinstance(children, list) else []
        waiting.extend((child, span.trace, span.id) for child in listed if isinstance(child, dict))


def _span(where: str, run: Mapping[str, Any], trace: str, parent: str) -> TraceSpan:
    identity = str(run.get("id") or run.get("run_id") or "")
    parent = str(first_of(run, "parent_run_id") or parent or _parent_in(run.get("dotted_order")))
    span = TraceSpan(where, str(first_of(run, "trace_id") or trace or identity), identity, parent)
    span.name, span.kind = str(run.get("name") or ""), _KINDS.get(str(run.get("run_type")).lower(), "")
    span.start, span.end = seconds_of(run.get("start_time")), seconds_of(run.get("end_time"))
    span.input, span.output = json_value(plain(run.get("inputs"))), json_value(plain(run.get("outputs")))
    span.error = str(first_of(run, "error") or "").partition("Traceback (most recent")[0].strip()
    extra = json_value(plain(run.get("extra")))
    metadata = json_value(first_of(extra, "metadata")) if isinstance(extra, dict) else None
    metadata = metadata if isinstance(metadata, dict) else {}
    span.session = str(first_of(metadata, *_THREADS) or "")
    span.columns = {"run_type": run.get("run_type"), **metadata}
    if span.kind in ("retriever", "tool"):
        span.passages = passages_in(span.output, ("documents", "output", "results"))
        query = question_in(span.input)
        span.query = query if isinstance(query, str) else ""
    if span.kind == "llm":
        _read_model(span, run, metadata)
    return span


def _read_model(span: TraceSpan, run: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    inputs = span.input if isinstance(span.input, dict) else {}
    turns = turns_in(inputs.get("messages"))
    span.prompt = "\n".join(turn["content"] for turn in turns) if turns else texts_in(span.input)
    outputs = span.output if isinstance(span.output, dict) else {}
    details = outputs.get("llm_output")
    counted = (details.get("token_usage") if isinstance(details, dict) else None) or outputs.get("usage_metadata") or {}
    counts = {**(counted if isinstance(counted, dict) else {}), **run}
    span.usage = tokens(
        first_of(counts, "prompt_tokens", "input_tokens"), first_of(counts, "completion_tokens", "output_tokens")
    )
    span.model = str(first_of(metadata, "ls_model_name") or "")
    first = seconds_of(run.get("first_token_time"))
    if first is not None and span.start is not None:
        span.first_token = max(0.0, first - span.start)


def _parent_in(dotted: Any) -> str:
    """The id of the parent in a dotted order, such as `20260102T030405000000ZID.20260102T030405100000ZID`."""
    parts = str(dotted or "").split(".")
    return parts[-2].partition("Z")[2] if len(parts) > 1 else ""
