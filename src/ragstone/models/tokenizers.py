"""How many tokens texts have, by the model's own tokenizer where somebody tells it, else by a named one.

    async with open_counter("local/smollm2", ModelOptions()) as counter:
        numbers = await counter.count(["A sentence.", "Another one."])

`local/…` models count by their llama.cpp server; an endpoint that offers `/tokenize` (llama.cpp, vLLM, SGLang, TGI) by
that; models of OpenAI by their published vocabulary, where the package `bpe-openai` is installed. For all others there
is `ragstone/estimate`: what a typical vocabulary of byte pairs makes of English and Chinese, within about a quarter.
Whoever counts is named in the run, because a length in tokens means nothing without it.
"""

import asyncio
import contextlib
import importlib.util
import json
import re
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Protocol

from ragstone.errors import MissingExtra, ModelError, UnknownName, UsageError
from ragstone.models.concurrency import gather_all
from ragstone.models.http_errors import reason_of
from ragstone.models.network import endpoint_url
from ragstone.models.options import ModelOptions
from ragstone.models.reply_body import ENCODINGS, read_body
from ragstone.text import estimate_tokens
from ragstone.text.redaction import shown_url
from ragstone.types import Turn

__all__ = ["ESTIMATE", "TOKENIZERS", "TokenCounter", "count_here", "open_counter"]

ESTIMATE = "ragstone/estimate"
_VOCABULARIES = ("openai/o200k_base", "openai/cl100k_base")
TOKENIZERS = (ESTIMATE, "local/e5-small", *_VOCABULARIES)
"""Tokenizers by name. Beside them a chat model's name stands for its own: `local/smollm2`, `compat/…`."""

_O200K = re.compile(r"(?:ft:)?(?:gpt-(?:4o|4\.\d|[5-9])|chatgpt-|o\d(?!\d))")
_CL100K = re.compile(r"(?:ft:)?gpt-(?:4|3\.5)")
_AT_ONCE = 16
_PIECE = 50_000  # characters
# The field that holds the text, by server: llama.cpp; vLLM and SGLang; TGI.
_FIELDS = ("content", "prompt", "inputs")


class TokenCounter(Protocol):
    """Counts tokens. `id` names the tokenizer; `window` is what the model takes at most, None where nobody says."""

    @property
    def id(self) -> str: ...
    @property
    def window(self) -> int | None: ...
    async def count(self, texts: Sequence[str], /) -> list[int]: ...
    async def marks(self, turns: Sequence[Turn], /) -> int | None:
        """Tokens that the model's chat template adds to the turns' own; None where nobody says."""
        ...


class _Here:
    """Counts in this process, in a thread."""

    window = None

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.id, self._count = name, count

    def one(self, text: str) -> int:
        return sum(map(self._count, _pieces(text)))

    async def count(self, texts: Sequence[str], /) -> list[int]:
        return await asyncio.to_thread(lambda: [self.one(text) for text in texts])

    async def marks(self, _: Sequence[Turn], /) -> int | None:
        return None


