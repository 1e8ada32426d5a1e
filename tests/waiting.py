"""How tests wait: for a condition or for others' turns in the event loop, never for time. What never comes is ended by
the limit that pytest sets on every test."""

import asyncio
import threading
from collections.abc import Callable

__all__ = ["turns", "until", "until_elsewhere"]

_PAUSE = 0.05  # seconds between two looks at what another process does


async def turns(count: int = 50) -> None:
    """Lets everything else in the event loop run, so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    """Lets others run until the condition holds."""
    while not condition():  # noqa: ASYNC110  (the condition may be of another library, which sets no event)
        await asyncio.sleep(0)


def until_elsewhere(condition: Callable[[], object]) -> None:
    """Looks again and again until another process has made the condition hold."""
    pause = threading.Event()
    while not condition():
        pause.wait(_PAUSE)
