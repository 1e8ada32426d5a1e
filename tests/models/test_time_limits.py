"""Time limits: as `asyncio.timeout`, with one timer for all calls."""

import asyncio
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.servers.fake_endpoint import FakeEndpoint

import ragstone
from ragstone.models import ModelOptions, open_model
from ragstone.models.time_limits import TimeLimits
from ragstone.types import Request, Turn


async def never() -> None:
    await asyncio.Event().wait()


async def test_a_block_that_takes_too_long_ends_with_a_timeout() -> None:
    limits = TimeLimits()
    with pytest.raises(TimeoutError), limits.within(0.01):
        await never()
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


async def test_the_shortest_limit_ends_first_and_the_others_go_on() -> None:
    limits, ended = TimeLimits(), list[str]()

    async def call(name: str, seconds: float) -> None:
        try:
            with limits.within(seconds):
                await never()
        except TimeoutError:
            ended.append(name)

    long = asyncio.ensure_future(call("long", 60.0))
    await asyncio.gather(call("second", 0.03), call("first", 0.01))
    assert ended == ["first", "second"]
    assert not long.done()
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long
    assert ended == ["first", "second"]


async def test_who_is_cancelled_by_somebody_else_stays_cancelled() -> None:
    limits, reached = TimeLimits(), asyncio.Event()

    async def call() -> None:
        with limits.within(0.0):
            reached.set()
            await never()

    task = asyncio.ensure_future(call())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_outer_of_two_limits_ends_the_whole() -> None:
    limits = TimeLimits()
    with pytest.raises(TimeoutError), limits.within(0.01), limits.within(60.0):
        await never()


def test_a_limit_holds_in_a_second_event_loop() -> None:
    limits = TimeLimits()

    async def call(seconds: float) -> None:
        with limits.within(seconds):
            await (asyncio.sleep(0) if seconds > 1 else never())

    asyncio.run(call(60.0))
    with pytest.raises(TimeoutError):
        asyncio.run(call(0.01))


async def test_a_request_to_an_endpoint_makes_no_timer_and_one_task_of_ours() -> None:
    loop, timers, tasks = asyncio.get_running_loop(), list[float](), list[Any]()
    call_at, create_task = loop.call_at, loop.create_task

    def counted_timer(when: float, *rest: Any, **options: Any) -> asyncio.TimerHandle:
        timers.append(when)
        return call_at(when, *rest, **options)

    def counted_task(*arguments: Any, **options: Any) -> Any:
        tasks.append(arguments)
        return create_task(*arguments, **options)

    async with FakeEndpoint([]) as endpoint, open_model("compat/m", ModelOptions(base_url=endpoint.base_url)) as model:
        await model.generate(Request(messages=(Turn("user", "first"),)))  # opens the connection
        with patch.object(loop, "call_at", counted_timer), patch.object(loop, "create_task", counted_task):
            for number in range(20):
                await model.generate(Request(messages=(Turn("user", f"question {number}"),)))
    package = str(Path(ragstone.__file__).parent)
    ours = [task.cr_code.co_name for task, *_ in tasks if task.cr_code.co_filename.startswith(package)]
    assert ours == ["_send"] * 20  # which outlives a caller that others share it with
    assert not [when for when in timers if when > loop.time() + 30]  # as far away as the limits of calls
