"""Interventions inside an application that was not written for them: its retrievers return given passages, or another
number of them, or are asked alone.

What comes first in a pipeline returns the given passages; what comes later passes on what it was given. The adapters
wrap the calls of their framework's retrievers once, and those of what takes documents and returns some: rerankers,
filters, compressors. A wrapped call looks for the question of its context here, and outside of any question it passes
through. A context variable keeps concurrent questions apart; frameworks copy it into the tasks and threads that they
start.

A retriever that is asked after another one is built on the other's output, or searches again, or stands beside it. The
first is seen: everything it holds was found before. One that searches again should return the given passages again;
one whose list is joined with the first's should not. Which it is cannot be seen, so both return them. If a prompt then
has them twice, the question is asked once more with nothing from the later ones, and the better way is kept
(`Application`).
"""

import contextlib
import copy
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, TypeVar

import msgspec

from ragstone.errors import SystemFailed
from ragstone.responses.returned_passages import passages_of, probe
from ragstone.responses.stages import StageRecorder
from ragstone.systems.frameworks.holdings import objects_in, parts_of, texts_in
from ragstone.types import Passage, Query, Response, Usage

T = TypeVar("T")
_K_NAMES = ("k", "top_k", "similarity_top_k", "_similarity_top_k", "_k", "_top_k", "top_n")
_VECTOR_STORE_K = 4  # LangChain's default where `search_kwargs` has no k
_BLANK = (Passage("none", "(empty)"),)


@dataclass
class Asked:
    """A question that an application is answering. `reranks`: what its retrievers return is cut later. `once`: only the
    first retriever returns the given passages, and those built on its output. `blank`: instead of none, retrievers
    return a passage without a word. `inner`: this is the context of a retriever inside another one."""

    query: Query
    recorder: StageRecorder
    reranks: bool = False
    once: bool = False
    blank: bool = False
    inner: bool = False
    order: list[str] = field(default_factory=list)  # the retrievers that were asked, except those built on an output
    cuts: list[bool] = field(default_factory=list)  # whether what came later can be set to a number of passages

    def given(self, retriever: Any, searched: str) -> tuple[Passage, ...] | None:
        """The passages that a retriever returns instead of its own; None if it searches."""
        passages = self.query.passages
        if passages is None:
            return None
        self.recorder.queries.append(searched)
        if self.order and (held := self.built_on(retriever)):
            kept = tuple(passage for passage in passages if passage.text in held)
            self.passed_on(kept, cuts=True)
            return kept
        first = self.hand_out(type(retriever).__name__)
        if self.blank:
            return _BLANK
        return () if self.once and not first else passages

    def hand_out(self, name: str) -> bool:
        """Records that what has this name gets the given passages. Whether it is the first."""
        if not self.order:
            passages = self.query.passages or ()
            self.recorder.fetch([msgspec.structs.replace(passage, relevant=None) for passage in passages])
        self.order.append(name)
        return len(self.order) == 1

    def built_on(self, retriever: Any) -> set[str]:
        """The texts that a retriever holds, if all of them were found for this question; otherwise none."""
        found, held = {passage.text for passage in self.recorder.fetched}, set[str]()
        for text in texts_in(retriever) if found else ():
            if text not in found:
                return set()
            held.add(text)
        return held

    def passed_on(self, passages: Sequence[Passage], *, cuts: bool) -> None:
        """Records what a later part of the application left of the passages that it was given."""
        self.cuts.append(cuts)
        self.recorder.rerank(passages)

    def flaws(self) -> tuple[int, int]:
        """How many given passages are in no prompt, and how many are in one more often than they were given; none
        where no prompt was seen."""
        passages, prompts = self.query.passages or (), [prompt for prompt in self.recorder.prompts if prompt.strip()]
        if not prompts:
            return 0, 0
        probes = [probe(passage) for passage in passages]
        given = "\n".join(passage.text for passage in passages)
        counts = [max(prompt.count(text) for prompt in prompts) for text in probes]
        doubled = sum(count > given.count(text) for count, text in zip(counts, probes, strict=True))
        return counts.count(0), doubled

    def response(self, response: Response) -> Response:
        """The response with its stages. Raises SystemFailed if passages were given and no retriever was asked."""
        given, recorder = self.query.passages, self.recorder
        if given is None:
            unseen = not (recorder.queries or recorder.fetched or recorder.prompts)
            return response if unseen and not response.passages else recorder.response(response)
        if given and not self.order:
            raise SystemFailed(
                "ignored_passages", "It answered without asking its retriever, so it did not see the given passages."
            )
        texts = {passage.text for passage in given}
        returned = tuple(passage for passage in response.passages if passage.text in texts)
        return self.recorder.response(msgspec.structs.replace(response, passages=returned), given=True)

    def with_k(self, retriever: T, *, cuts: bool = False) -> T:
        """The retriever, or a copy of it that finds as many passages as the question asks for. `cuts`: it is a ranker,
        whose number of passages is the final one."""
        at_least = not cuts and (self.inner or self.reranks)
        return retriever if self.query.k is None else with_k(retriever, self.query.k, at_least=at_least)

    def cut(self, found: list[T], *, cuts: bool = False) -> list[T]:
        """What an outermost retriever found, cut to as many passages as the question asks for."""
        return found if not cuts and (self.inner or self.reranks) else found[: self.query.k]

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
def asking(
    query: Query, recorder: StageRecorder, *, reranks: bool = False, once: bool = False, blank: bool = False
) -> Iterator[Asked]:
    """The context in which an application answers a question. The options are those of `Asked`."""
    question = Asked(query, recorder, reranks, once, blank)
    token = _asked.set(question)
    try:
        yield question
    finally:
        _asked.reset(token)


