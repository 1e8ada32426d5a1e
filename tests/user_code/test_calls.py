"""Calls of a user's code: what they return, how long they may take, and how their exceptions are told."""

import asyncio
import threading
from typing import Any

import pytest

from ragstone.errors import SystemFailed
from ragstone.user_code.calls import guarded, in_thread, located, makes_object


async def test_a_blocking_call_runs_in_a_thread_and_its_exception_comes_back() -> None:
    def work(value: int, *, more: int) -> tuple[int, bool]:
        if value < 0:
            raise KeyError("negative")
        return value + more, threading.current_thread() is threading.main_thread()

    assert await in_thread(work, 1, more=2) == (3, False)
    with pytest.raises(KeyError, match="negative"):
        await in_thread(work, -1, more=2)
    with pytest.raises(SystemFailed, match="StopIteration"):  # no future may raise this one
        await in_thread(next, iter(()))


async def test_a_call_has_a_time_limit_and_its_exceptions_are_named() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    async def own_timeout() -> None:
        raise TimeoutError("the database")

    async def gives_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(SystemFailed, match=r"No answer within 0\.05 seconds") as caught:
        await guarded(wait, 0.05)
    assert caught.value.kind == "timed_out"
    for call, words in ((own_timeout, "TimeoutError: the database"), (gives_up, "CancelledError")):
        with pytest.raises(SystemFailed, match=words) as caught:
            await guarded(call, 30)
        assert caught.value.kind == "raised"


async def test_a_cancelled_call_stays_cancelled() -> None:
    started = asyncio.Event()

    async def wait() -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(guarded(wait, 30))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_exception_has_the_user_s_line_also_behind_a_framework_s() -> None:
    def deep() -> None:
        raise ValueError("no such tenant")

    def wrapping() -> None:
        try:
            deep()
        except ValueError as error:
            raise RuntimeError("the pipeline failed") from error

    with pytest.raises(RuntimeError) as caught:
        wrapping()
    line = wrapping.__code__.co_firstlineno + 4
    assert located(caught.value) == f"RuntimeError: the pipeline failed (test_calls.py, line {line}, in wrapping)"
    assert located(ValueError("never raised")) == "ValueError: never raised"


def test_a_factory_is_what_takes_nothing() -> None:
    class Plain:
        def __init__(self, k: int = 3) -> None: ...

    class Needs:
        def __init__(self, pool: Any) -> None: ...

    assert makes_object(Plain)
    assert makes_object(lambda: 3)
    assert not makes_object(Needs)
    assert not makes_object(lambda query=None: 3)
    assert not makes_object(3)
