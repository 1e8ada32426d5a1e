"""Anthropic's message batches: each request and reply is that of its Messages interface (`messages_api.py`)."""

from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragstone.models.batches.http import BatchHttp, parsed, read_lines
from ragstone.models.batches.remote import Line, Status, count
from ragstone.models.batches.store import Batch
from ragstone.models.http_errors import retry_after_seconds
from ragstone.models.wire import encode

_CLOCKS = 300.0  # seconds by which the provider's clock may be behind ours
_STATES = {"in_progress": "in_progress", "canceling": "cancelling", "ended": "completed"}
_STATUSES = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip


class MessageBatches:
    """`/messages/batches`. A batch has no name of ours, so one that a killed process may have started is recognised by
    its time and size where only one can be it, otherwise by the ids of its replies, when it has them. Replies of a
    stranger's batch are not used."""

    def __init__(self, http: BatchHttp) -> None:
        self._http = http
        self.download = http.download

    def line(self, key: str, payload: Mapping[str, Any]) -> bytes:
        return encode({"custom_id": key, "params": payload})

    async def upload(self, file: Path) -> str:
        return ""

    async def create(self, batch: Batch) -> str:
        async def body() -> AsyncIterator[bytes]:
            yield b'{"requests":['
            for number, line in enumerate(read_lines(Path(batch.file))):
                yield (b"," if number else b"") + line.rstrip(b"\n")
            yield b"]}"

        document, _ = await self._http.json("POST", "messages/batches", data=body())
        return self._http.id_in(document, "batch")

    async def find(self, batch: Batch, held: Collection[str], *, rivals: bool) -> str | None:
        document, _ = await self._http.json("GET", "messages/batches", params={"limit": "100"})
        listed = [item for item in document.get("data") or [] if isinstance(item, dict) and _may_be(item, batch)]
        found = {name: item for item in listed if (name := self._http.id_in(item, "batch")) not in held}
        if len(found) == 1 and not rivals:
            return next(iter(found))
        ours = {str(parsed(line).get("custom_id")) for line in read_lines(Path(batch.file))} if found else set()
        for name, item in found.items():
            if item.get("results_url") and await self._an_id(name) in ours:
                return name
        return "" if all(item.get("results_url") for item in found.values()) else None

    async def _an_id(self, name: str) -> str:
        """The id of a request of a batch that has ended: of the first of its results."""
        first = b""
        async with self._http.reply("GET", f"messages/batches/{name}/results") as response:
            async for chunk in response.content.iter_chunked(1 << 16):
                first += chunk
                if b"\n" in first:
                    break
        return str(parsed(first.partition(b"\n")[0]).get("custom_id"))

    async def status(self, batch: Batch) -> Status:
        document, headers = await self._http.json("GET", f"messages/batches/{batch.remote}")
        counts = document.get("request_counts")
        counts = counts if isinstance(counts, dict) else {}
        state = _STATES.get(str(document.get("processing_status")), "in_progress")
        if state == "completed":  # it says of each request how it ended
            ends = {"expired": count(counts.get("expired")), "cancelled": count(counts.get("canceled"))}
            state = next((name for name in ("cancelled", "expired") if ends[name]), state)
        failed = count(counts.get("errored"))
        ended = state in ("completed", "expired", "cancelled")
        results = (f"messages/batches/{batch.remote}/results",) if ended and document.get("results_url") else ()
        return Status(state, count(counts.get("succeeded")), failed, results, retry_after=retry_after_seconds(headers))

    def lines(self, file: Path) -> Iterator[Line]:
        return map(_line, map(parsed, read_lines(file)))

    async def cancel(self, batch: Batch) -> None:
        await self._http.json("POST", f"messages/batches/{batch.remote}/cancel", data=b"{}")


def _may_be(item: Mapping[str, Any], batch: Batch) -> bool:
    """Whether a batch of the provider's list may be ours: as many requests, and made after ours was sealed."""
    counts = item.get("request_counts")
    total = sum(map(count, counts.values())) if isinstance(counts, dict) else 0
    try:
        made = datetime.fromisoformat(str(item.get("created_at")).replace("Z", "+00:00")).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):
        return False
    return total == batch.total and made >= batch.since - _CLOCKS


def _line(item: Mapping[str, Any]) -> Line:
    name, result = str(item.get("custom_id") or ""), item.get("result")
    result = result if isinstance(result, dict) else {}
    message, error = result.get("message"), result.get("error")
    if result.get("type") == "succeeded" and isinstance(message, dict):
        return Line(name, 200, encode(message))
    if result.get("type") == "errored" and isinstance(error, dict):
        inner = error.get("error")
        inner = inner if isinstance(inner, dict) else error
        return Line(name, _STATUSES.get(str(inner.get("type")), 500), encode({"error": inner}))
    return Line(name, 0, str(result.get("type") or "").encode())