@dataclass
class Application:
    """Asks an application, and learns what its retrievers are to return where passages are given: for each order in
    which they are asked, whether later ones return nothing. `reranks`: what they return is cut later."""

    reranks: bool = False
    _once: bool = False
    _settled: dict[tuple[str, ...], bool] = field(default_factory=dict)

    async def answer(self, query: Query, ask: Callable[[Asked], Awaitable[Response]]) -> Response:
        """The response to a question, with its stages. `ask` asks the application once."""
        question, response = await self._answer(query, ask, once=self._once)
        order = tuple(question.order)
        other = self._settled.get(order, not question.once)
        missing, doubled = question.flaws()
        if other == question.once or len(order) < 2 or not (missing if question.once else doubled):
            return response
        try:
            again, second = await self._answer(query, ask, once=other, usage=question.recorder.usage)
        except Exception:  # without the passages of its other retrievers it may do anything
            self._settled[order] = question.once
            return response
        better = again.flaws() < question.flaws()
        self._settled[order] = self._once = other if better else question.once
        usage = again.recorder.usage  # of both
        return second if better else msgspec.structs.replace(response, usage=usage or response.usage)

    async def _answer(
        self, query: Query, ask: Callable[[Asked], Awaitable[Response]], *, once: bool, usage: Usage | None = None
    ) -> tuple[Asked, Response]:
        blank = False
        while True:
            recorder = StageRecorder(query.question, usage=usage)
            with asking(query, recorder, reranks=self.reranks, once=once, blank=blank) as question:
                try:
                    response = question.response(await ask(question))
                except SystemFailed:
                    raise
                except Exception:
                    if query.passages != () or not question.order or blank:
                        raise
                    blank = True  # it cannot go on without a passage, such as a reranker that makes an index
                    continue
            self.reranks = self.reranks or any(question.cuts)
            return question, response


def accepted(retrievers: Sequence[Any], others: Iterable[str] = (), kinds: tuple[type, ...] = ()) -> frozenset[str]:
    """What an application with these retrievers takes. Classes of retrievers make new ones while it answers, which
    cannot be asked alone. `kinds`: those of the retrievers and rankers that a retriever may hold."""
    objects = [item for item in retrievers if not isinstance(item, type)]
    return frozenset(others).union(
        {"passages"} if retrievers else (),
        {"retrieve"} if objects else (),
        {"k"} if any(has_k(item) for item in _nested(objects, kinds)) else (),
    )


def _nested(retrievers: Sequence[Any], kinds: tuple[type, ...]) -> list[Any]:
    """Retrievers, what they hold, and the retrievers and rankers in that."""
    found: dict[int, Any] = {}
    waiting = list(retrievers)
    while waiting:
        item = waiting.pop()
        if id(item) not in found:
            found[id(item)] = item
            for part in parts_of(item) if kinds else ():
                waiting += objects_in(part, *kinds)
    return [*found.values(), *(part for item in retrievers for part in parts_of(item))]


