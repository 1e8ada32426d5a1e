"""Calls the user's own code: blocking functions in threads, within a time limit, and with exceptions that are named by
the user's own line."""

import asyncio
import contextlib
import contextvars
import inspect
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ragstone.errors import SystemFailed

T = TypeVar("T")
# Parts of the paths of code that is not the user's.
_FOREIGN = (str(Path(__file__).parent.parent), "site-packages", "/lib/python", "<")


@dataclass(frozen=True)
class Served:
    """What a process for user code has loaded. `about` is told once; `call` takes and returns JSON values; `blocks`:
    it runs in threads, which cannot be ended."""

    about: Mapping[str, Any]
    call: Callable[[Any], Awaitable[Any]]
    blocks: bool = False


def timed_out(timeout: float) -> SystemFailed:
    """The failure of a call that took longer than `timeout` seconds, in words for Python and for the command line."""
    return SystemFailed("timed_out", f"No answer within {timeout:g} seconds (the limit `timeout`).")


async def guarded(asking: Callable[[], Awaitable[T]], timeout: float) -> T:
    """The value of user code. Raises SystemFailed: "raised" with the line of the user's code, or "timed_out" after
    `timeout` seconds."""
    started = time.perf_counter()
    try:
        async with asyncio.timeout(timeout):
            return await asking()
    except TimeoutError as error:
        if time.perf_counter() - started < timeout:  # the user's own
            raise SystemFailed("raised", located(error)) from error
        raise timed_out(timeout) from None
    except SystemFailed:
        raise
    except (Exception, SystemExit, GeneratorExit, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError | GeneratorExit) and (task is None or task.cancelling()):
            raise  # ragstone's own, not the user's
        raise SystemFailed("raised", located(error)) from error


async def in_thread(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """The value of a blocking call, in a thread that does not keep the interpreter from ending if it hangs."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if not future.done():
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

    def run() -> None:
        value, failure = None, None
        try:
            value = context.run(function, *args, **named)
        except BaseException as error:  # not every one may be raised by a future, or would end with it
            passes = isinstance(error, Exception) and not isinstance(error, StopIteration)
            failure = error if passes else SystemFailed("raised", located(error))
        with contextlib.suppress(RuntimeError):  # the loop has ended without this answer
            loop.call_soon_threadsafe(settle, value, failure)

    context = contextvars.copy_context()
    threading.Thread(target=run, name="question", daemon=True).start()
    return await future


async def result_of(function: Callable[..., Any], *args: Any, blocks: bool) -> Any:
    """What a function of the user's returns, or what the awaitable gives that it returns. `blocks`: it runs in a
    thread."""
    value = await in_thread(function, *args) if blocks else function(*args)
    return await value if isinstance(value, Awaitable) else value


def makes_object(target: Any) -> bool:
    """Whether this is a class or a function that takes nothing, and so can only be a factory."""
    if not (inspect.isclass(target) or inspect.isfunction(target)):
        return False
    try:
        parameters = inspect.signature(target).parameters.values()
    except ValueError:
        return False
    return all(parameter.default is not parameter.empty or parameter.kind in (2, 4) for parameter in parameters) and (
        inspect.isclass(target) or not parameters
    )


def is_users_file(filename: str) -> bool:
    """Whether a file of code is the user's own: not Python's, ragstone's or an installed package's."""
    return not any(part in filename for part in _FOREIGN)


def located(error: BaseException) -> str:
    """An exception in one line, with the last line of the user's own code that it, or its cause, passed through."""
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    cause: BaseException | None = error
    while cause is not None:  # frameworks wrap exceptions
        frames = traceback.extract_tb(cause.__traceback__)
        own = [frame for frame in frames if is_users_file(frame.filename)]
        if own:
            return f"{message} ({Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})"
        cause = cause.__cause__ or cause.__context__
    return message


def with_article(word: str) -> str:
    """`a word` or `an item`."""
    return f"an {word}" if word[:1].lower() in "aeiou" else f"a {word}"
