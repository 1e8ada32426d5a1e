"""Chat models and embedders by name: `provider/model`, `local/…`, `scripted/FILE.jsonl`.

    async with open_model("openai/gpt-4o-mini", ModelOptions()) as model:
        completion = await model.generate(Request(messages=(Turn("user", "Hello"),)))

A provider is one row of a table (`models/providers.py`) or an entry point of the group `ragstone.models`.
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from ragstone.errors import UsageError
from ragstone.models.options import ModelOptions
from ragstone.models.providers import Provider, Source
from ragstone.registry import Registry, is_place, load_place
from ragstone.types import Embedder, Model

__all__ = ["PROVIDERS", "ModelOptions", "Provider", "Source", "open_embedder", "open_model"]

PROVIDERS: Registry[Provider | Source] = Registry("model provider", "ragstone.models", "ragstone.models")

_DEFAULT = ModelOptions()


def _resolve(name: str, what: str, example: str) -> tuple[Provider | Source, str]:
    """The source and the name within it. Raises `UsageError`, with the nearest right spelling where there is one."""
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
        f"{name!r} names no {what}: write PROVIDER/MODEL, for example {example}. "
        f"There are these providers: {', '.join(PROVIDERS.names())}."
    )


def _own(given: Any, what: str, does: str) -> Any:
    """The user's own: an object, or at its place an object or a function without arguments that returns it."""
    found = load_place(what, given) if isinstance(given, str) else given
    if isinstance(found, type) or not hasattr(found, does):
        found = found() if callable(found) else found
    if not hasattr(found, does):
        raise UsageError(f"{given!r} is no {what}: it has no `{does}`.")
    return found


@contextlib.asynccontextmanager
async def open_model(name: str | Model, options: ModelOptions = _DEFAULT) -> AsyncIterator[Model]:
    """The chat model of this name, ready to be asked, with cache, limits and retries; `model.id` is `name`. A model
    that is one already, or one at a place (`package.module:name`, `file.py:name`), is asked as it is.

    What it needs is checked before anything is sent: `UnknownName` for the provider, `MissingKey`, `MissingExtra`,
    `UsageError` for a name or base URL that cannot be. Afterwards calls raise `ModelError` only.
    """
    if not isinstance(name, str) or is_place(name):
        yield _own(name, "model", "generate")
        return
    source, model = _resolve(name, "model", "local/smollm2")
    if isinstance(source, Provider):
        from ragstone.models.endpoint import open_chat  # noqa: PLC0415  (aiohttp only when something is called)

        async with open_chat(source, model, options) as opened:
            yield opened
        return
    async with source.model(model, options) as opened:
        yield opened


@contextlib.asynccontextmanager
async def open_embedder(name: str | Embedder, options: ModelOptions = _DEFAULT) -> AsyncIterator[Embedder]:
    """The embedder of this name: `local/e5-small`, `openai/text-embedding-3-small`… Raises as `open_model` does."""
    if not isinstance(name, str) or is_place(name):
        yield _own(name, "embedder", "embed")
        return
    source, model = _resolve(name, "embedder", "local/e5-small")
    if isinstance(source, Provider):
        from ragstone.models.endpoint import open_vectors  # noqa: PLC0415

        async with open_vectors(source, model, options) as opened:
            yield opened
        return
    async with source.embedder(model, options) as opened:
        yield opened
