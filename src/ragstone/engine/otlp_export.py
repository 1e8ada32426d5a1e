"""Sends the spans of a run to an OTLP/HTTP endpoint while it runs, without ever delaying or breaking it."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from ragstone.engine.otlp_spans import request_of
from ragstone.errors import UsageError
from ragstone.messages import messages, preferred_language
from ragstone.models.network import open_session
from ragstone.runs import Outcome, Progress
from ragstone.text.redaction import redact, secrets_of, shown_url
from ragstone.types import Record

_PATH = "/v1/traces"
_BATCH, _WAITING = 64, 4096  # records in a request; records that wait for it
_TIMEOUT, _LAST = 5.0, 10.0  # seconds for a request, and for everything that is left at the end
_TRIES, _GIVEN_UP = 3, 3  # attempts for a request; failed requests after which no more are sent
_RETRIED = (429, 502, 503, 504)


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
