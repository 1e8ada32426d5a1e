"""A real local endpoint that speaks OpenAI's interface and misbehaves as it is told. No test of its own.

In a process of the test's own:

    async with FakeEndpoint(plan=[Act("rate_limit", retry_after="1"), Act("ok")]) as endpoint:
        options = ModelOptions(base_url=endpoint.base_url)

As a process beside it (prints one line of JSON with `base_url`, then serves until it is killed; `GET /stats` tells
how often it was asked what):

    python -m tests.servers.fake_endpoint --delay 0.05 --plan '[{"kind": "reset"}]' --fault-every 7

Each request takes the next act of the plan, and `ok` when the plan is at its end. `refuses` and `ignores` say what it
does about a form that is asked for (`FORMS`), whatever the plan; `answer` makes the replies, as a judge would:

    FakeEndpoint(answer=lambda payload: {"verdict": "yes"}, refuses={"json_schema"})
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import ssl
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

__all__ = ["FORMS", "KINDS", "Act", "FakeEndpoint", "answer_to", "chat_reply", "example_answer"]

KINDS = (
    "ok", "rate_limit", "status", "reset", "reset_mid_body", "stall", "truncated_json", "short_body", "html", "empty",
    "not_json", "wrong_shape", "no_choices", "error_in_200", "redirect", "not_http", "body", "raw",
)  # fmt: skip

# Ways to ask for a form that an endpoint may refuse (400) or not heed.
FORMS = ("json_schema", "json_object", "tools")
REFUSALS = {
    "json_schema": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    "json_object": "'response_format' is not supported by this model.",
    "tools": "This model does not support tools.",
}
# What a model writes that is not held to any form.
PROSE = "Certainly! I have looked at it, and it is fine."


@dataclass(frozen=True)
class Act:
    """What to do with one request.

    kind: one of `KINDS`. delay: seconds before it. status: of "status" and "body". retry_after: the header's value.
    body: of "status" and "body", as JSON or as text. raw, headers: of "raw", the bytes as they are. text: the answer of
    "ok".
    """

    kind: str = "ok"
    delay: float = 0.0
    status: int = 500
    retry_after: str | None = None
    body: Any = None
    raw: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    location: str = "http://elsewhere.invalid/"

    def __post_init__(self) -> None:
        assert self.kind in KINDS, self.kind


@dataclass
class Seen:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: Any
    raw: bytes = field(repr=False)


def answer_to(payload: Any) -> str:
    """The answer of "ok": depends on the last message alone."""
    last = payload["messages"][-1]["content"] if isinstance(payload, dict) and payload.get("messages") else ""
    return f"answer {hashlib.sha256(json.dumps(last).encode()).hexdigest()[:8]}"


def chat_reply(text: str, *, model: str = "fake-1", **message: Any) -> dict[str, Any]:
    """A chat completion as OpenAI writes it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
        ],
        "usage": {
            "prompt_tokens": 11,
            "completion_tokens": 3,
            "total_tokens": 14,
            "prompt_tokens_details": {"cached_tokens": 5},
        },
    }


def asked_form(payload: Any) -> str:
    """The one of `FORMS` in which a form is asked for; "" for none."""
    if not isinstance(payload, dict):
        return ""
    if "tools" in payload:
        return "tools"
    return str(payload.get("response_format", {}).get("type", ""))


def schema_of(payload: Any) -> dict[str, Any]:
    """The schema that a request carries outside its prompt; {} where it carries none."""
    if "tools" in payload:
        return payload["tools"][0]["function"]["parameters"]  # type: ignore[no-any-return]
    return payload.get("response_format", {}).get("json_schema", {}).get("schema", {})  # type: ignore[no-any-return]


