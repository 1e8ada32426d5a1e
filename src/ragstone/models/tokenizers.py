"""Counts the tokens of texts, by the model's own tokenizer if it is available, else by a named one.

    async with open_counter("local/smollm2", ModelOptions()) as counter:
        numbers = await counter.count(["A sentence.", "Another one."])

`local/…` models count by their llama.cpp server; an endpoint that offers `/tokenize` (llama.cpp, vLLM, SGLang, TGI) by
that; models of OpenAI by their published vocabulary, if the package `bpe-openai` is installed. All others use
`ragstone/estimate`, the count of a typical byte-pair vocabulary for English and Chinese, within about a quarter. The
run records the tokenizer, because a length in tokens means nothing without it.
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
from ragstone.models.network import endpoint_url, normal_base_url, open_session
from ragstone.models.options import ModelOptions
from ragstone.models.reply_body import read_body
from ragstone.text import estimate_tokens
from ragstone.text.redaction import shown_url
from ragstone.types import Turn

ESTIMATE = "ragstone/estimate"
_VOCABULARIES = ("openai/o200k_base", "openai/cl100k_base")
TOKENIZERS = (ESTIMATE, "local/e5-small", *_VOCABULARIES)
"""Tokenizers by name. The name of a chat model (`local/smollm2`, `compat/…`) means its own tokenizer."""

_O200K = re.compile(r"(?:ft:)?(?:gpt-(?:4o|4\.\d|[5-9])|chatgpt-|o\d(?!\d))")
_CL100K = re.compile(r"(?:ft:)?gpt-(?:4|3\.5)")
_CONCURRENCY = 16
_PIECE_CHARACTERS = 50_000  # characters
# The field of the text, by server: llama.cpp; vLLM and SGLang; TGI.
_FIELDS = ("content", "prompt", "inputs")


class TokenCounter(Protocol):
    """Counts tokens. `id` names the tokenizer; `window` is the context window of the model, None if unknown."""

    @property
    def id(self) -> str: ...
    @property
    def window(self) -> int | None: ...
    async def count(self, texts: Sequence[str], /) -> list[int]: ...
    async def template_tokens(self, turns: Sequence[Turn], /) -> int | None:
        """The tokens that the model's chat template adds to those of the turns; None if unknown."""
        ...


class _LocalCounter:
    """Counts in this process, in a thread."""

    window = None

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.id, self._count = name, count

    def count_text(self, text: str) -> int:
        return sum(map(self._count, _pieces(text)))

    async def count(self, texts: Sequence[str], /) -> list[int]:
        return await asyncio.to_thread(lambda: [self.count_text(text) for text in texts])

    async def template_tokens(self, _: Sequence[Turn], /) -> int | None:
        return None


