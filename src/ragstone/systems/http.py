"""A system behind an HTTP address: one request for a question, and where in the reply the answer and the passages are.

The body is a JSON template whose texts may contain `{question}`; a text that is just `{passages}` or `{history}`
becomes a list. The places in the reply are JMESPath expressions (https://jmespath.org). Replies may be JSON, or a
stream of events (server-sent events, or one JSON document per line), of which each adds its piece of the answer.
"""

import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from ragstone.errors import (
    BadReply,
    ModelError,
    RateLimited,
    Rejected,
    ServerFault,
    SystemFailed,
    Unauthorized,
    UsageError,
)
from ragstone.models.endpoint import limiter_for, patience_for
from ragstone.models.http_errors import one_line, retry_after_seconds, transport_error
from ragstone.models.network import open_session
from ragstone.models.options import ModelOptions
from ragstone.models.refusals import Refusals
from ragstone.models.reply_body import read_body
from ragstone.models.retry import retrying
from ragstone.responses.outputs import passages_of, response_of
from ragstone.responses.stages import stage_step
from ragstone.text.redaction import secrets_of, shown_url
from ragstone.types import Passage, Query, Response, Step, Usage

if TYPE_CHECKING:
    import aiohttp

__all__ = ["HttpSystem", "HttpTarget"]

DEFAULT_BODY = '{"question": "{question}"}'
_FIELD = re.compile(r"\{(question|passages|history|language)\}")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