def example_of(schema: Any) -> Any:
    """The plainest value that matches a schema of the kind that judges use."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0])
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: example_of(inner) for name, inner in schema.get("properties", {}).items()}
    return {"array": [], "string": "", "integer": 1, "number": 1, "boolean": True, "null": None}[kind]


def example_answer(payload: Any) -> Any:
    """An `answer` that keeps to any form it is held to, and says nothing of sense."""
    schema = schema_of(payload)
    return example_of(schema) if schema else PROSE


def vector_of(text: str, dimensions: int = 8) -> list[float]:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return [byte - 127.5 for byte in digest[:dimensions]]


class FakeEndpoint:
    """The server. `seen` holds the requests in order; `most_at_once` how many were under way at one time."""

    def __init__(
        self,
        plan: Sequence[Act] | Callable[[int, Any], Act] = (),
        *,
        delay: float = 0.0,
        tls: ssl.SSLContext | None = None,
        keep: bool = True,
        answer: Callable[[Any], Any] | None = None,
        refuses: Collection[str] = (),
        ignores: Collection[str] = (),
        refusal: tuple[int, Any] | None = None,
    ) -> None:
        """`answer`: from the request's body, what the model says: a text, or what to write as JSON. `refusal`: status
        and body with which a form is refused, where not 400 with one of `REFUSALS`."""
        assert {*refuses, *ignores} <= set(FORMS)
        self._plan, self._delay, self._tls, self._keep = plan, delay, tls, keep
        self._answer, self._refuses, self._ignores, self._refusal = answer, refuses, ignores, refusal
        self.seen: list[Seen] = []
        self.counts: Counter[str] = Counter()
        self.most_at_once = 0
        self._now = 0
        self._came = asyncio.Event()
        self._asked = 0
        self._runner: web.ServerRunner | None = None
        self.port = 0
        self.release = asyncio.Event()

    @property
    def base_url(self) -> str:
        return f"{'https' if self._tls else 'http'}://{'localhost' if self._tls else '127.0.0.1'}:{self.port}/v1"

    async def __aenter__(self) -> "FakeEndpoint":
        await self.start()
        return self

    async def start(self, port: int = 0) -> None:
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=self._tls)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def __aexit__(self, *_: object) -> None:
        self.release.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits, request by request, until the condition holds."""
        while not condition():
            self._came.clear()
            await self._came.wait()

    def _next_act(self, payload: Any) -> Act:
        number = self._asked
        self._asked += 1
        if callable(self._plan):
            return self._plan(number, payload)
        return self._plan[number] if number < len(self._plan) else Act()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/stats":
            return web.json_response({"counts": dict(self.counts), "most_at_once": self.most_at_once})
        raw = await request.content.read()  # `request.read` stops at a megabyte
        try:
            payload = json.loads(raw)
        except ValueError:
            payload = None
        if self._keep:
            self.seen.append(Seen(str(request.url), dict(request.headers), payload, raw))
        self.counts["asked"] += 1
        self._now += 1
        self._came.set()
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            act = self._next_act(payload)
            self.counts[act.kind] += 1
            if self._delay or act.delay:
                await asyncio.sleep(self._delay + act.delay)
            return await self._perform(act, request, payload)
        finally:
            self._now -= 1

    async def _perform(self, act: Act, request: web.BaseRequest, payload: Any) -> web.StreamResponse:
        if act.kind in _BROKEN:
            return await getattr(self, f"_{act.kind}")(act, request, payload)  # type: ignore[no-any-return]
        headers = {} if act.retry_after is None else {"Retry-After": act.retry_after}
        if act.kind == "ok":
            form = asked_form(payload)
            if form in self._refuses:
                self.counts[f"refused {form}"] += 1
                status, told = self._refusal or (400, {"error": {"message": REFUSALS[form], "code": None}})
                text = told if isinstance(told, str) else _dump(told).decode("ascii")
                return web.Response(status=status, text=text, content_type="application/json")
            return web.Response(body=_dump(self._reply(payload, act.text, form)), content_type="application/json")
        if act.kind == "raw":
            return web.Response(status=act.status, body=act.raw, headers=dict(act.headers))
        if act.kind == "redirect":
            return web.Response(status=307, headers={"Location": act.location})
        status, body = {
            "rate_limit": (429, {"error": {"message": "Rate limit reached", "type": "requests", "code": None}}),
            "status": (act.status, act.body if act.body is not None else {"error": {"message": "it failed"}}),
            "body": (act.status, act.body),
            "truncated_json": (200, _dump(_ok(payload, act.text))[:-40].decode()),
            "html": (200, "<!DOCTYPE html><html><body>Gateway sign-in</body></html>"),
            "empty": (200, ""),
            "not_json": (200, "everything is fine"),
            "wrong_shape": (200, {"choices": "many", "data": 7}),
            "no_choices": (200, {"choices": [], "data": []}),
            "error_in_200": (200, {"error": {"message": "upstream failed", "code": 502}}),
        }[act.kind]
        text = body if isinstance(body, str) else _dump(body).decode("utf-8")
        kind = "text/html" if act.kind == "html" else "application/json"
        return web.Response(status=status, text=text, headers=headers, content_type=kind)

    def _reply(self, payload: Any, text: str | None, form: str) -> dict[str, Any]:
        """What "ok" answers: by the act's text, by `answer`, or of the form that was asked for."""
        if isinstance(payload, dict) and "input" in payload:
            return _ok(payload, None)
        heeded = form and form not in self._ignores
        said: Any = text
        if said is None and self._answer is not None:
            said = self._answer(payload)
        if said is None:
            return _ok(payload, None)
        written = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        if form == "tools" and heeded:
            call = {"name": payload["tool_choice"]["function"]["name"], "arguments": written}
            calls = [{"id": "call_1", "type": "function", "function": call}]
            reply = chat_reply("", tool_calls=calls)
            reply["choices"][0]["message"]["content"] = None
            reply["choices"][0]["finish_reason"] = "tool_calls"
            return reply
        return chat_reply(written)

    async def _reset(self, act: Act, request: web.BaseRequest, payload: Any) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def _reset_mid_body(self, act: Act, request: web.BaseRequest, payload: Any) -> web.StreamResponse:
        body = _dump(_ok(payload, act.text))
        response = web.StreamResponse(headers={"Content-Length": str(len(body)), "Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        await asyncio.sleep(0.01)  # so that the half arrives before the reset
        assert request.transport is not None
        request.transport.abort()
        return response

    async def _short_body(self, act: Act, request: web.BaseRequest, payload: Any) -> web.StreamResponse:
        body = _dump(_ok(payload, act.text))
        assert request.transport is not None
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body) + 100}\r\n\r\n"
        request.transport.write(head.encode() + body)
        request.transport.close()
        return web.Response()

    async def _not_http(self, act: Act, request: web.BaseRequest, payload: Any) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        request.transport.close()
        return web.Response()

    async def _stall(self, act: Act, request: web.BaseRequest, payload: Any) -> web.StreamResponse:
        await self.release.wait()
        return web.Response(status=500)


