"""A provider's model, ready to use: the client with its wrappers, opened and closed together. Embeddings are asked for
in requests as large as the endpoint accepts, several at a time, each retried separately."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ragstone.models.cache import Cached, ReplyCache
from ragstone.models.client import Client, provider_key
from ragstone.models.embedder_cached import CachedEmbedder
from ragstone.models.options import ModelOptions
from ragstone.models.providers import Provider
from ragstone.models.rate_limit import Limited, Limiter
from ragstone.models.refusals import Guarded, Refusals
from ragstone.models.replicas import Replicas
from ragstone.models.retry import Patience, Retrying, retrying
from ragstone.types import Embedder, Model

if TYPE_CHECKING:
    import numpy as np

# Characters in one request: OpenAI takes 300,000 tokens, and a Chinese character may be more than one.
_MAX_CHARACTERS = 200_000


def group_texts(texts: Sequence[str], max_texts: int, characters: int = _MAX_CHARACTERS) -> list[list[str]]:
    """`texts` in order, in groups of at most `max_texts` texts and `characters`, unless one text alone is longer."""
    groups: list[list[str]] = []
    size = 0
    for text in texts:
        if not groups or len(groups[-1]) >= max_texts or size + len(text) > characters:
            groups.append([])
            size = 0
        groups[-1].append(text)
        size += len(text)
    return groups


class EndpointEmbedder:
    """An `Embedder` behind an endpoint. Queries and passages are embedded alike: endpoints do not distinguish them."""

    def __init__(self, client: Client | Replicas, patience: Patience, limiter: Limiter, refusals: Refusals) -> None:
        self._client, self._patience, self._limiter, self._refusals = client, patience, limiter, refusals

    @property
    def id(self) -> str:
        return self._client.id

    async def embed(
        self, texts: Sequence[str], /, *, kind: Literal["query", "passage"] = "passage"
    ) -> "np.ndarray[Any, Any]":
        """(n, dimensions) float32, rows of unit length in the order of `texts`. Raises the errors of a model call."""
        import numpy as np  # noqa: PLC0415

        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        groups = group_texts(texts, self._client.provider.embedding_batch)
        try:
            async with asyncio.TaskGroup() as tasks:
                parts = [tasks.create_task(self._embed(group)) for group in groups]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return np.concatenate([part.result() for part in parts])

    async def _embed(self, group: list[str]) -> "np.ndarray[Any, Any]":
        tokens = sum(len(text.encode("utf-8", "replace")) for text in group) / 3.5

        async def before_retry() -> None:
            await self._limiter.admit(lambda: tokens)

        async with self._limiter.places:
            await self._limiter.admit(lambda: tokens)
            return await self._refusals.guard(
                retrying, lambda: self._client.vectors(group), self._patience, where=self.id, before_retry=before_retry
            )


def patience_for(options: ModelOptions, refusals: Refusals | None = None) -> Patience:
    return Patience(attempts=options.attempts, deadline=options.deadline, refusals=refusals)


def limiter_for(options: ModelOptions, refusals: Refusals) -> Limiter:
    if options.limiter is not None:
        return options.limiter(options.in_flight, refusals.check)
    return Limiter(
        check=refusals.check,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
        in_flight=options.in_flight,
    )


def compose(
    client: Model,
    options: ModelOptions,
    *,
    identity: Mapping[str, Any],
    cache: ReplyCache | None = None,
    one_at_a_time: bool = True,
    batched: Callable[[Model], Model] = lambda model: model,
) -> Cached:
    """`Cached(Limited(Guarded(Retrying(client))))`. The limiter sees every retry, too. `one_at_a_time`: until the
    endpoint has answered. `batched` wraps what is in the cache."""
    refusals = Refusals(one_at_a_time=one_at_a_time)
    limiter = limiter_for(options, refusals)
    retrying = Retrying(client, patience_for(options, refusals), before_retry=limiter.admit_again)
    return Cached(batched(Limited(Guarded(retrying, refusals), limiter)), cache, identity=identity)


def identity_of(client: Client | Replicas) -> dict[str, Any]:
    """What distinguishes this model from others in the reply cache. Never the key."""
    return {"base_url": client.base_url, "model": client.wire_name, "extra": dict(client.provider.extra)}


def reply_cache(options: ModelOptions) -> ReplyCache | None:
    """The reply cache of these options, not yet open; None if they have none."""
    return ReplyCache(options.cache) if options.cache is not None else None


@contextlib.asynccontextmanager
async def open_chat(provider: Provider, name: str, options: ModelOptions) -> AsyncIterator[Model]:
    """Opens the chat model `name` of `provider`. Raises `MissingKey` before anything is sent."""
    cache = reply_cache(options)
    client = _client(provider, name, options, cache)
    identity = identity_of(client)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(client)
        batched = await stack.enter_async_context(_lane(client, options))
        yield await stack.enter_async_context(compose(client, options, identity=identity, cache=cache, batched=batched))


def _lane(
    client: Client | Replicas, options: ModelOptions
) -> contextlib.AbstractAsyncContextManager[Callable[[Model], Model]]:
    """What puts the requests of this client into batches, if they go there: those of the first endpoint."""
    if options.batch is None:
        return contextlib.nullcontext(lambda model: model)
    key = provider_key(client.provider, own_endpoint=bool(options.base_urls))
    first = client.first if isinstance(client, Replicas) else client
    return options.batch.lane(first, key=key, identity=identity_of(client), allowance=options.allowance)


@contextlib.asynccontextmanager
async def open_vectors(provider: Provider, name: str, options: ModelOptions) -> AsyncIterator[Embedder]:
    """Opens the embedder `name` of `provider`. Raises `MissingKey` before anything is sent."""
    client = _client(provider, name, options)
    refusals = Refusals()
    embedder = EndpointEmbedder(client, patience_for(options, refusals), limiter_for(options, refusals), refusals)
    identity = {"base_url": client.base_url, "model": name}
    # Endpoints do not distinguish queries and passages, so both share their vectors.
    async with client, CachedEmbedder(embedder, options.cache, identity=identity, kinds=False) as cached:
        yield cached


def _client(
    provider: Provider, name: str, options: ModelOptions, memory: ReplyCache | None = None
) -> Client | Replicas:
    key = provider_key(provider, own_endpoint=bool(options.base_urls))
    clients = [
        Client(provider, name, replace(options, base_url=url), key=key, memory=memory)
        for url in options.base_urls or (None,)
    ]
    return clients[0] if len(clients) == 1 else Replicas(clients, options)
