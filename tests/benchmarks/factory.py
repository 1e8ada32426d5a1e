"""Benchmarks from their options, as `bench` makes them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragstone.benchmarks import BENCHMARKS
from ragstone.benchmarks.options import options_from
from ragstone.benchmarks.plugin import Context
from ragstone.models import ModelOptions

__all__ = ["make", "make_async"]


async def make_async(
    name: str, *, models: Sequence[str] = (), model_options: ModelOptions | None = None, **options: Any
) -> Any:
    plugin = BENCHMARKS.get(name)
    assert plugin.Options is not None
    context = Context(model_options or ModelOptions(), Path(), tuple(models))
    return await plugin.make(options_from(plugin.Options, options, of=name), context)


def make(name: str, **options: Any) -> Any:
    return asyncio.run(make_async(name, **options))
