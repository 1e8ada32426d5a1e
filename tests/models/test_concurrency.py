"""Calls that were begun together end together."""

import asyncio

import pytest

from ragstone.models.concurrency import gather_all


async def value(number: int, before: asyncio.Event, after: asyncio.Event) -> int:
    await before.wait()
    after.set()
    return number


async def test_values_are_in_the_order_of_the_calls() -> None:
    first, second, third = asyncio.Event(), asyncio.Event(), asyncio.Event()
    first.set()
    assert await gather_all(value(1, second, third), value(2, first, second)) == [1, 2]
    assert await gather_all() == []


async def test_where_one_fails_its_error_is_raised_and_nothing_is_left_running() -> None:
    ended = asyncio.Event()

    async def fails() -> int:
        raise LookupError("nothing there")

    async def waits() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    with pytest.raises(LookupError, match="nothing there"):
        await gather_all(waits(), fails(), fails(), gather_all(waits(), fails()))
    assert ended.is_set()
    assert asyncio.all_tasks() == {asyncio.current_task()}