class _Server:
    """Counts by `/tokenize` of a server. Equal texts are counted once."""

    def __init__(
        self, session: Any, root: str, name: str, field: str, model: str, sending: dict[str, Any], largest: int
    ) -> None:
        self._session, self._root, self._model, self._sending, self._largest = session, root, model, sending, largest
        self.id, self._field = name, field
        self.window: int | None = None
        self._limit = asyncio.Semaphore(_AT_ONCE)
        self._known: dict[str, int] = {}

    async def count(self, texts: Sequence[str], /) -> list[int]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, await gather_all(*map(self._one, new)), strict=True))
        return [self._known[text] for text in texts]

    async def _one(self, text: str) -> int:
        plain = {"add_special_tokens": False, "add_special": False}
        told = [await self._ask("tokenize", {self._field: piece, **plain}) for piece in _pieces(text)]
        return sum(_number(one, self._where("tokenize")) for one in told)

    async def marks(self, turns: Sequence[Turn], /) -> int | None:
        messages = [{"role": turn.role, "content": turn.content} for turn in turns]
        begun = messages[-1]["role"] == "assistant"
        try:
            if self._field == "content":
                prompt = (await self._ask("apply-template", {"messages": messages}))["prompt"]
                told = await self._ask("tokenize", {"content": prompt, "add_special": True})
            elif self._field == "prompt":
                how = {"add_generation_prompt": not begun, "continue_final_message": begun}
                told = await self._ask("tokenize", {"messages": messages, **how})
            else:
                return None
            whole = _number(told, self._where("tokenize"))
        except (UsageError, KeyError, TypeError):
            return None
        return max(0, whole - sum(await self.count([turn.content for turn in turns])))

    async def find_window(self, *, trained: bool = False) -> None:
        """Sets `window` by what the server says of its model, where it does; `trained`: what the model was trained for,
        for a server that can be started with any."""
        with contextlib.suppress(UsageError, KeyError, TypeError, AttributeError):
            models = (await self._ask("v1/models", None))["data"]
            (held,) = [one for one in models if one["id"] == self._model] or models[:1]
            meta = held.get("meta") or {}
            found = [held.get("max_model_len"), meta.get("n_ctx_train"), None if trained else meta.get("n_ctx")]
            self.window = min((one for one in found if isinstance(one, int) and one > 0), default=None)

    def _where(self, path: str) -> str:
        return shown_url(endpoint_url(self._root, path))

    async def _ask(self, path: str, body: dict[str, Any] | None) -> Any:
        import aiohttp  # noqa: PLC0415

        if body is not None and self._model:
            body = {"model": self._model, **body}
        method = "GET" if body is None else "POST"
        try:
            async with (
                self._limit,
                self._session.request(method, endpoint_url(self._root, path), json=body, **self._sending) as reply,
            ):
                if reply.status != 200:
                    raise UsageError(f"{self._where(path)} does not count tokens (status {reply.status}).")
                return json.loads(await read_body(reply, self._largest, self._where(path)))
        except (ModelError, ValueError, RecursionError):
            raise UsageError(f"{self._where(path)} does not count tokens: its reply is no JSON of this size.") from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise UsageError(f"{self._where(path)} does not count tokens ({reason_of(error)}).") from None