class _ServerCounter:
    """Counts by `/tokenize` of a server. Equal texts are counted once."""

    def __init__(
        self, session: Any, root: str, name: str, field: str, model: str, request_options: dict[str, Any], largest: int
    ) -> None:
        self._session, self._root, self._model, self._request_options, self._largest = (
            session,
            root,
            model,
            request_options,
            largest,
        )
        self.id, self._field = name, field
        self.window: int | None = None
        self._limit = asyncio.Semaphore(_CONCURRENCY)
        self._counts: dict[str, int] = {}

    async def count(self, texts: Sequence[str], /) -> list[int]:
        new = [text for text in dict.fromkeys(texts) if text not in self._counts]
        self._counts.update(zip(new, await gather_all(*map(self._count, new)), strict=True))
        return [self._counts[text] for text in texts]

    async def _count(self, text: str) -> int:
        no_special_tokens = {"add_special_tokens": False, "add_special": False}
        replies = [await self._ask("tokenize", {self._field: piece, **no_special_tokens}) for piece in _pieces(text)]
        return sum(_number(reply, self._where("tokenize")) for reply in replies)

    async def template_tokens(self, turns: Sequence[Turn], /) -> int | None:
        messages = [{"role": turn.role, "content": turn.content} for turn in turns]
        continues = messages[-1]["role"] == "assistant"
        try:
            if self._field == "content":
                prompt = (await self._ask("apply-template", {"messages": messages}))["prompt"]
                reply = await self._ask("tokenize", {"content": prompt, "add_special": True})
            elif self._field == "prompt":
                options = {"add_generation_prompt": not continues, "continue_final_message": continues}
                reply = await self._ask("tokenize", {"messages": messages, **options})
            else:
                return None
            total = _number(reply, self._where("tokenize"))
        except (UsageError, KeyError, TypeError):
            return None
        return max(0, total - sum(await self.count([turn.content for turn in turns])))

    async def find_window(self, *, trained: bool = False) -> None:
        """Sets `window` from the server's description of its model, if there is one. `trained`: use the length that
        the model was trained for, because the server can be started with any."""
        with contextlib.suppress(UsageError, KeyError, TypeError, AttributeError):
            models = (await self._ask("v1/models", None))["data"]
            (model,) = [model for model in models if model["id"] == self._model] or models[:1]
            meta = model.get("meta") or {}
            limits = [model.get("max_model_len"), meta.get("n_ctx_train"), None if trained else meta.get("n_ctx")]
            self.window = min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=None)

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
                self._session.request(
                    method, endpoint_url(self._root, path), json=body, **self._request_options
                ) as reply,
            ):
                if reply.status != 200:
                    raise UsageError(f"{self._where(path)} does not count tokens (status {reply.status}).")
                return json.loads(await read_body(reply, self._largest, self._where(path)))
        except (ModelError, ValueError, RecursionError):
            raise UsageError(
                f"{self._where(path)} does not count tokens: its reply is too large or not JSON."
            ) from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise UsageError(f"{self._where(path)} does not count tokens ({reason_of(error)}).") from None


