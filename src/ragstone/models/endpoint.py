"""A provider's model, ready to use: the client with its wrappers, opened and closed together."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any

from ragstone.models.cache import Cached, ReplyCache
from ragstone.models.client import Client, provider_key
from ragstone.models.embedder_cached import CachedEmbedder
from ragstone.models.embedder_endpoint import EndpointEmbedder
from ragstone.models.options import ModelOptions
from ragstone.models.providers import Provider
from ragstone.models.rate_limit import Limited, Limiter
from ragstone.models.refusals import Guarded, Refusals
from ragstone.models.replicas import Replicas
from ragstone.models.retry import Patience, Retrying
from ragstone.types import Embedder, Model


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
