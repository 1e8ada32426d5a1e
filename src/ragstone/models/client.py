"""One HTTP client for every endpoint with OpenAI's chat and embedding interface, or Anthropic's for messages.

It makes one attempt per call: retries, limits and cache are wrappers. It talks to its one endpoint (through a proxy if
the environment names one), follows no redirects, keeps no cookies, and reads keys only from the environment. It uses
aiohttp for its low cost: 0.2 ms of CPU a request at 64 in flight, where httpx needs 6 (docs/benchmarks.md).
"""

import io
import logging
import os
import time
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from ragstone.errors import BadReply, MissingKey, ModelError, UsageError
from ragstone.models.http_errors import Refusable, RefusedParameter, status_error, transport_error
from ragstone.models.messages_api import HEADERS, Openings, as_chat, messages_payload
from ragstone.models.network import endpoint_url, normal_base_url, open_session
from ragstone.models.options import ModelOptions
from ragstone.models.providers import Provider
from ragstone.models.reply_body import read_body
from ragstone.models.structured import Form, FormMemory, FormNegotiator, ParsedReply, form_key
from ragstone.models.time_limits import TimeLimits
from ragstone.models.wire import chat_payload, check_prompt_seen, encode, prompt_texts, read_chat, read_vectors
from ragstone.text.redaction import HIDDEN, secrets_of, shown_url
from ragstone.types import Completion, Request

if TYPE_CHECKING:
    import aiohttp
    import numpy as np

log = logging.getLogger(__name__)

# Bytes from which aiohttp gets a stream, which it writes in pieces so that other calls can go on.
_LARGE_BODY = 1 << 20
_NO_SECRET = 5  # up to this length a key is a placeholder ("k", "none"): hiding it would garble every message
_LIKE_NO_WORD = 12  # from this length a key cannot be a word of a reply: "ollama" is used as a key
# Parameters that a request may go without if a model refuses them.
_DISPENSABLE = frozenset({"temperature", "top_p", "seed", "stop"})


def provider_key(provider: Provider, *, own_endpoint: bool) -> str:
    """The key of a provider from its environment variable, "" if it needs none.

    `own_endpoint`: the user gave the endpoint, which may not need a key. Raises `MissingKey`.
    """
    key = os.environ.get(provider.key, "").strip()
    if not key and not provider.key_optional and not own_endpoint:
        raise MissingKey(provider.name, provider.key)
    if not (key.isascii() and (key.isprintable() or not key)):
        raise UsageError(f"The value of {provider.key} is not a valid key: a key has only printable ASCII characters.")
    return key


