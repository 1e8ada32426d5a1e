"""Anthropic's own Messages interface: requests and replies are translated from and to OpenAI's form, for single
requests and for batches. No I/O happens here.

Unlike its OpenAI-compatible interface it keeps the beginnings of prompts, where they are marked. A mark stands at the
end of what comes before the last turn, such as the instruction and the examples of a judge.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
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
_FINISHES = {"end_turn": "stop", "stop_sequence": "stop", "refusal": "content_filter"}


class _Message(msgspec.Struct):
    content: list[dict[str, Any]]
    stop_reason: str | None = None
    model: str | None = None
    usage: Any = None


class Openings:
    """What prompts of one model began with. Tokens that are written to the cache cost a quarter more than others, so
    that a beginning is marked from the second time on, and the others wait for the first that is marked."""

    def __init__(self, least: int) -> None:
        """`least`: the tokens from which the model keeps a beginning."""
        self._least = least
        self._seen: set[bytes] = set()
        self._written: dict[bytes, asyncio.Event] = {}

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
        """Inside, the request is sent. Requests with a marked beginning wait until the first of them was answered:
        before that, each of them would write it to the cache."""
        names = ("system", "tools", "output_config")
        opening = encode([payload["messages"][:-1], *(payload.get(name) for name in names)])
        if b'"cache_control":' not in opening:
            yield
            return
        digest = hashlib.sha256(opening).digest()
        if (written := self._written.get(digest)) is not None:
            await written.wait()
            yield
            return
        self._written[digest] = written = asyncio.Event()
        try:
            yield
        finally:
            written.set()


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
