"""Chat models and embedders by name: `provider/model`, `local/…`, `scripted/FILE.jsonl`.

    async with open_model("openai/gpt-4o-mini", ModelOptions()) as model:
        completion = await model.generate(Request(messages=(Turn("user", "Hello"),)))

A provider is a row of the table in `models/providers.py` or an entry point in the group `ragstone.models`.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Literal

from ragstone.errors import UsageError
from ragstone.models.allowance import counted
from ragstone.models.embedder_spread import SpreadEmbedder
from ragstone.models.nested_names import is_http
from ragstone.models.options import ModelOptions
from ragstone.models.providers import Provider, Source
from ragstone.registry import Registry, is_place
from ragstone.types import Embedder, Model

__all__ = [
    "PROVIDERS", "ModelOptions", "Provider", "Source", "check_key", "check_model", "check_model_name", "open_embedder",
    "open_model",
]  # fmt: skip

PROVIDERS: Registry[Provider | Source] = Registry(
    "model provider", "ragstone.models", "ragstone.models", needs=["base_url|model"]
)

_DEFAULT = ModelOptions()
_EXAMPLES = {"model": "local/smollm2", "embedder": "local/e5-small"}


def _resolve(name: str, what: str, example: str) -> tuple[Provider | Source, str]:
    """The source and the name within it. Raises `UsageError`, with the nearest spelling if there is one."""
    provider, slash, model = name.partition("/")
    if provider.endswith(":") and model.startswith("/") and not is_http(name):
        from ragstone.models.http_call import no_address  # noqa: PLC0415

        raise no_address(name)
    if slash and model:
        return PROVIDERS.get(provider), model
    if provider in PROVIDERS:
        source = PROVIDERS.get(provider)
        if isinstance(source, Provider) and what == "model":
            example = f"{provider}/{source.example}"
        elif provider in ("local", "scripted"):
            example = {"local": example, "scripted": "scripted/FILE.jsonl"}[provider]
        else:
            example = f"{provider}/MODEL"
        raise UsageError(f"{name!r} names a provider but no {what}: write {example}, for example.")
    if ".py:" in name:
        raise UsageError(f"{name!r} is not the location of a {what}: write package.module:name or file.py:name.")
    raise UsageError(
        f"{name!r} has no provider: write PROVIDER/MODEL, for example {example}. "
        f"The providers are {', '.join(PROVIDERS.names())}."
    )


def check_model(name: str, what: Literal["model", "embedder"], options: ModelOptions = _DEFAULT) -> None:
    """Raises UsageError if there can be no chat model (or embedder) of this name, or not at this address. Opens nothing
    and needs no key; objects at a place are not loaded."""
    if is_place(name):
        return
    if what == "embedder" and is_http(name):
        from ragstone.models.embedder_own import http_embedder_call  # noqa: PLC0415

        http_embedder_call(name, options)
        return
    source, model = _resolve(name, what, _EXAMPLES[what])
    if isinstance(source, Provider):
        from ragstone.models.client import Client  # noqa: PLC0415  (aiohttp is loaded only when needed)

        Client(source, model, options, key="")
    elif what == "model":
        source.model(model, options)
    else:
        source.embedder(model, options)


def check_key(name: object, base_url: object = None) -> None:
    """Raises MissingKey if the provider of this model wants a key that is not set. `base_url`: of the user's own, which
    may want none. Opens nothing."""
    source = (
        PROVIDERS.get(provider) if isinstance(name, str) and (provider := name.partition("/")[0]) in PROVIDERS else 0
    )
    if isinstance(source, Provider):
        from ragstone.models.client import provider_key  # noqa: PLC0415  (aiohttp is loaded only when needed)

        provider_key(source, own_endpoint=bool(base_url))


def check_model_name(name: str) -> None:
    """Raises UsageError for a name that no chat model can have, wherever its endpoint is."""
    source, model = _resolve(name, "model", _EXAMPLES["model"])
    if not isinstance(source, Provider):
        source.model(model, _DEFAULT)


def kept_from(name: str) -> int:
    """The tokens from which the provider of the chat model `name` keeps what prompts begin with; where that is not
    known, 1,024."""
    provider, _, model = name.partition("/")
    source = PROVIDERS.get(provider) if provider in PROVIDERS else None
    return source.kept_from(model) if isinstance(source, Provider) else 1_024


def keeps_within_turns(name: str) -> bool:
    """Whether the provider of the chat model `name` also keeps what prompts share of their last turn: not where the
    beginnings are marked, at the end of a turn."""
    provider = name.partition("/")[0]
    source = PROVIDERS.get(provider) if provider in PROVIDERS else None
    return not (isinstance(source, Provider) and source.interface == "messages")


@contextlib.asynccontextmanager
async def open_model(name: str | Model, options: ModelOptions = _DEFAULT) -> AsyncIterator[Model]:
    """Opens the chat model of this name, with cache, limits and retries; `model.id` is `name`. A model object, or one
    at a place (`package.module:name`, `file.py:name`), is used as it is.

    Requirements are checked before anything is sent: `UnknownName` for the provider, `MissingKey`, `MissingExtra`,
    `UsageError` for an impossible name or base URL. Afterwards calls raise only `ModelError`.
    """
    if not isinstance(name, str) or is_place(name):
        from ragstone.models.own import own_model  # noqa: PLC0415

        yield counted(own_model(name), options.allowance)
        return
    source, model = _resolve(name, "model", _EXAMPLES["model"])
    if isinstance(source, Provider):
        from ragstone.models.endpoint import open_chat  # noqa: PLC0415  (aiohttp is loaded only when needed)

        async with open_chat(source, model, options) as opened:
            yield opened
        return
    async with source.model(model, options) as opened:
        yield opened if name.startswith("local/") else counted(opened, options.allowance)


@contextlib.asynccontextmanager
async def open_embedder(name: str | Embedder, options: ModelOptions = _DEFAULT) -> AsyncIterator[Embedder]:
    """Opens the embedder of this name: `local/e5-small`, `openai/text-embedding-3-small`… or the user's own, by its
    location, its address or as an object (`models/embedder_own.py`). Vectors have unit length and are cached. Raises
    as `open_model` does."""
    async with _opened_embedder(name, options) as opened:
        if options.spread is None or not isinstance(name, str):
            yield opened
        else:
            yield SpreadEmbedder(opened, name, options, options.spread)


@contextlib.asynccontextmanager
async def _opened_embedder(name: str | Embedder, options: ModelOptions) -> AsyncIterator[Embedder]:
    if not isinstance(name, str) or is_place(name) or is_http(name):
        from ragstone.models.embedder_own import open_own_embedder  # noqa: PLC0415

        async with open_own_embedder(name, options) as own:
            yield own
        return
    source, model = _resolve(name, "embedder", _EXAMPLES["embedder"])
    if isinstance(source, Provider):
        from ragstone.models.endpoint import open_vectors  # noqa: PLC0415

        async with open_vectors(source, model, options) as opened:
            yield opened
        return
    async with source.embedder(model, options) as opened:
        yield opened
