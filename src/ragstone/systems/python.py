"""A user's own Python code as a system: a function, an object of a framework, a class or factory that makes one.

A function gets what its parameters are named after: the question first; `passages`, `contexts` or `documents` where a
benchmark hands them over; `history`; `k` where a number of passages is asked for; `retrieve_only`. It may be blocking
or a coroutine, and may return or yield text. Objects of frameworks are called by `frameworks.py`.
"""

import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from ragstone.errors import SystemFailed, UsageError
from ragstone.responses.outputs import LONGEST_ANSWER, response_of
from ragstone.responses.returned_passages import found_passages
from ragstone.responses.stages import FIRST_TOKEN, search_response
from ragstone.systems.accepted import USUAL_K, accepts_of, check_accepted
from ragstone.systems.frameworks import framework_call
from ragstone.systems.frameworks.inside import Inside, inside
from ragstone.types import Query, Response, Step, System
from ragstone.user_code.calls import Served, guarded, in_thread, makes_object, with_article

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "passages": ("passages", "contexts", "context", "documents", "docs", "chunks"),
    "history": ("history", "chat_history", "messages", "conversation"),
    "k": ("k", "top_k"),
    "language": ("language", "lang"),
    "retrieve": ("retrieve_only",),
}
"""What a function can take besides the question (`accepted.ACCEPTED`), by the names of its parameters."""

_SEARCHES = ("retrieve", "search")  # methods that search without answering
_ADVICE = {
    "passages": "Ask it through a function that has a parameter `passages`.",
    "k": "Ask it through a function that has a parameter `k`.",
    "retrieve": "Name its retriever (--retriever), or add a method `retrieve` to the object.",
}


def system_from(target: Any, name: str, *, timeout: float = 120.0) -> System:
    """The system that `target` is or makes: a `System`, an object of a framework, a function, or a class or a function
    without parameters that returns one of these. `name` becomes its id, if it has none. `timeout`: seconds for one
    answer. Raises UsageError."""
    if isinstance(target, System) and not isinstance(target, type):
        return target
    made = target() if makes_object(target) else target
    if isinstance(made, System) and not isinstance(made, type):
        return made
    call = framework_call(made)
    if call is None and not callable(made):
        raise UsageError(
            f"{name} is {with_article(type(made).__name__)}, which cannot be asked: name a function that takes a "
            f"question, an object of LangChain, LlamaIndex, Haystack or DSPy, or a function without parameters that "
            f"makes one."
        )
    if call is not None:
        return PythonSystem(name, call.function, call.accepts, timeout=timeout, kind=call.framework)
    function = made if inspect.isroutine(made) or inspect.isclass(made) else made.__call__
    ask, accepts = _asking(function, name)
    search = _search_of(made, name)
    if search is not None:
        accepts |= {"retrieve"}
    asks = inside(function) if "passages" not in accepts else None
    if asks is not None:
        accepts |= asks.accepts
        search = search if "retrieve" not in asks.accepts or search is not None else asks.search
    return PythonSystem(name, ask, accepts, timeout=timeout, search=search, inside=asks)


def _asking(function: Callable[..., Any], name: str) -> tuple[Callable[[Query], Any], frozenset[str]]:
    """A function that calls this one for a query, and what it takes besides the question."""
    arguments = _arguments_of(function, name)

    def ask(query: Query) -> Any:
        positional, named = arguments(query)
        return function(*positional, **named)

    ask.__wrapped__ = function  # type: ignore[attr-defined]
    return ask, frozenset(arguments.names)


def _search_of(made: Any, name: str) -> Callable[[Query], Any] | None:
    """The method of an object, or of the object of a method, that searches without answering."""
    if inspect.isclass(made):
        return None
    owner = made.__self__ if inspect.ismethod(made) else made
    methods = (getattr(owner, method, None) for method in _SEARCHES)
    method = next((method for method in methods if callable(method) and method != made), None)
    return None if method is None else _asking(method, f"{name}.{method.__name__}")[0]


def serve_system(target: Any, settings: Mapping[str, Any]) -> Served:
    """The system in a process of its own, for `user_code.worker`: takes queries and returns responses."""
    system = system_from(target, settings["place"], timeout=settings["timeout"])
    spec = {name: value for name, value in system.spec.items() if name != "kind"}
    accepts = sorted(accepts_of(system))
    about = {"id": system.id, "kind": system.spec.get("kind", ""), "accepts": accepts, "spec": spec}

    async def call(query: Any) -> Response:
        return await system.answer(msgspec.convert(query, Query))

    return Served(about, call, isinstance(system, PythonSystem) and system.blocks)