@dataclass(frozen=True)
class HttpTarget:
    """Where to ask, and how to read the reply.

    headers: values may name environment variables (`Bearer $TOKEN`), which are read when the system is opened and
    never stored. answer, contexts, ids, usage: JMESPath expressions; without `answer` and `contexts` the usual names
    are tried. ids names as many ids as there are contexts, if these are texts. name: the system's id, by default the
    address."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = DEFAULT_BODY
    answer: str = ""
    contexts: str = ""
    ids: str = ""
    usage: str = ""
    name: str = ""

    @property
    def id(self) -> str:
        return self.name or shown_url(self.url)

    @property
    def spec(self) -> Mapping[str, Any]:
        """Everything that determines the answers, without the values of variables."""
        return {
            "kind": "http", "url": shown_url(self.url), "method": self.method, "headers": dict(self.headers),
            "body": self.body, "answer": self.answer, "contexts": self.contexts, "ids": self.ids,
        }  # fmt: skip


class HttpSystem:
    """Asks an `HttpTarget`, with the retries, limits and timeouts of a model. Use as an asynchronous context manager.

    Raises UsageError for an address with a password, an expression that is not JMESPath, a body that is not JSON, or
    a variable that is not set."""

    def __init__(self, target: HttpTarget, options: ModelOptions) -> None:
        self.target, self._options = target, options
        if secrets_of(target.url):
            raise UsageError(
                f"{shown_url(target.url)}: an address must not contain a password or key. Put it into a variable and "
                f"name that in a header: --header 'Authorization: Bearer $NAME'."
            )
        self._body = _body_template(target.body)
        self._answer, self._contexts = _expression(target.answer), _expression(target.contexts)
        self._ids, self._usage = _expression(target.ids), _expression(target.usage)
        self._headers = {name: _with_variables(value) for name, value in target.headers.items()}
        text = target.url + (target.body if target.method != "GET" else "")
        self.accepts = frozenset(name for name in ("passages", "history", "language") if f"{{{name}}}" in text)
        self._refusals = Refusals()
        self._limiter, self._patience = limiter_for(options, self._refusals), patience_for(options)
        self._session: aiohttp.ClientSession | None = None
        self._request_options: dict[str, Any] = {}
        self._where = shown_url(target.url)

    @property
    def id(self) -> str:
        return self.target.id

    @property
    def spec(self) -> Mapping[str, Any]:
        return self.target.spec

    async def __aenter__(self) -> "HttpSystem":
        self._session, self._request_options = open_session(
            self.target.url, "", connections=self._options.in_flight, timeout=self._options.timeout
        )
        self._session.headers.update(
            {"Accept": "application/json, text/event-stream, application/x-ndjson", "Accept-Encoding": "identity"}
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def answer(self, query: Query, /) -> Response:
        """One question. Raises the errors of a model call, and SystemFailed if the reply has no answer."""
        if query.passages is not None and "passages" not in self.accepts:
            raise SystemFailed(
                "takes_no_passages",
                f"{self.id} retrieves for itself, but this benchmark hands over the passages. Put {{passages}} into "
                f"the --body.",
            )

        async def before_retry() -> None:
            await self._limiter.admit(lambda: 0.0)

        async with self._limiter.places:
            await self._limiter.admit(lambda: 0.0)
            return await self._refusals.guard(
                lambda: retrying(
                    lambda: self._attempt(query), self._patience, where=self._where, before_retry=before_retry
                )
            )

    async def _attempt(self, query: Query) -> Response:
        import aiohttp  # noqa: PLC0415

        if self._session is None:
            raise RuntimeError("An HttpSystem is used inside `async with`.")
        url = _FIELD.sub(lambda match: quote(str(_values(query)[match[1]]), safe=""), self.target.url)
        options = {**self._request_options, "headers": {**self._request_options.get("headers", {}), **self._headers}}
        if self.target.method != "GET":
            options["data"] = msgspec.json.encode(_filled(self._body, _values(query)))
        started = time.perf_counter()
        try:
            async with self._session.request(self.target.method, url, **options) as reply:
                if reply.ok and _is_stream(reply.headers):
                    return await self._read_stream(reply, started)
                body = await read_body(reply, self._options.reply_bytes, self._where)
                status, headers = reply.status, reply.headers
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise transport_error(self._where, error) from None
        if not 200 <= status < 300:
            raise _status_error(self._where, status, headers, body, tuple(self._headers.values()))
        response = self._response(_parsed(body, self._where))
        return replace(response, seconds=time.perf_counter() - started)

    async def _read_stream(self, reply: "aiohttp.ClientResponse", started: float) -> Response:
        """Joins the pieces of a stream; passages and usage are those of the last event that has them."""
        texts: list[str] = []
        last: dict[str, Any] = {}
        first: float | None = None
        async for event in _events(reply, self._where, self._options.reply_bytes):
            _raise_error(event, self._where)
            piece = self._answer(event) if self.target.answer else _piece(event)
            if isinstance(piece, str) and piece:
                first = time.perf_counter() - started if first is None else first
                texts.append(piece)
            if isinstance(event, Mapping):
                last |= event
        answered = {**last, "answer": "".join(texts)} if texts else last
        response = self._response(answered, answer="".join(texts) if texts else None)
        step = (Step("first token", seconds=first),) if first is not None else ()
        return replace(response, seconds=time.perf_counter() - started, steps=(*response.steps, *step))

    def _response(self, reply: Any, answer: str | None = None) -> Response:
        if self.target.answer and answer is None:
            value = self._answer(reply)
            if not isinstance(value, str):
                raise SystemFailed("no_answer", f"The reply has no text at {self.target.answer!r}: {_shown(reply)}")
            answer = value
        if answer is None:
            response = response_of(reply)
        elif self.target.contexts:
            response = Response(answer)
        else:
            rest = {key: value for key, value in reply.items() if key != "answer"} if isinstance(reply, dict) else {}
            response = response_of({"answer": answer, **rest})
        if self.target.contexts:
            response = replace(response, passages=self._passages(reply))
        if self.target.usage and isinstance(counts := self._usage(reply), Mapping):
            response = replace(response, usage=response_of({"answer": "", "usage": counts}).usage or Usage())
        if response.passages:
            response = replace(response, steps=(stage_step("fetch", response.passages),))
        return response

    def _passages(self, reply: Any) -> tuple[Passage, ...]:
        contexts = self._contexts(reply)
        contexts = contexts if isinstance(contexts, list) else [] if contexts is None else [contexts]
        ids = self._ids(reply) if self.target.ids else None
        if isinstance(ids, list) and len(ids) == len(contexts):
            contexts = [
                {"id": key, "text": item} if isinstance(item, str) else {**item, "id": key}
                for key, item in zip(ids, contexts, strict=True)
            ]
        return passages_of(contexts)


def _expression(text: str) -> Callable[[Any], Any]:
    import jmespath  # noqa: PLC0415
    import jmespath.exceptions  # noqa: PLC0415

    if not text:
        return lambda _: None
    try:
        compiled = jmespath.compile(text)
    except jmespath.exceptions.JMESPathError as error:
        raise UsageError(f"{text!r} is not a JMESPath expression ({one_line(str(error))}).") from None

    def search(value: Any) -> Any:
        try:
            return compiled.search(value)
        except jmespath.exceptions.JMESPathError:
            return None

    return search


def _body_template(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"--body is not JSON ({error}). Write it like {DEFAULT_BODY}.") from None


def _values(query: Query) -> dict[str, Any]:
    return {
        "question": query.question,
        "passages": [passage.text for passage in query.passages or ()],
        "history": [{"role": turn.role, "content": turn.content} for turn in query.history],
        "language": query.language,
    }


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with the values in place of their names, in one pass: a question that contains a name stays."""
    if isinstance(template, dict):
        return {key: _filled(item, values) for key, item in template.items()}
    if isinstance(template, list):
        return [_filled(item, values) for item in template]
    if not isinstance(template, str):
        return template
    if match := _FIELD.fullmatch(template):
        return values[match[1]]
    return _FIELD.sub(lambda match: str(values[match[1]]), template)


