"""Chat models and embedders by name: `provider/model`, `local/…`, `scripted/FILE.jsonl`.

    async with open_model("openai/gpt-4o-mini", ModelOptions()) as model:
        completion = await model.generate(Request(messages=(Turn("user", "Hello"),)))

A provider is a row of the table in `models/providers.py` or an entry point in the group `ragstone.models`.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Literal

from ragstone.errors import UsageError
from ragstone.models.allowance import counted
from ragstone.models.options import ModelOptions
from ragstone.models.providers import Provider, Source
from ragstone.registry import Registry, is_place, load_place
from ragstone.types import Embedder, Model

__all__ = ["PROVIDERS", "ModelOptions", "Provider", "Source", "check_model", "open_embedder", "open_model"]

PROVIDERS: Registry[Provider | Source] = Registry("model provider", "ragstone.models", "ragstone.models")

_DEFAULT = ModelOptions()
_EXAMPLES = {"model": "local/smollm2", "embedder": "local/e5-small"}


def _resolve(name: str, what: str, example: str) -> tuple[Provider | Source, str]:
    """The source and the name within it. Raises `UsageError`, with the nearest spelling if there is one."""
    provider, slash, model = name.partition("/")
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
    raise UsageError(
        f"{name!r} has no provider: write PROVIDER/MODEL, for example {example}. "
        f"The providers are {', '.join(PROVIDERS.names())}."
    )


def check_model(name: str, what: Literal["model", "embedder"], options: ModelOptions = _DEFAULT) -> None:
    """Raises UsageError if there can be no chat model (or embedder) of this name, or not at this address. Opens nothing
    and needs no key; objects at a place are not loaded."""
    if is_place(name):
        return
    source, model = _resolve(name, what, _EXAMPLES[what])
    if isinstance(source, Provider):
        from ragstone.models.client import Client  # noqa: PLC0415  (aiohttp is loaded only when needed)

        Client(source, model, options, key="")
    elif what == "model":
        source.model(model, options)
    else:
        source.embedder(model, options)


def _load_object(place: Any, what: str, method: str) -> Any:
    """A model of the user's: an object, or the place of an object or of a function without arguments that returns
    it."""
    value = load_place(what, place) if isinstance(place, str) else place
    if isinstance(value, type) or not hasattr(value, method):
        value = value() if callable(value) else value
    if not hasattr(value, method):
        article = "an" if what == "embedder" else "a"
        raise UsageError(
            f"{place!r} is not {article} {what}: pass PROVIDER/MODEL or an object with a `{method}` method."
        )
    return value


@contextlib.asynccontextmanager
async def open_model(name: str | Model, options: ModelOptions = _DEFAULT) -> AsyncIterator[Model]:
    """Opens the chat model of this name, with cache, limits and retries; `model.id` is `name`. A model object, or one
    at a place (`package.module:name`, `file.py:name`), is used as it is.

    Requirements are checked before anything is sent: `UnknownName` for the provider, `MissingKey`, `MissingExtra`,
    `UsageError` for an impossible name or base URL. Afterwards calls raise only `ModelError`.
    """
    if not isinstance(name, str) or is_place(name):
        yield counted(_load_object(name, "model", "generate"), options.allowance)
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
    """Opens the embedder of this name: `local/e5-small`, `openai/text-embedding-3-small`… Vectors have unit length and
    are cached, those of the user's own embedder too. Raises as `open_model` does."""
    if not isinstance(name, str) or is_place(name):
        from ragstone.models.embedder_cached import CachedEmbedder, identity_of  # noqa: PLC0415

        own = _load_object(name, "embedder", "embed")
        if isinstance(own, CachedEmbedder):  # one that was opened here before
            yield own
            return
        identity = identity_of(own, name if isinstance(name, str) else "")
        folder = options.cache if identity else None
        async with CachedEmbedder(own, folder, identity=identity or {}, kinds=True) as cached:
            yield cached
        return
    source, model = _resolve(name, "embedder", _EXAMPLES["embedder"])
    if isinstance(source, Provider):
        from ragstone.models.endpoint import open_vectors  # noqa: PLC0415

        async with open_vectors(source, model, options) as opened:
            yield opened
        return
    async with source.embedder(model, options) as opened:
        yield opened