def _number(reply: Any, where: str) -> int:
    """The number of tokens in a reply: a list of tokens, or an object with such a list or with a count."""
    tokens = reply.get("tokens", reply.get("count")) if isinstance(reply, dict) else reply
    if isinstance(tokens, list):
        return len(tokens)
    if isinstance(tokens, int) and not isinstance(tokens, bool):
        return tokens
    raise UsageError(f"{where} does not count tokens: the reply has no list of them.")


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that any tokenizer takes at once, split at a space if possible; what UTF-8 cannot hold is
    replaced."""
    text, start = text.encode("utf-8", "replace").decode("utf-8"), 0
    while start < len(text):
        stop = start + _PIECE_CHARACTERS
        if stop < len(text) and (blank := max(text.rfind(" ", start + 1, stop), text.rfind("\n", start + 1, stop))) > 0:
            stop = blank
        yield text[start:stop]
        start = stop


@contextlib.asynccontextmanager
async def open_counter(name: str, options: ModelOptions, *, explicit: bool = False) -> AsyncIterator[TokenCounter]:
    """Opens the counter of this name: one of `TOKENIZERS`, "local/smollm2", "local/PATH.gguf", a model at an endpoint.

    A model without a tokenizer gets the estimate, unless the user chose the name for counting (`explicit`): then it is
    a UsageError."""
    async with contextlib.AsyncExitStack() as stack:
        counter = _local_counter(name, explicit) or await _server_counter(name, options, stack)
        if counter is None and explicit:
            provider = name.partition("/")[0]
            if provider in ("local", "openai", "ragstone") or "/" not in name:
                hint = f"Use {', '.join(TOKENIZERS)}, or a model that counts, such as local/smollm2."
                raise UnknownName("tokenizer", name, TOKENIZERS, hint=hint)
            raise UsageError(
                f"--tokenizer {name}: no endpoint counts its tokens. Name the --base-url of a server with /tokenize, "
                f"or one of {', '.join(TOKENIZERS)}."
            )
        yield counter or _LocalCounter(ESTIMATE, estimate_tokens)


def count_here(name: str) -> Callable[[str], int]:
    """A function that counts the tokens of a text by one of `TOKENIZERS`, in this process. Raises UnknownName for any
    other name, and MissingExtra."""
    counter = _local_counter(name, explicit=True)
    if counter is None:
        raise UnknownName("tokenizer", name, TOKENIZERS)
    return counter.count_text


def _local_counter(name: str, explicit: bool) -> _LocalCounter | None:
    """The tokenizer of this name in this process; None if there is none."""
    if name == ESTIMATE:
        return _LocalCounter(ESTIMATE, estimate_tokens)
    if name == "local/e5-small":
        from ragstone.models.embedder_local import token_counter  # noqa: PLC0415

        return _LocalCounter(name, token_counter())
    vocabulary = _vocabulary(name)
    if vocabulary is None:
        return None
    if importlib.util.find_spec("bpe_openai") is None:
        if not explicit:
            return None
        raise MissingExtra(f"{vocabulary} needs the package bpe-openai, which is not installed: pip install bpe-openai")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from the way it loads its data
        import bpe_openai  # noqa: PLC0415

        encoding = bpe_openai.get_encoding(vocabulary.removeprefix("openai/"))
    return _LocalCounter(vocabulary, lambda text: len(encoding.encode_ordinary(text)))


def _vocabulary(name: str) -> str | None:
    """The vocabulary of a model of OpenAI, or the vocabulary of this name."""
    provider, _, model = name.partition("/")
    if name in _VOCABULARIES or provider != "openai":
        return name if name in _VOCABULARIES else None
    if _O200K.match(model):
        return _VOCABULARIES[0]
    return _VOCABULARIES[1] if _CL100K.match(model) else None


async def _server_counter(name: str, options: ModelOptions, stack: contextlib.AsyncExitStack) -> TokenCounter | None:
    """A server that counts for this model; None if there is none."""
    provider, _, model = name.partition("/")
    if provider == "local" and model not in ("extractive", ""):
        from ragstone.models.local import local_server  # noqa: PLC0415

        address, key = await stack.enter_async_context(local_server(model, options))
        session, request_options = await _session(address, key, stack)
        counter = _ServerCounter(session, address, name, _FIELDS[0], "", request_options, options.reply_bytes)
        await counter.find_window(trained=True)
        return counter
    return await _endpoint_counter(name, provider, model, options, stack)


async def _endpoint_counter(
    name: str, provider: str, model: str, options: ModelOptions, stack: contextlib.AsyncExitStack
) -> TokenCounter | None:
    from ragstone.models import PROVIDERS, Provider  # noqa: PLC0415
    from ragstone.models.client import provider_key  # noqa: PLC0415

    source = PROVIDERS.get(provider) if provider in PROVIDERS else None
    if not isinstance(source, Provider) or not model:
        return None
    # Providers that require a key have no /tokenize at their own address.
    base_url = options.address or (source.base_url if source.key_optional else "")
    if not base_url:
        return None
    path, mark, query = normal_base_url(base_url).partition("?")
    root = path.removesuffix("/v1") + mark + query
    session, request_options = await _session(root, provider_key(source, own_endpoint=True), stack)
    for field in _FIELDS:
        counter = _ServerCounter(session, root, name, field, model, request_options, options.reply_bytes)
        with contextlib.suppress(UsageError):
            if (await counter.count(["a word"]))[0] > 0:
                await counter.find_window()
                return counter
    return None


async def _session(url: str, key: str, stack: contextlib.AsyncExitStack) -> tuple[Any, dict[str, Any]]:
    """A session for this server, and the options of each of its requests."""
    session, request_options = open_session(url, key, connections=_CONCURRENCY, timeout=60)
    return await stack.enter_async_context(session), request_options
