"""A system behind an HTTP address: one request for a question, and where in the reply the answer and the passages are.

The body is a JSON template whose texts may contain `{question}`, `{language}`, `{passages}`, `{history}`, `{k}` and
`{retrieve_only}`; a text that is just one of these becomes a list, a number or a truth value. Entries of the body and
parameters of the address that are just `{passages}` or `{k}` are left out where a question has none: the system then
takes its own. The places in the reply are JMESPath expressions (https://jmespath.org). Replies may be JSON, or a
stream of events (server-sent events, or one JSON document per line), of which each adds its piece of the answer.
"""

import json
import logging
import re
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ragstone.errors import BadReply, ServerFault, SystemFailed
from ragstone.models.http_call import HttpCall, compiled_path
from ragstone.models.http_errors import one_line
from ragstone.models.options import ModelOptions
from ragstone.responses.outputs import check_error, response_of
from ragstone.responses.returned_passages import contexts_in, found_passages, passages_of
from ragstone.responses.stages import FIRST_TOKEN, passages_at, search_response, stage_step
from ragstone.systems.accepted import check_accepted
from ragstone.text.redaction import shown_url
from ragstone.types import Passage, Query, Response, Step, Usage

if TYPE_CHECKING:
    import aiohttp

_log = logging.getLogger(__name__)
DEFAULT_BODY = '{"question": "{question}"}'
_NAMES = ("question", "passages", "history", "language", "k", "retrieve_only")
_ADVICE = {
    "passages": "Put {passages} into the --body.",
    "k": "Put {k} into the --body or the address.",
    "retrieve": "Put {retrieve_only} into the --body, or name its retriever: --retriever.",
}


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
        self._call = HttpCall(
            target.url, options, method=target.method, headers=target.headers, body=target.body, names=_NAMES
        )
        accepts = {"retrieve" if name == "retrieve_only" else name for name in self._call.uses - {"question"}}
        self.accepts = frozenset(accepts)
        self._answer, self._contexts = compiled_path(target.answer), compiled_path(target.contexts)
        self._ids, self._usage = compiled_path(target.ids), compiled_path(target.usage)
        self._keys: str | None = ""  # of the last reply; None once one had something at the path of the contexts
        self._uneven: tuple[int, int] | None = None  # the ids and passages of a reply, where their numbers differ

    @property
    def id(self) -> str:
        return self.target.id

    @property
    def spec(self) -> Mapping[str, Any]:
        return self.target.spec

    async def __aenter__(self) -> "HttpSystem":
        await self._call.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._call.__aexit__(kind, error, trace)
        if self._keys:
            _log.warning(
                "No reply of %s has anything at --contexts '%s'. The last one has: %s.",
                self.id, self.target.contexts, self._keys,
            )  # fmt: skip
        if self._uneven:
            _log.warning(
                "%s: a reply has another number of ids at '%s' (%d) than of passages at '%s' (%d), which stay without "
                "ids of their own. Check the --ids and --contexts.",
                self.id, self.target.ids, self._uneven[0], self.target.contexts, self._uneven[1],
            )  # fmt: skip

    async def answer(self, query: Query, /) -> Response:
        """One question. Raises the errors of a model call, and SystemFailed if the reply has no answer."""
        check_accepted(query, self.accepts, self.id, _ADVICE)
        if not query.retrieve_only:
            response = await self._call.send(_values(query), partial(self._read, query.question))
            if query.passages is None:
                return response
            return replace(response, steps=tuple(step for step in response.steps if step.name != "fetch"))
        started = time.perf_counter()
        reply = await self._call.ask(_values(query))
        found = self._passages(reply) if self.target.contexts else found_passages(reply)
        return search_response(query, found, seconds=time.perf_counter() - started)

    async def _read(self, asked: str, reply: "aiohttp.ClientResponse", started: float) -> Response:
        if _is_stream(reply.headers):
            return await self._read_stream(asked, reply, started)
        response = self._response(await self._call.document(reply), asked)
        return replace(response, seconds=time.perf_counter() - started)

    async def _read_stream(self, asked: str, reply: "aiohttp.ClientResponse", started: float) -> Response:
        """Joins the pieces of a stream; passages and usage are those of the last event that has them."""
        texts: list[str] = []
        last: dict[str, Any] = {}
        first: float | None = None
        async for event in _events(reply, self._call.where, self._options.reply_bytes):
            _raise_error(event, self._call.where)
            piece = self._answer(event) if self.target.answer else _piece(event)
            if isinstance(piece, str) and piece:
                first = time.perf_counter() - started if first is None else first
                texts.append(piece)
            if isinstance(event, Mapping):
                last |= event
        answered = {**last, "answer": "".join(texts)} if texts else last
        response = self._response(answered, asked, answer="".join(texts) if texts else None)
        step = (Step(FIRST_TOKEN, seconds=first),) if first is not None else ()
        return replace(response, seconds=time.perf_counter() - started, steps=(*response.steps, *step))

    def _response(self, reply: Any, asked: str, answer: str | None = None) -> Response:
        if self.target.answer and answer is None:
            value = self._answer(reply)
            if isinstance(reply, dict):
                check_error(value if isinstance(value, str) else None, reply)
            if not isinstance(value, str):
                raise SystemFailed("no_answer", f"The reply has no text at {self.target.answer!r}: {_shown(reply)}")
            answer = value
        found = self._passages(reply) if self.target.contexts else ()
        if answer is None:
            response = response_of(reply, asked)
        else:
            fields = reply if isinstance(reply, dict) else {}
            rest = {"contexts": found, "stages": fields.get("stages")} if self.target.contexts else fields
            response = response_of({**rest, "answer": answer}, asked)
        if self.target.contexts:
            nothing = not found and self._contexts(reply) not in (None, "", {})
            response = replace(response, passages=found, empty_retrieval=nothing)
        if self.target.usage and isinstance(counts := self._usage(reply), Mapping):
            response = replace(response, usage=response_of({"answer": "", "usage": counts}).usage or Usage())
        if response.passages and passages_at(response, "fetch") is None:
            response = replace(response, steps=(stage_step("fetch", response.passages), *response.steps))
        return response

    def _passages(self, reply: Any) -> tuple[Passage, ...]:
        found = self._contexts(reply)
        value = found or self._echoed(reply)
        if found is not None or value is not None:
            self._keys = None
        elif self._keys is not None:
            self._keys = one_line(", ".join(map(str, reply)) if isinstance(reply, dict) else "") or "–"
        contexts = contexts_in(value)
        ids = self._ids(reply) if self.target.ids else None
        if not isinstance(ids, list | None):
            raise SystemFailed(
                "no_passages",
                f"The reply has {type(ids).__name__} instead of a list of ids at {self.target.ids!r}. Check the --ids.",
            )
        if self.target.ids and found and len(ids or ()) != len(contexts):
            self._uneven = len(ids or ()), len(contexts)
        if isinstance(ids, list) and len(ids) == len(contexts):
            contexts = [
                {"id": key, "text": item} if isinstance(item, str) else {**item, "id": key}
                for key, item in zip(ids, contexts, strict=True)
            ]
        return passages_of(contexts)

    def _echoed(self, reply: Any) -> Any:
        """Texts in place of objects: a system may return the passages that it was given as it was given them."""
        outer, field, _ = self.target.contexts.rpartition("[].")
        texts = compiled_path(outer)(reply) if field else None
        return texts if isinstance(texts, list) and all(isinstance(text, str) for text in texts) else None