class Client:
    """Chat and embeddings of one model at one endpoint. Use as an asynchronous context manager, in one event loop.

    `id` is the name that the user gave (`openai/gpt-4o-mini`), `wire_name` the model's name at the endpoint. `memory`
    remembers how the model supports structured replies.
    """

    def __init__(
        self,
        provider: Provider,
        wire_name: str,
        options: ModelOptions,
        *,
        key: str,
        id: str = "",  # noqa: A002
        memory: FormMemory | None = None,
    ) -> None:
        if not (options.address or provider.base_url):
            raise UsageError(f"{provider.name}/{wire_name} needs --base-url: the address of the endpoint.")
        self.id = id or f"{provider.name}/{wire_name}"
        self.provider, self.wire_name, self._options = provider, wire_name, options
        self.base_url = normal_base_url(options.address or provider.base_url)
        self._key = key
        self._secrets = tuple(secret for secret in (key, *secrets_of(self.base_url)) if len(secret) > _NO_SECRET)
        self._openings = Openings(provider.kept_from(wire_name)) if provider.interface == "messages" else None
        self._chat_url = endpoint_url(self.base_url, "messages" if self._openings else "chat/completions")
        self._vectors_url = endpoint_url(self.base_url, "embeddings")
        self._where = f"{self.id} at {shown_url(self.base_url)}"
        self._refused: frozenset[str] = frozenset()
        self.negotiator = FormNegotiator(
            provider.structured, form_key(self.base_url, wire_name, provider.structured), memory
        )
        self._session: aiohttp.ClientSession | None = None
        self._request_options: dict[str, Any] = {}
        self._limits = TimeLimits()

    def __repr__(self) -> str:
        return f"Client({self.id!r}, {shown_url(self.base_url)!r})"

    @property
    def refused(self) -> frozenset[str]:
        """Sampling parameters that this model has refused; requests go without them."""
        return self._refused

    async def __aenter__(self) -> "Client":
        self._session, self._request_options = self.open_session(self._options.in_flight, None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def open_session(self, connections: int, timeout: float | None) -> tuple["aiohttp.ClientSession", dict[str, Any]]:
        """A session for this endpoint, which shows the key as its interface wants it, and the options of requests."""
        own = self._openings is not None
        headers = HEADERS | ({"x-api-key": self._key} if self._key else {}) if own else {}
        return open_session(
            self.base_url, "" if own else self._key, connections=connections, timeout=timeout, headers=headers
        )

    async def generate(self, request: Request, /) -> Completion:
        """Makes one attempt. Raises the typed errors of `ModelError`."""
        if request.schema is None:
            return (await self._attempt(request)).completion

        def attempt(form: Form, settled: bool) -> Awaitable[ParsedReply]:
            return self._attempt(request, form, settled=settled)

        return await self.negotiator.ask(request.schema, attempt)

    async def _attempt(self, request: Request, form: Form | None = None, *, settled: bool = True) -> ParsedReply:
        """One request. `settled`: this model has accepted `form` before, so only an explicit refusal of it counts."""
        refusable: Refusable = "" if form is None else "clearly" if settled else "vaguely"
        while True:
            payload = self.payload(request, form)
            try:
                async with self._openings.turn(payload) if self._openings else nullcontext():
                    started = time.perf_counter()
                    body = await self._post(self._chat_url, payload, refusable)
                    seconds = time.perf_counter() - started
                    return self.read(body, payload, formed=form is not None, refusable=refusable, seconds=seconds)
            except RefusedParameter as error:
                if error.parameter in payload and self.forgo(error.parameter):
                    continue
                raise

    def payload(self, request: Request, form: Form | None) -> dict[str, Any]:
        """The body of a request, without the parameters that this model has refused."""
        payload = chat_payload(self.provider, self.wire_name, request, form)
        for name in self._refused:
            payload.pop(name, None)
        return payload if self._openings is None else messages_payload(payload, self._openings)

    def forgo(self, parameter: str) -> bool:
        """Whether requests can do without a parameter that the model refuses; if so, they go without it from now on."""
        if parameter not in _DISPENSABLE:
            return False
        self._refused |= {parameter}
        log.warning("%s does not support %s; it is asked without it.", self.id, parameter)
        return True

    def read(
        self, body: bytes, payload: Mapping[str, Any], *, formed: bool, refusable: Refusable, seconds: float,
        price: float = 1.0,
    ) -> ParsedReply:  # fmt: skip
        """The reply in the body of a successful response to `payload`, which cost this share of the usual price. Raises
        the typed errors of `ModelError`."""
        try:
            chat = body if self._openings is None else as_chat(body, self._where)
            reply = read_chat(chat, self._where, model=self.wire_name, seconds=seconds, formed=formed)
        except BadReply as error:
            raise self._error_inside(body, refusable) or error from None
        if self._options.allowance is not None:
            self._options.allowance.pay(reply.completion.usage, price)
        check_prompt_seen(prompt_texts(payload), reply.completion.usage, self._where, self.provider)
        return reply

    async def vectors(self, texts: Sequence[str], /) -> "np.ndarray[Any, Any]":
        """One embedding request, of at most `provider.embedding_batch` texts: (n, dimensions), unit rows."""
        payload = {"model": self.wire_name, "input": list(texts), "encoding_format": "float"}
        body = await self._post(self._vectors_url, payload)
        try:
            return read_vectors(body, len(texts), self._where)
        except BadReply as error:
            raise self._error_inside(body) or error from None

    async def _post(self, url: str, payload: dict[str, Any], refusable: Refusable = "") -> bytes:
        """The body of a successful reply; everything else is raised."""
        import aiohttp  # noqa: PLC0415

        if self._session is None:
            raise RuntimeError("A Client is used inside `async with`.")
        if self._options.allowance is not None:
            await self._options.allowance.acquire()
        data = encode(payload)
        body_of_request = data if len(data) < _LARGE_BODY else io.BytesIO(data)
        try:
            with self._limits.within(self._options.timeout):
                async with self._session.post(url, data=body_of_request, **self._request_options) as response:
                    body = await read_body(response, self._options.reply_bytes, self._where)
                    status, headers = response.status, response.headers
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise transport_error(self._where, error) from _presentable(error)
        except (ValueError, AssertionError):  # raised by aiohttp for some replies that are not HTTP
            raise BadReply(f"{self._where}: the reply is not HTTP.") from None
        for secret in self._secrets:  # an endpoint may quote the request
            if len(secret) >= _LIKE_NO_WORD:
                body = body.replace(secret.encode("utf-8", "replace"), HIDDEN.encode())
        if status == 200:
            return body
        raise self.status_error(status, headers, body, refusable)

    def status_error(
        self, status: int, headers: Mapping[str, str], body: bytes, refusable: Refusable = ""
    ) -> ModelError:
        """The typed error in an unsuccessful response."""
        text = body[:4000].decode("utf-8", "replace")
        return status_error(
            self.provider,
            self.wire_name,
            status=status,
            headers=headers,
            body=_json_or_none(body),
            text=text,
            secrets=self._secrets,
            refusable=refusable,
        )

    def _error_inside(self, body: bytes, refusable: Refusable = "") -> ModelError | None:
        """The error that a gateway reports with status 200, or None if the reply contains none."""
        reply = _json_or_none(body)
        inside = reply.get("error") if isinstance(reply, dict) else None
        if not inside:
            return None
        code = inside.get("code") if isinstance(inside, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 200
        return self.status_error(status, {}, body, refusable)


def _json_or_none(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _presentable(error: BaseException) -> BaseException | None:
    """The cause that a traceback may show. The library's exceptions contain the request, and with it keys."""
    import aiohttp  # noqa: PLC0415

    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return error.certificate_error
    return None if isinstance(error, aiohttp.ClientError) else error
