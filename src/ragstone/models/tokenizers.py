"""How many tokens texts have, by the model's own tokenizer where somebody tells it, by a named estimate otherwise.

    async with open_counter("local/smollm2", ModelOptions()) as counter:
        numbers = await counter.count(["A sentence.", "Another one."])

`local/…` models count by their llama.cpp server; an endpoint that offers `/tokenize` (llama.cpp, vLLM) by that. For all
others there is `ragstone/estimate`, what a typical vocabulary of byte pairs makes of English and Chinese, within about
a quarter. Whoever counts is named in the run, because a length in tokens means nothing without it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

from ragstone.errors import UsageError
from ragstone.models.options import ModelOptions
from ragstone.text import estimate_tokens

__all__ = ["ESTIMATE", "TokenCounter", "open_counter"]

ESTIMATE = "ragstone/estimate"
_AT_ONCE = 16


class TokenCounter(Protocol):
    """Counts tokens. `id` names the tokenizer."""

    @property
    def id(self) -> str: ...
    async def count(self, texts: Sequence[str], /) -> list[int]: ...


class _Estimate:
    id = ESTIMATE

    async def count(self, texts: Sequence[str], /) -> list[int]:
        return [estimate_tokens(text) for text in texts]


class _Endpoint:
    """Counts by `/tokenize` of a server, which takes a text and gives a list."""

    def __init__(self, session: Any, url: str, name: str, field: str, model: str) -> None:
        self._session, self._url, self.id, self._field, self._model = session, url, name, field, model
        self._limit = asyncio.Semaphore(_AT_ONCE)

    async def count(self, texts: Sequence[str], /) -> list[int]:
        return list(await asyncio.gather(*(self._one(text) for text in texts)))

    async def _one(self, text: str) -> int:
        body = {self._field: text, "model": self._model, "add_special_tokens": False, "add_special": False}
        async with self._limit, self._session.post(self._url, json=body) as reply:
            if reply.status != 200:
                raise UsageError(f"{self._url} does not count tokens (status {reply.status}).")
            held = await reply.json()
        tokens = held.get("tokens")
        if not isinstance(tokens, list):
            raise UsageError(f"{self._url} does not count tokens: the reply has no list of them.")
        return len(tokens)


@contextlib.asynccontextmanager
async def open_counter(name: str, options: ModelOptions) -> AsyncIterator[TokenCounter]:
    """Who counts for this model: "local/smollm2", "local/PATH.gguf", "compat/…" at a server with `/tokenize`,
    "ragstone/estimate". A model that nobody counts for gets the estimate."""
    if name.startswith("local/") and name != "local/extractive":
        from ragstone.models.local import local_server  # noqa: PLC0415

        async with local_server(name.removeprefix("local/"), options) as (address, key), _session(key) as session:
            yield _Endpoint(session, f"{_root(address)}/tokenize", name, "content", "")
        return
    if options.base_url and not name.startswith(("scripted/", "ragstone/", "local/")):
        async with _session("") as session:
            for field in ("content", "prompt"):
                counter = _Endpoint(session, f"{_root(options.base_url)}/tokenize", name, field, name.partition("/")[2])
                with contextlib.suppress(UsageError, OSError, ValueError, asyncio.TimeoutError):
                    if (await counter.count(["a word"]))[0] > 0:
                        yield counter
                        return
    yield _Estimate()


def _root(url: str) -> str:
    return url.rstrip("/").removesuffix("/v1")


@contextlib.asynccontextmanager
async def _session(key: str) -> AsyncIterator[Any]:
    import aiohttp  # noqa: PLC0415  (heavy, and only needed where a server counts)

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    connector = aiohttp.TCPConnector(limit=_AT_ONCE, keepalive_timeout=3)
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, timeout=aiohttp.ClientTimeout(total=60), trust_env=True
    ) as session:
        yield session
