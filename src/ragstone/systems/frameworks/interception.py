"""Interventions inside an application that was not written for them: its retrievers return given passages, or another
number of them, or are asked alone.

The adapters wrap the calls of their framework's retrievers once. A wrapped call looks for the question of its context
here, and outside of any question it passes through. A context variable keeps concurrent questions apart; frameworks
copy it into the tasks and threads that they start.
"""

import contextlib
import copy
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, TypeVar

import msgspec

from ragstone.errors import SystemFailed
from ragstone.responses.stages import StageRecorder
from ragstone.types import Passage, Query, Response
from ragstone.user_code.calls import is_users_file

T = TypeVar("T")
_K_NAMES = ("k", "top_k", "similarity_top_k", "_similarity_top_k", "_k", "_top_k", "top_n")
_VECTOR_STORE_K = 4  # LangChain's default where `search_kwargs` has no k
_MOST_OBJECTS = 5000  # of an application that are looked at
_MOST_ITEMS = 100  # of a list or mapping: an index may have millions


@dataclass
class Asked:
    """A question that an application is answering. `reranks`: what its retrievers return is cut later. `inner`: this
    is the context of a retriever inside another one."""

    query: Query
    recorder: StageRecorder
    reranks: bool = False
    inner: bool = False
    _first: list[Any] = field(default_factory=list)  # the retriever that returned the given passages

    def given(self, retriever: Any, searched: str) -> tuple[Passage, ...] | None:
        """The passages that a retriever returns instead of its own; None if it searches. An application with several
        retrievers gets the given passages once: from the first of them that it asks."""
        passages = self.query.passages
        if passages is None:
            return None
        if not self._first:
            self._first.append(retriever)
            self.recorder.fetch([msgspec.structs.replace(passage, relevant=None) for passage in passages])
        self.recorder.queries.append(searched)
        return passages if self._first[0] is retriever else ()

    def response(self, response: Response) -> Response:
        """The response with its stages. Raises SystemFailed if passages were given and no retriever was asked."""
        given = self.query.passages
        if given is None:
            return self.recorder.response(response)
        if given and not self._first:
            raise SystemFailed(
                "ignored_passages", "It answered without asking its retriever, so it did not see the given passages."
            )
        texts = {passage.text for passage in given}
        returned = tuple(passage for passage in response.passages if passage.text in texts)
        return self.recorder.response(msgspec.structs.replace(response, passages=returned))

    def with_k(self, retriever: T, *, cuts: bool = False) -> T:
        """The retriever, or a copy of it that finds as many passages as the question asks for. `cuts`: it is a ranker,
        whose number of passages is the final one."""
        at_least = not cuts and (self.inner or self.reranks)
        return retriever if self.query.k is None else with_k(retriever, self.query.k, at_least=at_least)

    def cut(self, found: list[T]) -> list[T]:
        """What an outermost retriever found, cut to as many passages as the question asks for."""
        return found if self.inner or self.reranks else found[: self.query.k]

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        """The context in which a retriever asks others."""
        token = _asked.set(replace(self, inner=True))
        try:
            yield
        finally:
            _asked.reset(token)


_asked: ContextVar[Asked | None] = ContextVar("_asked", default=None)


def asked() -> Asked | None:
    """The question in whose context a retriever is called."""
    return _asked.get()


@contextlib.contextmanager
def asking(query: Query, recorder: StageRecorder, *, reranks: bool = False) -> Iterator[Asked]:
    """The context in which an application answers a question."""
    question = Asked(query, recorder, reranks)
    token = _asked.set(question)
    try:
        yield question
    finally:
        _asked.reset(token)


def accepted(retrievers: Sequence[Any], others: Iterable[str] = ()) -> frozenset[str]:
    """What an application with these retrievers takes. Classes of retrievers make new ones while it answers, which
    cannot be asked alone."""
    objects = [item for item in retrievers if not isinstance(item, type)]
    return frozenset(others).union(
        {"passages"} if retrievers else (),
        {"retrieve"} if objects else (),
        {"k"} if any(has_k(item) for item in _nested(objects)) else (),
    )


def _nested(retrievers: Sequence[Any]) -> list[Any]:
    """Retrievers, and what they hold."""
    return [*retrievers, *(part for item in retrievers for part in _parts(item))]