def wrap_once(owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replaces a method of a class or an object by `wrapper(method)`, unless that was done before."""
    method = getattr(owner, name)
    if not hasattr(method, "asked_by_ragstone"):
        wrapped = functools.wraps(method)(wrapper(method))
        wrapped.asked_by_ragstone = True  # type: ignore[attr-defined]
        setattr(owner, name, wrapped)


def wrapped_search(
    results: Callable[[Sequence[Passage]], list[Any]],
    parameter: str,
    text_of: Callable[[Any], str] = str,
    *,
    records: bool = False,
    k_name: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A wrapper, for `wrap_once`, of a method or coroutine of retrievers that returns a list. `parameter`: the name of
    its first one, the query. `results`: given passages as the framework's own objects. `records`: nothing else records
    what it finds. `k_name`: its parameter for the number of passages, if it has one."""

    def given(question: Asked, retriever: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any] | None:
        passages = question.given(retriever, text_of(arguments[0] if arguments else named[parameter]))
        return None if passages is None else results(passages)

    def changed(
        question: Asked, retriever: Any, arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[Any, Sequence[Any], Mapping[str, Any], bool]:
        """The retriever and its arguments with the question's number of passages; whether it was built on an output."""
        later = bool(not question.inner and question.built_on(retriever))
        k = question.query.k
        if k_name and k is not None and not question.inner:
            own = named.get(k_name, arguments[1] if len(arguments) > 1 else _VECTOR_STORE_K)
            named = {**named, k_name: max(k, own) if question.reranks and not later else k}
            arguments = arguments[:1]
        return question.with_k(retriever, cuts=later), arguments, named, later

    def kept(question: Asked, retriever: Any, searched: Any, found: list[Any], *, later: bool) -> list[Any]:
        found = question.cut(found, cuts=later)
        if later:
            question.passed_on(passages_of(found), cuts=True)
        elif records and not question.inner:
            question.recorder.queries.append(text_of(searched))
            question.recorder.fetch(passages_of(found))
        return found

    def wrapper(method: Callable[..., Any]) -> Callable[..., Any]:
        def search(self: Any, *arguments: Any, **named: Any) -> Any:
            question = asked()
            if question is None:
                return method(self, *arguments, **named)
            if (found := given(question, self, arguments, named)) is not None:
                return found
            copied, positional, options, later = changed(question, self, arguments, named)
            with question.searching():
                found = method(copied, *positional, **options)
            return kept(question, self, arguments[0] if arguments else named[parameter], found, later=later)

        async def asearch(self: Any, *arguments: Any, **named: Any) -> Any:
            question = asked()
            if question is None:
                return await method(self, *arguments, **named)
            if (found := given(question, self, arguments, named)) is not None:
                return found
            copied, positional, options, later = changed(question, self, arguments, named)
            with question.searching():
                found = await method(copied, *positional, **options)
            return kept(question, self, arguments[0] if arguments else named[parameter], found, later=later)

        return asearch if inspect.iscoroutinefunction(method) else search

    return wrapper


def wrapped_later(parameter: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A wrapper, for `wrap_once`, of a method or coroutine that takes a list of documents, its first `parameter`, and
    returns some of them: given passages stay as they are; a reranker returns as many as the question asks for."""

    def recorded(question: Asked, part: Any, found: Any) -> Any:
        question.passed_on(passages_of(found), cuts=has_k(part))
        return found

    def wrapper(method: Callable[..., Any]) -> Callable[..., Any]:
        def process(self: Any, *arguments: Any, **named: Any) -> Any:
            question = asked()
            if question is None:
                return method(self, *arguments, **named)
            if question.query.passages is not None:
                return recorded(question, self, list(arguments[0] if arguments else named[parameter]))
            return recorded(question, self, method(question.with_k(self, cuts=True), *arguments, **named))

        async def aprocess(self: Any, *arguments: Any, **named: Any) -> Any:
            question = asked()
            if question is None:
                return await method(self, *arguments, **named)
            if question.query.passages is not None:
                return recorded(question, self, list(arguments[0] if arguments else named[parameter]))
            return recorded(question, self, await method(question.with_k(self, cuts=True), *arguments, **named))

        return aprocess if inspect.iscoroutinefunction(method) else process

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
