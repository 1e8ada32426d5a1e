"""Concurrent calls, none of which outlives the others."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def gather_all(*calls: Coroutine[Any, Any, T]) -> list[T]:
    """The values, in the order of the calls. If one fails, the others are cancelled and have ended before its error is
    raised; `asyncio.gather` would leave them running, and the loop would report them as unhandled."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]