@dataclass
class PythonSystem:
    """Asks `function`, which takes a query and returns or yields whatever `outputs.response_of` reads.

    `accepts` names what it can take besides the question (`accepted.ACCEPTED`). `search` is asked for passages alone;
    None: `function` is. `inside`: the retrievers of frameworks that the function asks. A blocking function runs in a
    thread. Raises SystemFailed: "raised", with the line of the user's code, "timed_out", "no_answer", "no_passages" or
    "too_long"."""

    id: str
    function: Callable[[Query], Any]
    accepts: frozenset[str] = frozenset()
    timeout: float = 120.0
    kind: str = "python"
    settings: Mapping[str, Any] = field(default_factory=dict)
    search: Callable[[Query], Any] | None = None
    inside: Inside | None = None

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": self.kind, **self.settings}

    async def answer(self, query: Query, /) -> Response:
        check_accepted(query, self.accepts, self.id, _ADVICE)
        started = time.perf_counter()
        response = await guarded(lambda: self._ask(query, started), self.timeout)
        seconds = time.perf_counter() - started
        return replace(response, seconds=seconds) if response.seconds is None else response

    @property
    def blocks(self) -> bool:
        """Whether it runs in threads."""
        return any(_blocks(function) for function in (self.function, self.search) if function is not None)

    async def _ask(self, query: Query, started: float) -> Response:
        if self.inside is None or query.retrieve_only:
            return await self._called(query, started)
        return await self.inside.answer(query, lambda: self._called(query, started))

    async def _called(self, query: Query, started: float) -> Response:
        function = self.search if query.retrieve_only and self.search is not None else self.function
        value = await in_thread(_call, function, query, started) if _blocks(function) else function(query)
        if isinstance(value, Awaitable):
            value = await value
        if isinstance(value, AsyncIterator):
            value = [item async for item in value] if query.retrieve_only else await _collect(value, query, started)
        if isinstance(value, Response):
            return value
        return (
            search_response(query, found_passages(value)) if query.retrieve_only else response_of(value, query.question)
        )


def _blocks(function: Callable[[Query], Any]) -> bool:
    wrapped = getattr(function, "__wrapped__", function)
    return not (inspect.iscoroutinefunction(wrapped) or inspect.isasyncgenfunction(wrapped))


def _call(function: Callable[[Query], Any], query: Query, started: float) -> Any:
    """The value of a blocking call, in a thread; the pieces that it yields are joined there, too."""
    value = function(query)
    if not isinstance(value, Iterator):
        return value
    if query.retrieve_only:
        return list(value)
    pieces = _Pieces(started, query.question)
    for piece in value:
        pieces.add(piece)
    return pieces.response()


async def _collect(stream: AsyncIterator[Any], query: Query, started: float) -> Response:
    pieces = _Pieces(started, query.question)
    async for piece in stream:
        pieces.add(piece)
    return pieces.response()


class _Pieces:
    """A streamed answer: its pieces of text, and the time to the first of them."""

    def __init__(self, started: float, asked: str) -> None:
        self._started, self._asked, self._texts, self._size = started, asked, list[str](), 0
        self._first: float | None = None
        self._last: Any = None

    def add(self, piece: Any) -> None:
        if not isinstance(piece, str):  # a message, or at the end a dict with the passages
            self._last = piece
            piece = getattr(piece, "content", None) or getattr(piece, "delta", None) or ""
        if isinstance(piece, str):
            if piece and self._first is None:
                self._first = time.perf_counter() - self._started
            self._texts.append(piece)
            self._size += len(piece)
        if self._size > LONGEST_ANSWER:
            raise SystemFailed("too_long", f"The answer has more than {LONGEST_ANSWER:,} characters.")

    def response(self) -> Response:
        text = "".join(self._texts)
        if isinstance(self._last, Mapping):
            response = response_of({"answer": text, **self._last} if text else self._last, self._asked)
        elif text or self._last is None:
            response = Response(text)
        else:
            response = response_of(self._last, self._asked)
        if self._first is None:
            return response
        return replace(response, steps=(*response.steps, Step(FIRST_TOKEN, seconds=self._first)))


@dataclass(frozen=True)
class _Arguments:
    """How to call a function: the parameter of the question (None: the first positional one), and those of the rest;
    `required` are those of the rest that have no default."""

    question: str | None
    names: Mapping[str, str]

    required: frozenset[str]

    def __call__(self, query: Query) -> tuple[list[Any], dict[str, Any]]:
        values = {
            "passages": None if query.passages is None else [passage.text for passage in query.passages],
            "history": [{"role": turn.role, "content": turn.content} for turn in query.history],
            "language": query.language,
            "k": query.k or (USUAL_K if "k" in self.required else None),
            "retrieve": query.retrieve_only,
        }
        # Without passages it retrieves for itself; without k it takes its own number.
        named = {parameter: values[key] for key, parameter in self.names.items() if values[key] is not None}
        return ([query.question], named) if self.question is None else ([], {self.question: query.question, **named})


def _arguments_of(function: Callable[..., Any], name: str) -> _Arguments:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # written in C
        return _Arguments(None, {}, frozenset())
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
    known = {parameter: key for key, parameter in names.items()}
    required = frozenset(known[item.name] for item in parameters if item.name in known and item.default is item.empty)
    return _Arguments(first.name if first.kind == first.KEYWORD_ONLY else None, names, required)