def _with_variables(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if not os.environ.get(name):
            raise UsageError(f"A header needs the environment variable {name}, which is not set.")
        return os.environ[name]

    return _VARIABLE.sub(value, text)


def _is_stream(headers: Mapping[str, str]) -> bool:
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return kind in ("text/event-stream", "application/x-ndjson", "application/ndjson", "application/jsonl")


async def _events(reply: "aiohttp.ClientResponse", where: str, limit: int) -> AsyncIterator[Any]:
    """The documents of a stream: of JSON lines each line, of server-sent events the data up to an empty line. Data that
    are not JSON are a text; those of an event named `error` are given as a mapping with that name."""
    data: list[str] = []
    kind = ""
    async for line in _lines(reply, where, limit):
        if line.startswith("{"):
            yield _document(line)
        elif line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif line.startswith("event:"):
            kind = line.removeprefix("event:").strip()
        elif not line:
            for event in _documents(data):
                yield {"error": event} if kind == "error" else event
            data, kind = [], ""
    for event in _documents(data):
        yield {"error": event} if kind == "error" else event


async def _lines(reply: "aiohttp.ClientResponse", where: str, limit: int) -> AsyncIterator[str]:
    size = 0
    buffer = b""
    async for chunk in reply.content.iter_any():
        size += len(chunk)
        if size > limit:
            raise BadReply(f"{where}: the stream has more than {limit:,} bytes.")
        *lines, buffer = (buffer + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace").rstrip("\r")
    yield buffer.decode("utf-8", "replace").rstrip("\r")


def _documents(data: list[str]) -> list[Any]:
    """What the data lines of one event are: a JSON document, some of them (of a server that sends no empty lines
    between events), or lines of text."""
    text = "\n".join(data)
    if not data or text in ("", "[DONE]"):
        return []
    whole = _document(text)
    if not isinstance(whole, str) or len(data) == 1:
        return [whole]
    single = [_document(line) for line in data if line and line != "[DONE]"]
    return single if single and all(isinstance(event, dict) for event in single) else [text]


def _document(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _raise_error(event: Any, where: str) -> None:
    """An error in the middle of a stream is the outcome of the question: the pieces before it are no answer."""
    if isinstance(event, Mapping) and (error := event.get("error")):
        text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
        raise ServerFault(f"{where}: the stream ended with an error ({one_line(text[:4000])}).")


def _piece(event: Any) -> str | None:
    """The text of an event: itself, or that of its delta, as chat endpoints send it."""
    if isinstance(event, str):
        return event
    if not isinstance(event, Mapping):
        return None
    choices = event.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        event = choices[0].get("delta") or {}
    for name in ("delta", "token", "content", "text", "answer", "chunk"):
        if isinstance(event.get(name), str):
            return str(event[name])
    return None


def _parsed(body: bytes, where: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        text = body.decode("utf-8", "replace")
        if not text.strip():
            raise BadReply(f"{where}: the reply is empty.") from None
        if text.lstrip().lower().startswith(("<!doctype", "<html")):
            raise BadReply(f"{where}: the reply is a web page. Check the address.") from None
        if text.lstrip().startswith("{"):
            raise BadReply(f"{where}: the reply is no valid JSON ({one_line(str(error))}).") from None
        return text


def _status_error(
    where: str, status: int, headers: Mapping[str, str], body: bytes, secrets: tuple[str, ...]
) -> ModelError:
    reason = one_line(body[:4000].decode("utf-8", "replace"), secrets) or "no reason given"
    if status == 429:
        return RateLimited(f"{where}: too many requests ({reason}).", retry_after_seconds(headers))
    if status >= 500 or status in (408, 409, 425):
        return ServerFault(f"{where}: status {status} ({reason}).", retry_after_seconds(headers))
    error: ModelError = Rejected(f"{where}: status {status} ({reason}).")
    if status in (401, 403):
        error = Unauthorized(f"{where}: not allowed ({status}: {reason}). Check the --header with the key.")
    if status in (301, 302, 303, 307, 308, 404, 405):
        error.refuses_all = True
    return error


def _shown(reply: Any) -> str:
    keys = ", ".join(map(str, list(reply)[:10])) if isinstance(reply, dict) else type(reply).__name__
    return f"its keys are {keys}." if isinstance(reply, dict) else f"it is {keys}."
