"""A result is made once, for all who want it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ragstone.metrics.judge.once import Once


class Maker:
    """Makes a number each time, when it is told to."""

    def __init__(self) -> None:
        self.made = 0
        self.cancelled = 0
        self.failing = False
        self.ready = asyncio.Event()

    async def __call__(self) -> int:
        self.made += 1
        number = self.made
        try:
            await self.ready.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failing:
            raise ValueError(f"no luck {number}")
        return number


async def started(get: Callable[[], Coroutine[Any, Any, int]], count: int) -> list["asyncio.Task[int]"]:
    tasks = [asyncio.create_task(get()) for _ in range(count)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_who_comes_while_it_is_made_waits_and_who_comes_later_finds_it() -> None:
    once, maker = Once(4), Maker()
    tasks = await started(lambda: once.get("a", maker), 5)
    maker.ready.set()
    assert await asyncio.gather(*tasks) == [1] * 5
    assert await once.get("a", maker) == 1
    assert await once.get("b", maker) == 2


async def test_a_failure_is_shared_and_then_forgotten() -> None:
    once, maker = Once(4), Maker()
    maker.failing = True
    tasks = await started(lambda: once.get("a", maker), 3)
    maker.ready.set()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(error) for error in ended] == ["no luck 1"] * 3
    maker.failing = False
    assert await once.get("a", maker) == 2


async def test_one_that_is_cancelled_takes_nothing_from_the_others() -> None:
    once, maker = Once(4), Maker()
    first, second = await started(lambda: once.get("a", maker), 2)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    maker.ready.set()
    assert await second == 1
    assert maker.cancelled == 0


async def test_what_nobody_waits_for_any_more_is_cancelled_and_may_be_wanted_again() -> None:
    once, maker = Once(4), Maker()
    tasks = await started(lambda: once.get("a", maker), 2)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert maker.cancelled == 1
    maker.ready.set()
    assert await once.get("a", maker) == 2


async def test_the_last_ones_are_kept_and_no_more() -> None:
    once, maker = Once(2), Maker()
    maker.ready.set()
    for key in "abac":  # b is the one that was wanted least recently
        await once.get(key, maker)
    assert maker.made == 3
    assert await once.get("a", maker) == 1
    assert await once.get("b", maker) == 4


def test_it_serves_one_event_loop_after_another() -> None:
    once = Once(2)

    async def broken() -> int:
        maker = Maker()
        task = asyncio.create_task(once.get("a", maker))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return maker.made

    async def whole() -> int:
        maker = Maker()
        maker.ready.set()
        return await once.get("a", maker)

    assert asyncio.run(broken()) == 1
    assert asyncio.run(whole()) == 1
    assert asyncio.run(whole()) == 1