def _values(query: Query) -> dict[str, Any]:
    return {
        "question": query.question,
        "passages": None if query.passages is None else [passage.text for passage in query.passages],
        "history": [{"role": turn.role, "content": turn.content} for turn in query.history],
        "language": query.language,
        "k": query.k,
        "retrieve_only": query.retrieve_only,
    }


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


_LINE_END = re.compile(rb"\r\n|\r|\n")


async def _lines(reply: "aiohttp.ClientResponse", where: str, limit: int) -> AsyncIterator[str]:
    size = 0
    buffer = b""
    halved = False  # the last piece ended with CR: an LF at the start of the next belongs to it
    async for chunk in reply.content.iter_any():
        size += len(chunk)
        if size > limit:
            raise BadReply(f"{where}: the stream has more than {limit:,} bytes.")
        rest = chunk.removeprefix(b"\n") if halved else chunk
        halved = chunk.endswith(b"\r")
        *lines, buffer = _LINE_END.split(buffer + rest)
        for line in lines:
            yield _decoded(line, where)
    yield _decoded(buffer, where)


def _decoded(line: bytes, where: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise BadReply(f"{where}: the reply is neither JSON nor text in UTF-8.") from None


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


def _shown(reply: Any) -> str:
    keys = ", ".join(map(str, list(reply)[:10])) if isinstance(reply, dict) else type(reply).__name__
    return f"its keys are {keys}." if isinstance(reply, dict) else f"it is {keys}."
