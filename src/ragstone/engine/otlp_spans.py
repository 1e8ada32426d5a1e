"""The spans of an answer, as OTLP JSON with OpenInference's attributes
(https://github.com/Arize-ai/openinference, spec/semantic_conventions.md)."""

import importlib.metadata
import json
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragstone.responses.stages import passages_at
from ragstone.types import NO_ANSWER, Passage, Record, Response, Step, Turn, Usage

_SCORE = "gen_ai.evaluation.result"  # the event of the GenAI conventions for a score
_OK, _ERROR = 1, 2


def request_of(records: Iterable[Record]) -> dict[str, Any]:
    """An OTLP request with the spans of these records."""
    spans = [span for record in records for span in spans_of(record)]
    version = importlib.metadata.version("ragstone")
    resource = {"attributes": _attributes({"service.name": "ragstone", "service.version": version})}
    scope = {"name": "ragstone", "version": version}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]}


def spans_of(record: Record) -> list[dict[str, Any]]:
    """A chain as the root, and below it a retriever, a reranker and a model, as far as the response has them. The
    scores are attributes of the root, and events of it. They end now."""
    response = record.response
    end = time.time()
    start = end - ((response.seconds if response else None) or 0.0)
    trace, root = secrets.token_hex(16), secrets.token_hex(8)
    attributes = _root(record) | {f"ragstone.score.{name}": score.value for name, score in record.scores.items()}
    events = [
        {"name": _SCORE, "timeUnixNano": _nanoseconds(end), "attributes": _attributes({
            "gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": score.value,
            "gen_ai.evaluation.explanation": score.reason or None})}
        for name, score in record.scores.items()
    ]  # fmt: skip
    spans = [_span(trace, root, "", "ragstone", start, end, attributes)]
    spans[0] |= {
        "events": events,
        "status": {"code": _ERROR, "message": record.error} if record.error else {"code": _OK},
    }
    at = start
    for name, seconds, inner in _children(record, response) if response else ():
        until = end if seconds is None else min(end, at + seconds)
        spans.append(_span(trace, secrets.token_hex(8), root, name, at, until, inner))
        at = until
    return spans


def _root(record: Record) -> dict[str, Any]:
    query, response = record.case.query, record.response
    asked: dict[str, Any] = {"input.value": query.question}
    if query.history:
        turns = [*query.history, Turn("user", query.question)]
        messages = [{"role": turn.role, "content": turn.content} for turn in turns]
        asked = {"input.value": _json({"messages": messages}), "input.mime_type": "application/json"}
    answered = response is not None and response.finish_reason != NO_ANSWER
    return {
        "openinference.span.kind": "CHAIN", **asked,
        "output.value": response.answer if response is not None and answered else None,
        "ragstone.system": record.system_id, "ragstone.case.id": record.case.id,
        "ragstone.sample.id": record.case.sample.id,
        **{f"ragstone.condition.{name}": value for name, value in record.case.condition.items()},
    }  # fmt: skip


def _children(record: Record, response: Response) -> Iterable[tuple[str, float | None, dict[str, Any]]]:
    """(name, seconds, attributes) of the spans below the root."""
    question = record.case.query.question
    fetched, reranked, prompted = (passages_at(response, name) for name in ("fetch", "rerank", "prompt"))
    if fetched is None and (response.passages or response.empty_retrieval):
        fetched = response.passages
    if fetched is not None:
        step = _step(response, "fetch")
        searched = step.input if step is not None and isinstance(step.input, str) else question
        found = {"openinference.span.kind": "RETRIEVER", "input.value": searched}
        found |= _documents("retrieval.documents", fetched) or {"output.value": _json({"documents": []})}
        yield "retrieve", step.seconds if step is not None else 0.0, found
    if reranked is not None:
        step = _step(response, "rerank")
        ranked = {"openinference.span.kind": "RERANKER", "reranker.query": question}
        ranked |= _documents("reranker.output_documents", reranked)
        yield "rerank", step.seconds if step is not None else 0.0, ranked
    if response.finish_reason != NO_ANSWER:
        given = prompted if prompted is not None else record.case.query.passages or ()
        yield "generate", None, _model(question, given, response)


def _model(question: str, given: Sequence[Passage], response: Response) -> dict[str, Any]:
    """The call of the model: what it was given is told, not the words of the prompt, which are not recorded."""
    usage = response.usage or Usage()
    counts = {
        "llm.token_count.prompt": usage.prompt_tokens, "llm.token_count.completion": usage.completion_tokens,
        "llm.token_count.total": usage.prompt_tokens + usage.completion_tokens,
        "llm.token_count.prompt_details.cache_read": usage.cached_tokens,
    }  # fmt: skip
    if usage.written_tokens:
        counts["llm.token_count.prompt_details.cache_write"] = usage.written_tokens
    asked = {"question": question, "passages": [passage.text for passage in given]}
    return {
        "openinference.span.kind": "LLM", "input.value": _json(asked), "input.mime_type": "application/json",
        "output.value": response.answer, "llm.model_name": response.model or None,
        **(counts if response.usage is not None else {}),
    }  # fmt: skip


def _documents(name: str, passages: Sequence[Passage]) -> dict[str, Any]:
    return {
        f"{name}.{place}.document.{key}": value
        for place, passage in enumerate(passages)
        for key, value in (
            ("id", passage.id), ("content", passage.text), ("score", passage.score),
            ("metadata", _json(passage.meta) if passage.meta else None),
        )
    }  # fmt: skip


def _step(response: Response, name: str) -> Step | None:
    return next((step for step in reversed(response.steps) if step.name == name), None)


def _span(
    trace: str, identity: str, parent: str, name: str, start: float, end: float, attributes: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "traceId": trace, "spanId": identity, **({"parentSpanId": parent} if parent else {}), "name": name, "kind": 1,
        "startTimeUnixNano": _nanoseconds(start), "endTimeUnixNano": _nanoseconds(end),
        "attributes": _attributes(attributes), "status": {"code": _OK},
    }  # fmt: skip


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _typed(value)} for name, value in values.items() if value is not None]


def _typed(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}


def _nanoseconds(seconds: float) -> str:
    return str(int(seconds * 1e9))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
