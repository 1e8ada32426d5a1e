"""Decorators of public functions: the blocking form of an async function, and errors for unknown options."""

import asyncio
import contextlib
import contextvars
import functools
import inspect
import re
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, ParamSpec, TypeVar, cast

from ragstone.errors import NAME_FLAGS, UsageError, check_name

P = ParamSpec("P")
R = TypeVar("R")


def blocking(function: Callable[P, Coroutine[Any, Any, R]], /, *, name: str) -> Callable[P, R]:
    """The blocking form of `function`, called `name`.

    In a notebook, whose kernel runs an event loop, it works in a thread with its own loop while the cell waits. Inside
    any other running loop it raises `UsageError` and suggests awaiting the async form, since blocking would stop
    everything else. Nothing is patched.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return _run(function(*args, **kwargs))
        if _in_notebook():
            return _in_thread(lambda: function(*args, **kwargs))
        raise UsageError(
            f"ragstone.{name}(…) blocks, and an event loop is running here: write "
            f"`await ragstone.{function.__name__}(…)` instead."
        )

    wrapper.__name__ = wrapper.__qualname__ = name
    return wrapper


def _run(coroutine: Coroutine[Any, Any, R]) -> R:
    """The result of `asyncio.run`, which would call its `repr` to restore the handler of interrupts if a task had it:
    that of a `RunResult` computes the tables."""
    results: list[R] = []

    async def collect() -> None:
        results.append(await coroutine)

    asyncio.run(collect())
    return results[0]


def public(function: Callable[P, R], /) -> Callable[P, R]:
    """`function`, with an error that suggests the nearest name for an unknown option, and errors that name its keywords
    rather than flags (see `keywords_in_errors`)."""
    known = [name for name in inspect.signature(function).parameters if not name.startswith("_")]
    keywords = {f"--{name.replace('_', '-')}": name for name in known}
    name = function.__name__.removesuffix("_async")

    def check(options: Iterable[str]) -> None:
        for option in options:
            check_name(f"option of {name}", option, known)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def waiting(*args: P.args, **kwargs: P.kwargs) -> Any:
            check(kwargs)
            with keywords_in_errors(keywords):
                return await function(*args, **kwargs)

        return cast("Callable[P, R]", waiting)

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        check(kwargs)
        with keywords_in_errors(keywords):
            return function(*args, **kwargs)

    return wrapper


@contextlib.contextmanager
def keywords_in_errors(keywords: Mapping[str, str]) -> Iterator[None]:
    """Errors of usage name the keyword of each flag (`judge="PROVIDER/MODEL"` for `--judge PROVIDER/MODEL`), unless the
    command line is what calls."""
    try:
        yield
    except UsageError as error:
        if not NAME_FLAGS.get():
            error.args = (in_keywords(str(error), {**_OTHER_NAMES, **keywords}),)
        raise


def in_keywords(message: str, keywords: Mapping[str, str]) -> str:
    """The message with these flags as keywords of Python; flags of other commands stay."""

    def keyword(match: "re.Match[str]") -> str:
        name, value = keywords.get(match["flag"]), match["value"]
        if name is None:
            return match[0]
        if value is None:
            return f"`{name}`"
        key, equals, mapped = value.partition("=")
        return f'{name}={{"{key}": "{mapped}"}}' if equals else f'{name}="{value}"'

    return _FLAG.sub(keyword, message)


# A command, which stays as it is; or a flag with what is clearly its value (a placeholder, FIELD=COLUMN).
_FLAG = re.compile(
    r"\bragstone [a-z](?:[^`;:.]|\.(?! |$))*|(?P<flag>(?<![\w-])--[a-z][a-z-]*)"
    r"(?: (?P<value>(?:[A-Z]{2,}|[\w.-]+/|\w+=)[\w/|=-]*(?:\.\w+)*))?"
)
_OTHER_NAMES = {
    "--rubric": "rubrics", "--map": "mapping", "--base-url": "base_url of model_options",
    "--no-cache": "cache=None of model_options",
}  # fmt: skip


def _in_notebook() -> bool:
    """Whether this is a cell of a notebook: IPython with a kernel (Jupyter, Colab, VS Code)."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None and hasattr(python, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


def _in_thread(make: Callable[[], Coroutine[Any, Any, R]]) -> R:
    """The result of the coroutine, run in a thread of its own. When the waiting is interrupted, so is the work."""
    result: Future[R] = Future()
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[R]]] = Future()

    async def work() -> R:
        task = asyncio.current_task()
        assert task is not None
        started.set_result((asyncio.get_running_loop(), task))
        return await make()

    def run() -> None:
        try:
            result.set_result(asyncio.run(work()))
        except BaseException as error:  # also a cancelled task, which whoever waits should see
            result.set_exception(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="ragstone", daemon=True)
    thread.start()
    try:
        return result.result()
    except KeyboardInterrupt:
        loop, task = started.result()
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
