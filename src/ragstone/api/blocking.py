"""The blocking form of an async function, made from it, so that logic is written once."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from ragstone.errors import UsageError

__all__ = ["blocking"]

P = ParamSpec("P")
R = TypeVar("R")


def blocking(function: Callable[P, Coroutine[Any, Any, R]], /, *, name: str) -> Callable[P, R]:
    """The blocking form of `function`, called `name`. Inside a running event loop it raises `UsageError` that says
    to await the async form instead: nothing is patched, and no second loop is started behind the first."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(function(*args, **kwargs))
        raise UsageError(
            f"ragstone.{name}(…) blocks, and an event loop is running here: write "
            f"`await ragstone.{function.__name__}(…)` instead (in a notebook too)."
        )

    wrapper.__name__ = wrapper.__qualname__ = name
    return wrapper