def _number(told: Any, where: str) -> int:
    """The number of tokens in a reply: a list of them, an object with such a list, or with their count."""
    tokens = told.get("tokens", told.get("count")) if isinstance(told, dict) else told
    if isinstance(tokens, list):
        return len(tokens)
    if isinstance(tokens, int) and not isinstance(tokens, bool):
        return tokens
    raise UsageError(f"{where} does not count tokens: the reply has no list of them.")


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that any tokenizer takes at once, cut before a blank where there is one; what UTF-8 cannot
    hold is replaced."""
    text, start = text.encode("utf-8", "replace").decode("utf-8"), 0
    while start < len(text):
        stop = start + _PIECE
        if stop < len(text) and (blank := max(text.rfind(" ", start + 1, stop), text.rfind("\n", start + 1, stop))) > 0:
            stop = blank
        yield text[start:stop]
        start = stop


@contextlib.asynccontextmanager
async def open_counter(name: str, options: ModelOptions, *, chosen: bool = False) -> AsyncIterator[TokenCounter]:
    """Who counts by this name: one of `TOKENIZERS`, "local/smollm2", "local/PATH.gguf", a model at an endpoint.

    A model that nobody counts for gets the estimate, unless the user has `chosen` the name for counting: then what
    does not count is a UsageError."""
    async with contextlib.AsyncExitStack() as stack:
        counter = _named(name, chosen) or await _of_model(name, options, stack)
        if counter is None and chosen:
            provider = name.partition("/")[0]
            if provider in ("local", "openai", "ragstone") or "/" not in name:
                hint = f"There are {', '.join(TOKENIZERS)}, and models that count, such as local/smollm2."
                raise UnknownName("tokenizer", name, TOKENIZERS, hint=hint)
            raise UsageError(
                f"--tokenizer {name}: no endpoint counts its tokens. Name the --base-url of a server with /tokenize, "
                f"or one of {', '.join(TOKENIZERS)}."
            )
        yield counter or _Here(ESTIMATE, estimate_tokens)


def count_here(name: str) -> Callable[[str], int]:
    """Counts the tokens of a text by one of `TOKENIZERS`, in this process and at once. Raises UnknownName for any other
    name, and MissingExtra."""
    counter = _named(name, chosen=True)
    if counter is None:
        raise UnknownName("tokenizer", name, TOKENIZERS)
    return counter.one


def _named(name: str, chosen: bool) -> _Here | None:
    """The tokenizer of this name in this process; None where it is no such name."""
    if name == ESTIMATE:
        return _Here(ESTIMATE, estimate_tokens)
    if name == "local/e5-small":
        from ragstone.models.embedder_local import token_counter  # noqa: PLC0415

        return _Here(name, token_counter())
    vocabulary = _vocabulary(name)
    if vocabulary is None:
        return None
    if importlib.util.find_spec("bpe_openai") is None:
        if not chosen:
            return None
        raise MissingExtra(f"{vocabulary} needs the package bpe-openai, which is not installed: pip install bpe-openai")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of how it reads its own data
        import bpe_openai  # noqa: PLC0415

        encoding = bpe_openai.get_encoding(vocabulary.removeprefix("openai/"))
    return _Here(vocabulary, lambda text: len(encoding.encode_ordinary(text)))


def _vocabulary(name: str) -> str | None:
    """The vocabulary of a model of OpenAI, or the one that the name itself is."""
    provider, _, model = name.partition("/")
    if name in _VOCABULARIES or provider != "openai":
        return name if name in _VOCABULARIES else None
    if _O200K.match(model):
        return _VOCABULARIES[0]
    return _VOCABULARIES[1] if _CL100K.match(model) else None


async def _of_model(name: str, options: ModelOptions, stack: contextlib.AsyncExitStack) -> TokenCounter | None:
    """A server that counts for this model; None where there is none."""
    provider, _, model = name.partition("/")
    if provider == "local" and model not in ("extractive", ""):
        from ragstone.models.local import local_server  # noqa: PLC0415

        address, key = await stack.enter_async_context(local_server(model, options))
        session, sending = await _session(address, key, stack)
        counter = _Server(session, address, name, _FIELDS[0], "", sending, options.reply_bytes)
        await counter.find_window(trained=True)
        return counter
    return await _of_endpoint(name, provider, model, options, stack)


async def _of_endpoint(
    name: str, provider: str, model: str, options: ModelOptions, stack: contextlib.AsyncExitStack
) -> TokenCounter | None:
    from ragstone.models import PROVIDERS, Provider  # noqa: PLC0415
    from ragstone.models.client import provider_key  # noqa: PLC0415
    from ragstone.models.network import normal_base_url  # noqa: PLC0415

    source = PROVIDERS.get(provider) if provider in PROVIDERS else None
    if not isinstance(source, Provider) or not model:
        return None
    # Providers of whom a key is needed offer no /tokenize at their own address.
    base_url = options.base_url or (source.base_url if source.key_optional else "")
    if not base_url:
        return None
    path, mark, query = normal_base_url(base_url).partition("?")
    root = path.removesuffix("/v1") + mark + query
    session, sending = await _session(root, provider_key(source, own_endpoint=True), stack)
    for field in _FIELDS:
        counter = _Server(session, root, name, field, model, sending, options.reply_bytes)
        with contextlib.suppress(UsageError):
            if (await counter.count(["a word"]))[0] > 0:
                await counter.find_window()
                return counter
    return None


async def _session(url: str, key: str, stack: contextlib.AsyncExitStack) -> tuple[Any, dict[str, Any]]:
    """A session for this server, and what goes with each of its requests."""
    import aiohttp  # noqa: PLC0415  (heavy, and only needed where a server counts)

    from ragstone.models.network import certificates, proxy_and_headers, proxy_for  # noqa: PLC0415

    secure = url.startswith("https:")
    sending: dict[str, Any] = {"allow_redirects": False, "ssl": certificates() if secure else True}
    if proxy := proxy_for(url):
        address, headers = proxy_and_headers(proxy)
        sending |= {"proxy": address, "proxy_headers" if secure else "headers": headers}
    connector = aiohttp.TCPConnector(limit=_AT_ONCE, keepalive_timeout=3)
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": ENCODINGS, **({"Authorization": f"Bearer {key}"} if key else {})},
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=60, sock_connect=5),
    )
    return await stack.enter_async_context(session), sending