def wrap_once(owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replaces a method of a class or an object by `wrapper(method)`, unless that was done before."""
    method = getattr(owner, name)
    if not hasattr(method, "asked_by_ragstone"):
        wrapped = functools.wraps(method)(wrapper(method))
        wrapped.asked_by_ragstone = True  # type: ignore[attr-defined]
        setattr(owner, name, wrapped)


def wrapped_search(
    results: Callable[[Sequence[Passage]], list[Any]], parameter: str, text_of: Callable[[Any], str] = str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A wrapper, for `wrap_once`, of a method or coroutine of retrievers that returns a list. `parameter`: the name of
    its first one, the query. `results`: given passages as the framework's own objects."""

    def given(question: Asked, retriever: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any] | None:
        query = arguments[0] if arguments else named[parameter]
        passages = question.given(retriever, text_of(query))
        return None if passages is None else results(passages)

    def wrapper(method: Callable[..., Any]) -> Callable[..., Any]:
        def search(self: Any, *arguments: Any, **named: Any) -> Any:
            question = asked()
            if question is None:
                return method(self, *arguments, **named)
            if (found := given(question, self, arguments, named)) is not None:
                return found
            with question.searching():
                return question.cut(method(question.with_k(self), *arguments, **named))

        async def asearch(self: Any, *arguments: Any, **named: Any) -> Any:
            question = asked()
            if question is None:
                return await method(self, *arguments, **named)
            if (found := given(question, self, arguments, named)) is not None:
                return found
            with question.searching():
                return question.cut(await method(question.with_k(self), *arguments, **named))

        return asearch if inspect.iscoroutinefunction(method) else search

    return wrapper


def _settings(target: Any) -> dict[str, int]:
    """The attributes of an object that are its number of passages, with their values."""
    found = {name: getattr(target, name, None) for name in _K_NAMES}
    return {name: value for name, value in found.items() if isinstance(value, int) and not isinstance(value, bool)}


def has_k(target: Any) -> bool:
    """Whether a retriever or ranker has a number of passages that can be set."""
    return bool(_settings(target)) or isinstance(getattr(target, "search_kwargs", None), dict)


def with_k(target: T, k: int, *, at_least: bool = False) -> T:
    """A copy of a retriever or ranker that returns `k` passages. `at_least`: its own number, if that is more, because
    another one cuts its list."""
    changes: dict[str, Any] = {name: max(k, own) if at_least else k for name, own in _settings(target).items()}
    options = getattr(target, "search_kwargs", None)
    if isinstance(options, dict):
        own = options.get("k", _VECTOR_STORE_K)
        k_there = max(k, own) if at_least else k
        deeper = {"fetch_k": max(options["fetch_k"], k_there)} if "fetch_k" in options else {}
        changes["search_kwargs"] = {**options, "k": k_there, **deeper}
    if has_k(compressor := getattr(target, "base_compressor", None)):
        changes["base_compressor"] = with_k(compressor, k)
    if not changes:
        return target
    clone = copy.copy(target)
    for name, value in changes.items():
        object.__setattr__(clone, name, value)
    return clone


def interleaved(lists: Sequence[Sequence[T]]) -> list[T]:
    """The items of several rankings, the first of each first."""
    missing = object()
    ranks = zip_longest(*lists, fillvalue=missing)
    return [item for rank in ranks for item in rank if item is not missing]  # type: ignore[misc]


def objects_in(root: Any, *kinds: type[T]) -> list[T | type[T]]:
    """The objects and classes of some kinds that an application holds, outermost ones only: in attributes, lists and
    mappings, and in what the user's functions and methods close over or name."""
    found: list[Any] = []
    waiting, visited = [root], set[int]()
    while waiting and len(visited) < _MOST_OBJECTS:
        value = waiting.pop(0)
        if id(value) in visited:
            continue
        visited.add(id(value))
        if isinstance(value, kinds) or (isinstance(value, type) and issubclass(value, kinds) and value not in kinds):
            found.append(value)
        elif not isinstance(value, str | bytes | int | float | type | types.ModuleType):
            waiting += _parts(value)
    return found


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())[:_MOST_ITEMS] if isinstance(value, dict) else []
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)[:_MOST_ITEMS]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, types.FunctionType):
        return _named_by(value)
    private = getattr(value, "__pydantic_private__", None) or {}
    members = [part for base in type(value).__mro__ for part in vars(base).values()]
    methods = [part for part in members if isinstance(part, types.FunctionType) and _is_own(part)]
    return [*(vars(value).values() if hasattr(value, "__dict__") else ()), *private.values(), *methods]


def _is_own(function: types.FunctionType) -> bool:
    return is_users_file(function.__code__.co_filename)


def _named_by(function: types.FunctionType) -> list[Any]:
    """What a function closes over; in the user's code also what its global names, and those of functions inside it,
    stand for."""
    cells = [getattr(function, "__wrapped__", None)]
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # not filled yet
            cells.append(cell.cell_contents)
    if not _is_own(function):
        return cells
    codes, names = [function.__code__], set[str]()
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return [*cells, *(function.__globals__[name] for name in sorted(names & function.__globals__.keys()))]
