"""Anthropic's own Messages interface: requests and replies are translated from and to OpenAI's form, for single
requests and for batches. No I/O happens here.

Unlike its OpenAI-compatible interface it keeps the beginnings of prompts, where they are marked. A mark stands at the
end of what comes before the last turn, such as the instruction and the examples of a judge.
"""

import asyncio
import hashlib
import json
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from ragstone.models.wire import encode, parse
from ragstone.text import estimate_tokens

HEADERS = {"anthropic-version": "2023-06-01"}
# Tokens of answer and thinking together, where the request sets no limit: the interface requires one.
_ANSWER_TOKENS = 16_000
_MARK = {"cache_control": {"type": "ephemeral"}}
_MOST_OPENINGS = 10_000
KEPT_SECONDS = 300.0  # after each use, a beginning is kept so long
_LONGEST_WAIT = 30.0  # seconds for another request: one that hangs would take the time of all others
_FINISHES = {"end_turn": "stop", "stop_sequence": "stop", "refusal": "content_filter"}


class _Message(msgspec.Struct):
    content: list[dict[str, Any]]
    stop_reason: str | None = None
    model: str | None = None
    usage: Any = None


class Openings:
    """What prompts of one model began with. Tokens that are written to the cache cost a quarter more than others, so
    that a beginning is marked from the second time on, and the others wait for one that writes it."""

    def __init__(self, least: int, *, wait: float = _LONGEST_WAIT, clock: Callable[[], float] = time.monotonic) -> None:
        """`least`: the tokens from which the model keeps a beginning. `wait`: the seconds after which a request goes
        out although nothing was written yet."""
        self._least, self._wait, self._clock = least, wait, clock
        self._seen: set[bytes] = set()
        self._turns: dict[bytes, asyncio.Lock] = {}
        self._used: dict[bytes, float] = {}  # when a request with this beginning was sent that had a reply

    def are_kept(self, opening: Sequence[str]) -> bool:
        """Whether the texts before the last turn are long enough for this model, and came before."""
        if sum(map(estimate_tokens, opening)) < self._least:
            return False
        digest = hashlib.sha256(encode(opening)).digest()
        if digest in self._seen:
            return True
        if len(self._seen) < _MOST_OPENINGS:
            self._seen.add(digest)
        return False

    @asynccontextmanager
    async def turn(self, payload: Mapping[str, Any]) -> AsyncIterator[None]:
        """Inside, the request is sent and its reply read. Of the requests with a marked beginning that the provider
        does not have, one goes first and the others wait for its reply: each of them would write it to the cache. If
        the first fails, the next one goes first."""
        names = ("system", "tools", "output_config")
        opening = encode([payload["messages"][:-1], *(payload.get(name) for name in names)])
        if b'"cache_control":' not in opening:
            yield
            return
        digest = hashlib.sha256(opening).digest()
        turns = self._turns.setdefault(digest, asyncio.Lock())
        leads = not self._is_written(digest) and await self._first(turns)
        try:
            if leads and self._is_written(digest):
                turns.release()
                leads = False
            started = self._clock()
            yield
            self._used[digest] = started
        finally:
            if leads:
                turns.release()

    def _is_written(self, digest: bytes) -> bool:
        return self._clock() - self._used.get(digest, -math.inf) < KEPT_SECONDS

    async def _first(self, turns: asyncio.Lock) -> bool:
        """Waits for the turn to go first; False if that takes too long."""
        try:
            async with asyncio.timeout(self._wait):
                return await turns.acquire()
        except TimeoutError:
            return False


def messages_payload(payload: Mapping[str, Any], openings: Openings) -> dict[str, Any]:
    """The body of a chat request as the body of a request for a message.

    As in Anthropic's compatible interface, a temperature above 1 becomes 1, ends of blanks alone are left out, and so
    are seeds."""
    turns: Sequence[Mapping[str, Any]] = payload["messages"]
    system: Any = "\n\n".join(turn["content"] for turn in turns if turn["role"] == "system")
    messages = [dict(turn) for turn in turns if turn["role"] != "system"]
    form = _form(payload)
    if openings.are_kept([json.dumps(form) if form else "", system, *(turn["content"] for turn in messages[:-1])]):
        if messages[1:]:
            messages[-2]["content"] = _marked(messages[-2]["content"])
        elif system:  # an empty text may not be marked
            system = _marked(system)
    request = {
        "model": payload["model"], "max_tokens": payload.get("max_tokens") or _ANSWER_TOKENS, "messages": messages,
    }  # fmt: skip
    if system:
        request["system"] = system
    if "temperature" in payload:
        request["temperature"] = min(1.0, payload["temperature"])
    if "top_p" in payload:
        request["top_p"] = payload["top_p"]
    if stops := [text for text in payload.get("stop", ()) if text.strip()]:
        request["stop_sequences"] = stops
    return request | form


def _form(payload: Mapping[str, Any]) -> dict[str, Any]:
    """How the schema of the reply is asked for, outside the messages."""
    if "tools" in payload:
        (function,) = (tool["function"] for tool in payload["tools"])
        tool = {
            "name": function["name"], "description": function["description"], "input_schema": function["parameters"],
        }  # fmt: skip
        return {"tools": [tool], "tool_choice": {"type": "tool", "name": function["name"]}}
    asked = payload.get("response_format", {})
    if asked.get("type") != "json_schema":
        return {}
    return {"output_config": {"format": {"type": "json_schema", "schema": asked["json_schema"]["schema"]}}}


def _marked(text: str) -> list[dict[str, Any]]:
    """A text up to whose end the provider keeps the request."""
    return [{"type": "text", "text": text, **_MARK}]


def as_chat(body: bytes, where: str) -> bytes:
    """The body of a message as the body of a chat completion. Raises `BadReply` for anything but a message."""
    message = parse(body, _Message, where)
    texts = [str(block.get("text") or "") for block in message.content if block.get("type") == "text"]
    thoughts = [str(block.get("thinking") or "") for block in message.content if block.get("type") == "thinking"]
    calls = [
        {"function": {"name": block.get("name"), "arguments": json.dumps(block.get("input"), ensure_ascii=False)}}
        for block in message.content if block.get("type") == "tool_use"
    ]  # fmt: skip
    said: dict[str, Any] = {"content": "".join(texts), "reasoning_content": "\n\n".join(filter(None, thoughts))}
    if calls:
        said["tool_calls"] = calls
    reason = message.stop_reason or ""
    return encode({
        "model": message.model,
        "choices": [{"message": said, "finish_reason": _FINISHES.get(reason, reason)}],
        "usage": message.usage,  # read as Anthropic counts, too
    })  # fmt: skip
