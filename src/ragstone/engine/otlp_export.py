"""Sends the spans of a run to an OTLP/HTTP endpoint while it runs, without ever delaying or breaking it: OTLP JSON with
OpenInference's attributes (https://github.com/Arize-ai/openinference, spec/semantic_conventions.md)."""

import asyncio
import contextlib
import importlib.metadata
import json
import os
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from ragstone.errors import UsageError
from ragstone.messages import messages, preferred_language
from ragstone.models.network import open_session
from ragstone.responses.stages import passages_at
from ragstone.runs import Outcome, Progress
from ragstone.text.redaction import redact, secrets_of, shown_url
from ragstone.types import NO_ANSWER, Passage, Record, Response, Step, Turn, Usage

_PATH = "/v1/traces"
_BATCH, _WAITING = 64, 4096  # records in a request; records that wait for it
_TIMEOUT, _LAST = 5.0, 10.0  # seconds for a request, and for everything that is left at the end
_TRIES, _GIVEN_UP = 3, 3  # attempts for a request; failed requests after which no more are sent
_RETRIED = (429, 502, 503, 504)
_SCORE = "gen_ai.evaluation.result"  # the event of the GenAI conventions for a score
_OK, _ERROR = 1, 2


class Export:
    """A `Progress` that also queues each record for export. `sent` and `lost` count records."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self.queue = progress, asyncio.Queue[Record | None](_WAITING)
        self.sent = self.lost = 0
        self.reason = ""

    def start(self, total: int | None, done: int = 0) -> None:
        if self._progress is not None:
            self._progress.start(total, done)

    def already(self, count: int) -> None:
        if self._progress is not None:
            self._progress.already(count)

    def case_done(self, record: Record, *, free: bool = False) -> None:
        if self._progress is not None:
            self._progress.case_done(record, free=free)
        try:
            self.queue.put_nowait(record)
        except asyncio.QueueFull:
            self.lost += 1

    def finish(self, outcome: Outcome | None) -> None:
        if self._progress is not None:
            self._progress.finish(outcome)

    def note(self, url: str) -> str:
        """What was lost, in a line; "" if nothing was."""
        if not self.lost:
            return ""
        texts = messages(__name__, preferred_language())
        total = self.sent + self.lost
        return texts["lost"].format(url=shown_url(url), lost=self.lost, total=total, reason=self.reason or "-")


@contextlib.asynccontextmanager
async def exporting(url: str, progress: Progress | None) -> AsyncIterator[Export]:
    """Exports while the block runs, and at its end what is left, for a few seconds at most. `url`: the endpoint, with
    or without /v1/traces; headers are those of OTEL_EXPORTER_OTLP_HEADERS. Raises UsageError for what is no address."""
    target = _target(url)
    headers = _headers(os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""))
    export = Export(progress)
    session, options = open_session(target, "", connections=2, timeout=_TIMEOUT)
    options["headers"] = {**options.get("headers", {}), **headers}
    task = asyncio.create_task(_work(export, session, target, options))
    try:
        yield export
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST):
                await export.queue.put(None)
                await task
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        export.lost += sum(export.queue.get_nowait() is not None for _ in range(export.queue.qsize()))
        await session.close()


async def _work(export: Export, session: Any, target: str, options: dict[str, Any]) -> None:
    """Sends batches until the end of the queue."""
    failures = 0
    ended = False
    while not ended:
        batch: list[Record] = []
        item = await export.queue.get()
        while item is not None:
            batch.append(item)
            if len(batch) == _BATCH or export.queue.empty():
                break
            item = export.queue.get_nowait()
        ended = item is None
        if not batch:
            continue
        sent = False
        try:
            sent = failures < _GIVEN_UP and await _post(export, session, target, options, batch)
        finally:
            export.sent, export.lost = export.sent + len(batch) * sent, export.lost + len(batch) * (not sent)
        failures = 0 if sent else failures + 1


async def _post(export: Export, session: Any, target: str, options: dict[str, Any], batch: list[Record]) -> bool:
    """Whether the endpoint took a batch."""
    body = await asyncio.to_thread(lambda: json.dumps(request_of(batch)).encode())
    for attempt in range(_TRIES):
        try:
            async with session.post(target, data=body, **options) as reply:
                if reply.status < 300:
                    return True
                export.reason = f"HTTP {reply.status}"
                if reply.status not in _RETRIED:
                    return False
        except Exception as error:  # whatever goes wrong with an endpoint, the run goes on
            text = redact(str(error) or type(error).__name__, secrets_of(target), keys=True)
            export.reason = " ".join(text.split())[:200]
        if attempt + 1 < _TRIES:
            await asyncio.sleep(0.2 * 4**attempt)
    return False


def _target(url: str) -> str:
    """The address that requests are sent to."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(
            f"--otlp {shown_url(url)} is no address: expected http://HOST:PORT, such as http://127.0.0.1:4318."
        )
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith(_PATH) else path + _PATH))


def _headers(text: str) -> dict[str, str]:
    """The headers in `name=value,name=value`, as OpenTelemetry's environment variable has them."""
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs if name.strip()}


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
