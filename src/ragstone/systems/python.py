"""A user's own Python code as a system: a function, an object of a framework, a class or factory that makes one.

A function gets what its parameters are named after: the question first; `passages`, `contexts` or `documents` where a
benchmark hands them over; `history`; `k`. It may be blocking or a coroutine, and may return or yield text. Objects of
frameworks are called by `frameworks.py`.
"""

import asyncio
import contextlib
import contextvars
import inspect
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragstone.errors import SystemFailed, UsageError
from ragstone.responses.outputs import LONGEST_ANSWER, response_of
from ragstone.systems.frameworks import framework_call
from ragstone.types import Query, Response, Step, System

__all__ = ["PARAMETERS", "PythonSystem", "system_from"]

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "passages": ("passages", "contexts", "context", "documents", "docs", "chunks"),
    "history": ("history", "chat_history", "messages", "conversation"),
    "k": ("k", "top_k"),
    "language": ("language", "lang"),
}
"""What a function can take besides the question, by the names of its parameters."""

_FIRST_TOKEN = "first token"  # the step that has the time to the first piece of a streamed answer
# Parts of the paths of code that is not the user's.
_FOREIGN = (str(Path(__file__).parent.parent), "site-packages", "/lib/python", "<")


def system_from(target: Any, name: str, *, timeout: float = 120.0) -> System:
    """The system that `target` is or makes: a `System`, an object of a framework, a function, or a class or a function
       without parameters that returns one of these. `name` becomes its id, if it has none. Raises UsageError.
    `timeout`: seconds for
       one answer."""
    if isinstance(target, System) and not isinstance(target, type):
        return target
    made = target() if _makes_one(target) else target
    if isinstance(made, System) and not isinstance(made, type):
        return made
    call = framework_call(made)
    if call is None and not callable(made):
        raise UsageError(
            f"{name} is {_article(type(made).__name__)}, which cannot be asked: name a function that takes a question, "
            f"an object of LangChain, LlamaIndex, Haystack or DSPy, or a function without parameters that makes one."
        )
    if call is not None:
        return PythonSystem(name, call.function, call.accepts, timeout=timeout, kind=call.framework)
    function = made if inspect.isroutine(made) or inspect.isclass(made) else made.__call__
    arguments = _arguments_of(function, name)

    def ask(query: Query) -> Any:
        positional, named = arguments(query)
        return function(*positional, **named)

    ask.__wrapped__ = function  # type: ignore[attr-defined]
    accepts = frozenset(key for key in PARAMETERS if key in arguments.accepts)
    return PythonSystem(name, ask, accepts, timeout=timeout)


def _makes_one(target: Any) -> bool:
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


@dataclass
class PythonSystem:
    """Asks `function`, which takes a query and returns or yields whatever `outputs.response_of` reads.

    `accepts` names what it can take besides the question (keys of `PARAMETERS`). A blocking function runs in a thread.
    Raises SystemFailed: "raised", with the line of the user's code, "timed_out", "no_answer" or "too_long"."""

    id: str
    function: Callable[[Query], Any]
    accepts: frozenset[str] = frozenset()
    timeout: float = 120.0
    kind: str = "python"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": self.kind, **self.settings}

    async def answer(self, query: Query, /) -> Response:
        if query.passages is not None and "passages" not in self.accepts:
            raise SystemFailed(
                "takes_no_passages",
                f"{self.id} retrieves for itself, but this benchmark hands over the passages. Add a parameter "
                f"`passages` to the function.",
            )
        started = time.perf_counter()
        try:
            async with asyncio.timeout(self.timeout):
                response = await self._ask(query, started)
        except TimeoutError as error:
            if time.perf_counter() - started < self.timeout:  # the user's own
                raise SystemFailed("raised", located(error)) from error
            raise SystemFailed("timed_out", f"No answer within {self.timeout:g} seconds (--timeout).") from None
        except SystemFailed:
            raise
        except (Exception, SystemExit, GeneratorExit, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError | GeneratorExit) and (task is None or task.cancelling()):
                raise  # ragstone's own, not the user's
            raise SystemFailed("raised", located(error)) from error
        seconds = time.perf_counter() - started
        return replace(response, seconds=seconds) if response.seconds is None else response

    @property
    def blocks(self) -> bool:
        """Whether it runs in threads."""
        wrapped = getattr(self.function, "__wrapped__", self.function)
        return not (inspect.iscoroutinefunction(wrapped) or inspect.isasyncgenfunction(wrapped))

    async def _ask(self, query: Query, started: float) -> Response:
        if not self.blocks:
            value = self.function(query)
        else:
            value = await _in_thread(_call, self.function, query, started)
        if isinstance(value, Awaitable):
            value = await value
        if isinstance(value, AsyncIterator):
            value = await _collect(value, started)
        return value if isinstance(value, Response) else response_of(value)


