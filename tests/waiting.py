"""How tests wait: for a condition or for others' turns in the event loop, never for time. What never comes is ended by
the limit that pytest sets on every test."""

import asyncio
from collections.abc import Callable

__all__ = ["turns", "until"]


async def turns(count: int = 50) -> None:
    """Lets everything else in the event loop run, so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    """Lets others run until the condition holds."""
    while not condition():  # noqa: ASYNC110  (the condition may be of another library, which sets no event)
        await asyncio.sleep(0)
