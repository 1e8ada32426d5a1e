"""What several metrics want of one sample is made once."""

import asyncio
import functools
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

from ragstone.models.cache import Shared

T = TypeVar("T")


class Once:
    """Results by key. Who comes while one is made waits for it, and who comes later finds it among the last `kept`.

    A failure is everybody's who waits for it, and is forgotten then: who comes later may have more luck. One that stops
    waiting takes nothing from the others; what nobody waits for any more is cancelled.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._under_way: dict[Hashable, Shared[Any]] = {}

    async def get(self, key: Hashable, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of this key, made by `make` where there is none."""
        if key in self._found:
            self._found.move_to_end(key)
            value: T = self._found[key]
            return value
        place = (asyncio.get_running_loop(), key)  # a task can be waited for in its own loop only
        shared: Shared[T] | None = self._under_way.get(place)
        if shared is None or shared.abandoned:
            task = asyncio.ensure_future(make())
            shared = self._under_way[place] = Shared(task)
            task.add_done_callback(functools.partial(self._done, place, shared))
        return await shared.result()

    def _done(
        self, place: tuple[asyncio.AbstractEventLoop, Hashable], shared: Shared[T], task: asyncio.Task[T]
    ) -> None:
        if self._under_way.get(place) is shared:
            del self._under_way[place]
        if task.cancelled() or task.exception() is not None:
            return
        self._found[place[1]] = task.result()
        while len(self._found) > self._kept:
            self._found.popitem(last=False)
