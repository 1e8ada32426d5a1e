"""Anthropic's message batches: requests and replies are translated from and to OpenAI's form."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragstone.models.batches.http import BatchHttp, parsed, read_lines
from ragstone.models.batches.remote import Line, Status, count
from ragstone.models.batches.store import Batch
from ragstone.models.http_errors import retry_after_seconds
from ragstone.models.wire import encode
from ragstone.text import estimate_tokens

__all__ = ["HEADERS", "MessageBatches"]

HEADERS = {"anthropic-version": "2023-06-01"}
_ANSWER_TOKENS = 4096  # a limit is required
_CACHED_FROM = 1_024  # tokens of an opening that is marked: some models keep none that is shorter, or need more
_CLOCKS = 300.0  # seconds by which the provider's clock may be behind ours
_STATES = {"in_progress": "in_progress", "canceling": "cancelling", "ended": "completed"}
_FINISHES = {"end_turn": "stop", "stop_sequence": "stop", "refusal": "content_filter"}
_STATUSES = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504,
    "overloaded_error": 529,
}  # fmt: skip


class MessageBatches:
    """`/messages/batches`. A batch has no name of ours, so one that a killed process may have started is recognised by
    its time and size, and its replies by their ids: those of a stranger's batch are not used."""

    def __init__(self, http: BatchHttp) -> None:
        self._http = http
        self.download = http.download

    def line(self, key: str, payload: Mapping[str, Any]) -> bytes:
        return encode({"custom_id": key, "params": _params(payload)})

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

    async def find(self, batch: Batch) -> str:
        document, _ = await self._http.json("GET", "messages/batches", params={"limit": "100"})
        listed = [item for item in document.get("data") or [] if isinstance(item, dict)]
        return next((self._http.id_in(item, "batch") for item in listed if _may_be(item, batch)), "")

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


def _params(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A chat request in Anthropic's form."""
    turns: Sequence[Mapping[str, Any]] = payload["messages"]
    system: Any = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    asked = [dict(turn) for turn in turns if turn["role"] != "system"]
    opening = [system, *(turn["content"] for turn in asked[:-1])]
    if (
        sum(map(estimate_tokens, opening)) >= _CACHED_FROM
    ):  # what comes before the last turn, such as a judge's examples
        if asked[1:]:
            asked[-2]["content"] = _marked(asked[-2]["content"])
        else:
            system = _marked(system)
    params: dict[str, Any] = {
        "model": payload["model"],
        "max_tokens": payload.get("max_tokens") or _ANSWER_TOKENS,
        "messages": asked,
    }
    if system:
        params["system"] = system
    params |= {name: payload[name] for name in ("temperature", "top_p") if name in payload}
    if "stop" in payload:
        params["stop_sequences"] = payload["stop"]
    if "tools" in payload:
        functions = [tool["function"] for tool in payload["tools"]]
        params["tools"] = [
            {
                "name": function["name"],
                "description": function["description"],
                "input_schema": function["parameters"],
            }
            for function in functions
        ]
        params["tool_choice"] = {"type": "tool", "name": payload["tool_choice"]["function"]["name"]}
    return params


def _marked(text: str) -> list[dict[str, Any]]:
    """A text up to whose end the provider keeps the request in its cache."""
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


def _line(item: Mapping[str, Any]) -> Line:
    name, result = str(item.get("custom_id") or ""), item.get("result")
    result = result if isinstance(result, dict) else {}
    message, error = result.get("message"), result.get("error")
    if result.get("type") == "succeeded" and isinstance(message, dict):
        return Line(name, 200, encode(_reply(message)))
    if result.get("type") == "errored" and isinstance(error, dict):
        inner = error.get("error")
        inner = inner if isinstance(inner, dict) else error
        return Line(name, _STATUSES.get(str(inner.get("type")), 500), encode({"error": inner}))
    return Line(name, 0, str(result.get("type") or "").encode())


def _reply(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as the body of a chat completion."""
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    text = "".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
    thought = "\n\n".join(str(block.get("thinking") or "") for block in blocks if block.get("type") == "thinking")
    calls = [
        {"function": {"name": block.get("name"), "arguments": json.dumps(block.get("input"), ensure_ascii=False)}}
        for block in blocks if block.get("type") == "tool_use"
    ]  # fmt: skip
    reason = message.get("stop_reason")
    said: dict[str, Any] = {"content": text}
    if thought:
        said["reasoning_content"] = thought
    if calls:
        said["tool_calls"] = calls
    return {
        "model": message.get("model"),
        "choices": [{"message": said, "finish_reason": _FINISHES.get(str(reason), reason)}],
        "usage": message.get("usage"),  # read as Anthropic counts, too
    }  # fmt: skip