async def _in_thread(function: Callable[..., Any], *args: Any) -> Any:
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
            value = context.run(function, *args)
        except BaseException as error:  # not every one may be raised by a future, or would end with it
            passes = isinstance(error, Exception) and not isinstance(error, StopIteration)
            failure = error if passes else SystemFailed("raised", located(error))
        with contextlib.suppress(RuntimeError):  # the loop has ended without this answer
            loop.call_soon_threadsafe(settle, value, failure)

    context = contextvars.copy_context()
    threading.Thread(target=run, name="question", daemon=True).start()
    return await future


def _call(function: Callable[[Query], Any], query: Query, started: float) -> Any:
    """The value of a blocking call, in a thread; the pieces that it yields are joined there, too."""
    value = function(query)
    if not isinstance(value, Iterator):
        return value
    pieces = _Pieces(started)
    for piece in value:
        pieces.add(piece)
    return pieces.response()


async def _collect(stream: AsyncIterator[Any], started: float) -> Response:
    pieces = _Pieces(started)
    async for piece in stream:
        pieces.add(piece)
    return pieces.response()


class _Pieces:
    """A streamed answer: its pieces of text, and the time to the first of them."""

    def __init__(self, started: float) -> None:
        self._started, self._first, self._texts, self._size = started, 0.0, list[str](), 0
        self._last: Any = None

    def add(self, piece: Any) -> None:
        if not self._texts and self._last is None:
            self._first = time.perf_counter() - self._started
        if not isinstance(piece, str):  # a message, or at the end a dict with the passages
            self._last = piece
            piece = getattr(piece, "content", None) or getattr(piece, "delta", None) or ""
        if isinstance(piece, str):
            self._texts.append(piece)
            self._size += len(piece)
        if self._size > LONGEST_ANSWER:
            raise SystemFailed("too_long", f"The answer has more than {LONGEST_ANSWER:,} characters.")

    def response(self) -> Response:
        text = "".join(self._texts)
        if isinstance(self._last, Mapping):
            response = response_of({"answer": text, **self._last} if text else self._last)
        elif text or self._last is None:
            response = Response(text)
        else:
            response = response_of(self._last)
        return replace(response, steps=(*response.steps, Step(_FIRST_TOKEN, seconds=self._first)))


@dataclass(frozen=True)
class _Arguments:
    """How to call a function: the parameter of the question (None: the first positional one), and those of the rest."""

    question: str | None
    names: Mapping[str, str]

    @property
    def accepts(self) -> frozenset[str]:
        return frozenset(self.names)

    def __call__(self, query: Query) -> tuple[list[Any], dict[str, Any]]:
        values = {
            "passages": [passage.text for passage in query.passages or ()],
            "history": [{"role": turn.role, "content": turn.content} for turn in query.history],
            "language": query.language,
        }
        named = {parameter: values[key] for key, parameter in self.names.items() if key in values}
        if "passages" in self.names and query.passages is None:  # it retrieves for itself if it is given none
            del named[self.names["passages"]]
        return ([query.question], named) if self.question is None else ([], {self.question: query.question, **named})


def _arguments_of(function: Callable[..., Any], name: str) -> _Arguments:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # written in C
        return _Arguments(None, {})
    names = {
        key: parameter.name
        for key, spellings in PARAMETERS.items()
        for parameter in parameters
        if parameter.name in spellings and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    others = [parameter for parameter in parameters if parameter.name not in names.values()]
    if not others:
        raise UsageError(f"{name} takes no question: its first parameter should be the question.")
    if missing := [item.name for item in others[1:] if item.default is item.empty and item.kind not in (2, 4)]:
        raise UsageError(
            f"{name} needs the parameter {missing[0]!r}, which ragstone does not know. It can give a question and "
            f"{', '.join(PARAMETERS)}: wrap the function, or give the parameter a default."
        )
    first = others[0]
    return _Arguments(first.name if first.kind == first.KEYWORD_ONLY else None, names)


def located(error: BaseException) -> str:
    """An exception in one line, with the last line of the user's own code that it, or its cause, passed through."""
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    cause: BaseException | None = error
    while cause is not None:  # frameworks wrap exceptions
        frames = traceback.extract_tb(cause.__traceback__)
        own = [frame for frame in frames if not any(part in frame.filename for part in _FOREIGN)]
        if own:
            return f"{message} ({Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})"
        cause = cause.__cause__ or cause.__context__
    return message


def _article(word: str) -> str:
    return f"an {word}" if word[:1].lower() in "aeiou" else f"a {word}"