_BROKEN = ("reset", "reset_mid_body", "short_body", "not_http", "stall")


def _ok(payload: Any, text: str | None) -> dict[str, Any]:
    if isinstance(payload, dict) and "input" in payload:
        data = [{"object": "embedding", "index": i, "embedding": vector_of(t)} for i, t in enumerate(payload["input"])]
        # As some endpoints do: in another order than asked.
        return {"object": "list", "data": data[::-1], "model": "fake-embedder", "usage": {"prompt_tokens": 7}}
    return chat_reply(answer_to(payload) if text is None else text)


def _dump(body: Any) -> bytes:
    return json.dumps(body).encode("ascii")


async def _serve(arguments: argparse.Namespace) -> None:
    acts = [Act(**act) for act in json.loads(arguments.plan)]

    def plan(number: int, payload: Any) -> Act:
        if not acts:
            return Act()
        if arguments.fault_every:
            due = number % arguments.fault_every == arguments.fault_every - 1
            return acts[number // arguments.fault_every % len(acts)] if due else Act()
        return acts[number] if number < len(acts) else Act()

    endpoint = FakeEndpoint(
        plan,
        delay=arguments.delay,
        keep=False,
        answer=example_answer if arguments.judge else None,
        refuses=[form for form in arguments.refuse.split(",") if form],
        ignores=[form for form in arguments.ignore.split(",") if form],
    )
    await endpoint.start(arguments.port)
    sys.stdout.write(json.dumps({"base_url": endpoint.base_url, "port": endpoint.port}) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A local endpoint that misbehaves as it is told.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before every reply")
    parser.add_argument("--plan", default="[]", help="JSON list of acts")
    parser.add_argument("--fault-every", type=int, default=0, help="the acts come in turn, at every N-th request")
    parser.add_argument("--judge", action="store_true", help="reply in the form that is asked for")
    parser.add_argument("--refuse", default="", help=f"forms refused, joined by commas: {', '.join(FORMS)}")
    parser.add_argument("--ignore", default="", help="forms not heeded")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
