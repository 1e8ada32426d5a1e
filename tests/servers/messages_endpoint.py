"""Anthropic's `/messages` and `/messages/batches` of a server of the tests. No test of its own.

It refuses what the real interface refuses, in its words where they are known. With `keeps_from` it keeps the beginnings
of prompts that are marked, from so many tokens on, and counts what was written and read; otherwise the counts of every
reply are the same. A beginning can be read from when its first reply is there: requests that come before each write it.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from aiohttp import web
from tests.waiting import turns

from ragstone.text import estimate_tokens

if TYPE_CHECKING:
    from tests.servers.batch_endpoint import BatchEndpoint

__all__ = ["MessagesOf", "error_reply", "message"]

FIELDS = {
    "model", "max_tokens", "messages", "system", "temperature", "top_p", "stop_sequences", "tools", "tool_choice",
    "output_config",
}  # fmt: skip
# What newer models refuse, and how.
REFUSALS = {
    "output_config": "'m' does not support output format.",
    "tool_choice": "tool_choice forces tool use is not compatible with this model.",
    "temperature": "`temperature` is deprecated for this model.",
    "top_p": "`top_p` is deprecated for this model.",
}


class MessagesOf:
    """The interface of one server."""

    def __init__(self, server: "BatchEndpoint") -> None:
        self._server = server
        self._batches: dict[str, dict[str, Any]] = {}
        self.refuses: set[str] = set()
        self.keeps_from: int | None = None
        self._kept: set[str] = set()
        self.usages: list[dict[str, int]] = []
        self.replies = asyncio.Event()  # while it is not set, replies wait
        self.replies.set()

    async def single(self, request: web.Request) -> web.Response:
        params = await request.json()
        if problem := self._problem(request.headers, params):
            return error_reply(400, problem)
        self._server.single.append(params)
        there = frozenset(self._kept)
        await self.replies.wait()
        if self.keeps_from is not None:
            await turns(500)  # as long as requests that are sent together take to come
        status, reply = self._server.reply(self._as_chat(params))
        if status != 200:
            kind = {429: "rate_limit_error", 529: "overloaded_error"}.get(status, "api_error")
            return error_reply(status, f"it failed with {status}", kind, retry_after="0.01")
        return web.json_response(message(reply, self._usage(params, there)))

    def _problem(self, headers: Mapping[str, str], params: Any) -> str:
        """Why a request is refused; "" if it is not."""
        if headers.get("anthropic-version") != "2023-06-01":
            return "anthropic-version: header is required"
        if missing := {"model", "max_tokens", "messages"} - params.keys():
            return f"{min(missing)}: Field required"
        if extra := params.keys() - FIELDS:
            return f"{min(extra)}: Extra inputs are not permitted"
        for field in ("output_config", "tool_choice", "temperature", "top_p"):
            if field in self.refuses and field in params:
                return REFUSALS[field]
        if {"temperature", "top_p"} <= params.keys():
            return "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        if not 0 <= params.get("temperature", 0) <= 1:
            return "temperature: range: 0..1"
        if not all(text.strip() for text in params.get("stop_sequences", ())):
            return "stop_sequences: each stop sequence must contain non-whitespace"
        if any(turn["role"] not in ("user", "assistant") for turn in params["messages"]):
            return 'messages: Unexpected role "system".'
        if not all(text_of(turn["content"]) for turn in params["messages"]):
            return "messages: text content blocks must be non-empty"
        schema = params.get("output_config", {}).get("format", {}).get("schema", {})
        return (
            ""
            if _is_closed(schema)
            else (
                "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
            )
        )

    def _usage(self, params: Any, there: Collection[str]) -> dict[str, int]:
        """What a request cost; `there`: the beginnings that were kept when it came."""
        if self.keeps_from is None:
            return {"input_tokens": 6, "cache_read_input_tokens": 5, "output_tokens": 3}
        blocks = [json.dumps([params.get("tools"), params.get("output_config")])]
        marked = 0
        for content in [params.get("system", ""), *(turn["content"] for turn in params["messages"])]:
            blocks.append(text_of(content))
            if isinstance(content, list) and "cache_control" in content[-1]:
                marked = len(blocks)
        prefix, tokens = "\0".join(blocks[:marked]), sum(map(estimate_tokens, blocks[:marked]))
        kept = marked > 0 and tokens >= self.keeps_from
        read = kept and prefix in there
        if kept:
            self._kept.add(prefix)
        usage = {
            "input_tokens": sum(map(estimate_tokens, blocks)) - kept * tokens, "output_tokens": 3,
            "cache_read_input_tokens": tokens if read else 0,
            "cache_creation_input_tokens": tokens if kept and not read else 0,
        }  # fmt: skip
        self.usages.append(usage)
        return usage

    async def create(self, request: web.Request) -> web.Response:
        items = (await request.json())["requests"]
        ids = [item["custom_id"] for item in items]
        for number, item in enumerate(items):
            if problem := self._problem(request.headers, item["params"]):
                return error_reply(400, f"requests.{number}.params.{problem}")
        if len(set(ids)) != len(ids) or not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in ids):
            return error_reply(400, "requests: custom_id must be unique and match ^[a-zA-Z0-9_-]{1,64}$")
        name = f"msgbatch_{len(self._batches)}"
        self._server.lines += items
        made = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        self._batches[name] = {"items": items, "state": "in_progress", "looks": 0, "made": made}
        return web.json_response(self._shown(name))

    async def listed(self, request: web.Request) -> web.Response:
        names = list(self._batches)[::-1][: int(request.query.get("limit", "20"))]
        for name in names:  # time passes: a command that knows no id sees the list only
            self._pass_time(name)
        return web.json_response({"data": [self._shown(name) for name in names], "has_more": False})

    async def look(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        if name not in self._batches:
            return error_reply(404, "Batch not found", "not_found_error")
        self._pass_time(name)
        return web.json_response(self._shown(name), headers={"Retry-After": "0.02"})

    def _pass_time(self, name: str) -> None:
        batch = self._batches[name]
        batch["looks"] += 1
        if batch["looks"] > self._server.looks and "results" not in batch:
            self._end(name)

    def _end(self, name: str) -> None:
        batch, fault = self._batches[name], self._server.fault
        number, stopped = list(self._batches).index(name), batch["state"] == "canceling"
        batch["results"] = []
        for item in batch["items"]:
            body = self._as_chat(item["params"])
            if (stopped or fault.ends.get(number) == "expired") and fault.unasked(number, body):
                result: dict[str, Any] = {"type": "canceled" if stopped else "expired"}
            else:
                status, reply = self._server.reply(body)
                kind = "invalid_request_error" if status == 400 else "api_error"
                error = {"type": "error", "error": {"type": kind, "message": f"it failed with {status}"}}
                result = {"type": "errored", "error": error}
                if status == 200:
                    result = {"type": "succeeded", "message": message(reply, self._usage(item["params"], self._kept))}
            batch["results"].append({"custom_id": item["custom_id"], "result": result})
        batch["state"] = "ended"

    def _as_chat(self, params: Any) -> Any:
        """The request in OpenAI's form, which the answers of the tests read."""
        system = [{"role": "system", "content": params["system"]}] if "system" in params else []
        turns = [turn | {"content": text_of(turn["content"])} for turn in (*system, *params["messages"])]
        body: dict[str, Any] = {"model": params["model"], "messages": turns}
        if "tools" in params:
            (tool,) = params["tools"]
            function = {"name": tool["name"], "parameters": tool["input_schema"]}
            body |= {"tools": [{"type": "function", "function": function}], "tool_choice": {"function": function}}
        if "output_config" in params:
            schema = {"name": "reply", "schema": params["output_config"]["format"]["schema"]}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    async def results(self, request: web.Request) -> web.Response:
        lines = self._batches[request.match_info["id"]]["results"]
        return web.Response(body="".join(json.dumps(line) + "\n" for line in lines[::-1]).encode())

    async def cancel(self, request: web.Request) -> web.Response:
        batch = self._batches[request.match_info["id"]]
        batch |= {"state": "canceling", "looks": 0}
        return web.json_response(self._shown(request.match_info["id"]))

    def _shown(self, name: str) -> dict[str, Any]:
        batch = self._batches[name]
        types = Counter(line["result"]["type"] for line in batch.get("results", ()))
        ended = batch["state"] == "ended"
        return {
            "id": name, "type": "message_batch", "processing_status": batch["state"], "created_at": batch["made"],
            "request_counts": {
                "processing": 0 if ended else len(batch["items"]),
                **{kind: types[kind] for kind in ("succeeded", "errored", "canceled", "expired")},
            },
            "results_url": f"{self._server.base_url}/messages/batches/{name}/results" if ended else None,
        }  # fmt: skip


def message(chat: Any, usage: Mapping[str, int]) -> dict[str, Any]:
    """A chat completion as Anthropic's message."""
    said = chat["choices"][0]["message"]
    calls = said.get("tool_calls")
    content = [{"type": "tool_use", "id": "toolu_1", "name": call["function"]["name"],
                "input": json.loads(call["function"]["arguments"])} for call in calls or ()]  # fmt: skip
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": chat["model"],
        "content": content or [{"type": "text", "text": said["content"]}],
        "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None, "usage": dict(usage),
    }  # fmt: skip


def error_reply(
    status: int, message: str, kind: str = "invalid_request_error", retry_after: str = "", **more: Any
) -> web.Response:
    """An error as Anthropic writes it."""
    body = {"type": "error", "error": {"type": kind, "message": message, **more}, "request_id": "req_1"}
    return web.json_response(body, status=status, headers={"retry-after": retry_after} if retry_after else {})


def text_of(content: Any) -> str:
    """The text of a turn, which may be blocks."""
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def _is_closed(schema: Any) -> bool:
    """Whether every object in a schema says that it has no other properties."""
    if isinstance(schema, list):
        return all(map(_is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return False
    return all(map(_is_closed, schema.values()))
