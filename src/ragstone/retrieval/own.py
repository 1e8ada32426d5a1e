"""A retriever of the user's own: code by its location, a live object, or an HTTP address.

    mine.py:search                    a function (query, k) or a coroutine; it may return texts, dicts, documents, ids
    mine.py:retriever                 an object: of ragstone, a LangChain retriever or vector store, a LlamaIndex
                                      retriever or index, a Haystack retriever
    mine.py:Search                    a class or a function that makes one of these; with a parameter `pool` it gets the
                                      passages
    http(http://localhost:8000/search,body={"q": "{query}", "n": "{k}"},contexts=hits[].text,ids=hits[].id)

Named code runs in a process of its own. Options of `http`: `method`, `headers` (JSON; `$NAME` is read from the
environment), `body` (JSON with `{query}` and `{k}`), and the JMESPath expressions `contexts`, `ids` and `scores`.
What was found is put under the pool's ids where the pool has a passage of that id or text.
"""

import asyncio
import contextlib
import functools
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ragstone.errors import BadReply, SystemFailed, UsageError
from ragstone.models import ModelOptions
from ragstone.models.concurrency import gather_all
from ragstone.models.nested_names import HTTP, PLACE, Spec
from ragstone.responses.returned_passages import passages_of
from ragstone.retrieval.frameworks import framework_search
from ragstone.retrieval.registry import Building, Opener
from ragstone.types import Passage, Retriever
from ragstone.user_code.calls import Served, guarded, makes_object, result_of, with_article

if TYPE_CHECKING:
    from ragstone.models.http_call import HttpCall

Search = Callable[[str, int], Any]
_K = ("k", "top_k", "limit", "n", "n_results", "num_results")
_POOL = ("pool", "corpus")
_LISTS = ("passages", "documents", "contexts", "results", "hits", "matches", "chunks", "sources", "nodes", "docs")
_DEFAULT_BODY = '{"query": "{query}", "k": "{k}"}'


class PoolPassages:
    """Puts what a user's retriever returned under the ids of the pool."""

    def __init__(self, pool: Sequence[Passage]) -> None:
        self._by_id = {passage.id: passage for passage in pool}
        self._by_text = {passage.text.strip(): passage for passage in reversed(pool)}

    def read(self, value: Any, name: str) -> list[Passage]:
        """The passages in a value: a list of texts, mappings, documents or ids of the pool, alone or in pairs with a
        score; or a mapping that has such a list. Raises SystemFailed for anything else."""
        items = _list_of(value)
        if items is None:
            shown = "None" if value is None else f"{with_article(type(value).__name__)} ({str(value)[:40]!r})"
            raise SystemFailed("no_answer", f"{name} returned {shown} instead of a list of passages.")
        passages = passages_of(map(self._known, items))
        if items and not passages:
            kind = type(items[0]).__name__
            raise SystemFailed(
                "no_answer",
                f"{name} returned a list of {kind} without texts. Return texts, dicts with `text` and `id`, documents, "
                f"or ids of the pool.",
            )
        found: dict[str, Passage] = {}
        for passage in map(self.placed, passages):
            found.setdefault(passage.id, passage)
        return _with_scores(list(found.values()))

    def _known(self, item: Any) -> Any:
        """The pool's passage, if the item is an id of the pool, or a pair of one and a score."""
        if isinstance(item, str):
            return self._by_id.get(item, item)
        if isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str):
            return self._by_id.get(item[0], item[0]), item[1]
        return item

    def placed(self, passage: Passage) -> Passage:
        """The pool's passage of that id or text, with the score of this one; else this one."""
        known = self._by_id.get(passage.id) or self._by_text.get(passage.text.strip())
        return passage if known is None else replace(known, score=passage.score)


def _with_scores(passages: list[Passage]) -> list[Passage]:
    """The passages in their order; 1 / rank as scores where the scores do not give it, such as distances, or none."""
    scores = [passage.score for passage in passages]
    known = [score for score in scores if score is not None]
    if len(known) == len(scores) and known == sorted(known, reverse=True):
        return passages
    return [replace(passage, score=1 / rank) for rank, passage in enumerate(passages, start=1)]


def _list_of(value: Any) -> list[Any] | None:
    """The list that a value is or, if it is a mapping, has under a usual name or as its only one; None if there is
    none."""
    if isinstance(value, Mapping):
        lists = {key: item for key, item in value.items() if isinstance(item, list | tuple)}
        usual = next((name for name in _LISTS if name in lists), None)
        value = lists[usual] if usual is not None else next(iter(lists.values())) if len(lists) == 1 else None
    if value is None or isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return None
    return list(value)


@dataclass
class OwnRetriever:
    """Calls `search(query, k)` of the user's, which returns whatever `PoolPassages.read` reads or an awaitable of it.

    blocks: it runs in threads. timeout: seconds for one query. Raises SystemFailed, with the line of the user's
    code."""

    id: str
    search: Search
    passages: PoolPassages
    timeout: float = 120.0
    in_flight: int = 8
    blocks: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query, in the order of the user's retriever. A blank query finds none."""
        places = asyncio.Semaphore(self.in_flight)

        async def one(query: str) -> list[Passage]:
            if not query.strip() or k < 1:
                return []
            async with places:
                return await self._found(query, k)

        return list(await gather_all(*map(one, queries)))

    async def _found(self, query: str, k: int) -> list[Passage]:
        try:
            value = await guarded(lambda: result_of(self.search, query, k, blocks=self.blocks), self.timeout)
        except SystemFailed as error:
            raise SystemFailed(error.kind, f"{self.id}: {' '.join(str(error).split())}") from None
        return self.passages.read(value, self.id)[:k]


def retriever_from(
    target: Any, name: str, pool: Sequence[Passage], *, timeout: float = 120.0, in_flight: int = 8
) -> Retriever:
    """The retriever that `target` is or makes. `name` becomes its id, if it has none. Raises UsageError."""
    made = _made(target, pool)
    found = framework_search(made)
    if found is None and _is_retriever(made):
        retriever: Retriever = made
        return retriever
    make = functools.partial(OwnRetriever, name, timeout=timeout, in_flight=in_flight, passages=PoolPassages(pool))
    if found is not None:
        return make(found.search, blocks=False, facts={"framework": found.framework})
    if not callable(made):
        raise UsageError(
            f"{name} is {with_article(type(made).__name__)}, which cannot search: name a function (query, k), a "
            f"retriever of LangChain, LlamaIndex or Haystack, or an object with `id` and `retrieve`."
        )
    function = made if inspect.isroutine(made) else made.__call__
    return make(_search_of(function, name), blocks=not inspect.iscoroutinefunction(function))


def _is_retriever(target: Any) -> bool:
    return hasattr(target, "id") and hasattr(target, "retrieve") and not isinstance(target, type)


def _made(target: Any, pool: Sequence[Passage]) -> Any:
    """The product of a class or a factory; anything else as it is. A class with a parameter gets the pool."""
    is_class = inspect.isclass(target)
    if not (is_class or inspect.isfunction(target)):
        return target
    make: Callable[..., Any] = target
    first = next(iter(inspect.signature(make).parameters), "")
    if first in _POOL:
        return make(pool)
    if makes_object(make):
        return make()
    return make(pool) if is_class else make


def _search_of(function: Callable[..., Any], name: str) -> Search:
    """Calls a function with the query first, and with k if it takes it, by name or as its second parameter."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # written in C
        return function
    positional = [item for item in parameters if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    if not positional:
        raise UsageError(f"{name} takes no query: its first parameter should be the query, its second `k`.")
    by_name = next((item.name for item in parameters if item.name in _K and item is not positional[0]), "")
    others = [item for item in parameters if item is not positional[0] and item.name != by_name]
    if missing := [item.name for item in others if item.default is item.empty and item.kind not in (2, 4)]:
        raise UsageError(
            f"{name} needs the parameter {missing[0]!r}, which ragstone does not know. It can give the query and `k`: "
            f"wrap the function, or give the parameter a default."
        )
    return lambda query, k: function(query, **({by_name: k} if by_name else {}))


def serve_retriever(target: Any, settings: Mapping[str, Any]) -> Served:
    """The retriever in a process of its own, for `user_code.worker`: takes queries and k, returns passages."""
    pool = msgspec.convert(settings["pool"], list[Passage])
    retriever = retriever_from(
        target, settings["place"], pool, timeout=settings["timeout"], in_flight=settings["threads"]
    )
    own = retriever if isinstance(retriever, OwnRetriever) else None
    passages = PoolPassages(pool)

    async def call(value: Mapping[str, Any]) -> list[list[Passage]]:
        queries = value["queries"]
        if own is not None:
            return await own.retrieve(queries, k=value["k"])
        lists: Any = await guarded(
            lambda: retriever.retrieve(queries, k=value["k"]), settings["timeout"] * len(queries)
        )
        if not isinstance(lists, list | tuple) or len(lists) != len(queries):
            raise SystemFailed(
                "no_answer", f"retrieve() returned {type(lists).__name__} instead of {len(queries)} lists of passages."
            )
        return [passages.read(found, settings["place"])[: value["k"]] for found in lists]

    return Served({"facts": dict(getattr(retriever, "facts", {}))}, call, own is not None and own.blocks)


@dataclass
class _IsolatedRetriever:
    """A retriever in a process of its own."""

    id: str
    call: Callable[..., Awaitable[Any]]
    timeout: float
    facts: Mapping[str, Any]

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query. Raises SystemFailed, with the line of the user's code."""
        if not queries:
            return []
        try:
            lists = await self.call({"queries": list(queries), "k": k}, timeout=self.timeout * len(queries))
        except SystemFailed as error:
            text = str(error)
            raise SystemFailed(error.kind, text if text.startswith(self.id) else f"{self.id}: {text}") from None
        return msgspec.convert(lists, list[list[Passage]])


@contextlib.asynccontextmanager
async def open_place(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the retriever at a location, in a process of its own. Raises UsageError if there is none."""
    from ragstone.user_code.isolated import open_isolated_code, source_hash  # noqa: PLC0415

    (place,) = spec.arguments
    _check_file(place)
    pool, timeout = list(building.pool), building.options.deadline
    opening = open_isolated_code(
        place, "retriever", "ragstone.retrieval.own:serve_retriever", timeout=timeout,
        threads=building.options.in_flight, pool=pool,
    )  # fmt: skip
    async with opening as code:
        facts = {**code.about["facts"], "sha256": source_hash(place)}
        yield _IsolatedRetriever(place, code.call, timeout, facts)


def _check_file(place: str) -> None:
    """Raises UsageError if the file of a location is missing; its code is not loaded."""
    file = place.rpartition(":")[0]
    if file.endswith(".py") and not Path(file).expanduser().is_file():
        raise UsageError(f"The retriever {place!r} cannot be loaded: there is no file {file}.")


@contextlib.asynccontextmanager
async def open_http(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the retriever at an address. Raises UsageError for an address or header with a password, a body that is not
    JSON, or an expression that is not JMESPath."""
    from ragstone.models.http_call import compiled_path  # noqa: PLC0415  (loads aiohttp)

    spec.only("method", "headers", "body", "contexts", "ids", "scores")
    paths = {key: compiled_path(spec.options.get(key, "")) for key in ("contexts", "ids", "scores")}
    _http_call(spec, ModelOptions())  # everything that can be checked without the building
    async with _http_call(spec, building.options) as call:
        yield _HttpRetriever(spec.name, call, paths, spec.options.get("contexts", ""), PoolPassages(building.pool))


def _http_call(spec: Spec, options: ModelOptions) -> "HttpCall":
    from ragstone.models.http_call import named_call  # noqa: PLC0415

    return named_call(spec, options, names=("query", "question", "k"), body=_DEFAULT_BODY)


@dataclass
class _HttpRetriever:
    """A retriever at an address. `paths`: what finds the contexts, ids and scores in a reply."""

    id: str
    call: "HttpCall"
    paths: Mapping[str, Callable[[Any], Any]]
    contexts: str
    passages: PoolPassages

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query. A blank query finds none. Raises the errors of a model call."""
        return list(await gather_all(*(self._found(query, k) for query in queries)))

    async def _found(self, query: str, k: int) -> list[Passage]:
        if not query.strip() or k < 1:
            return []
        reply = await self.call.ask({"query": query, "question": query, "k": k})
        items = _list_of(self.paths["contexts"](reply) if self.contexts else reply)
        if items is None:
            where = f"at {self.contexts!r}" if self.contexts else "in the reply"
            raise BadReply(f"{self.call.where}: there is no list of passages {where}: {json.dumps(reply)[:100]}")
        items = _joined(items, self.paths["ids"](reply), self.paths["scores"](reply), self.call.where)
        return self.passages.read(items, self.call.where)[:k]


def _joined(items: list[Any], ids: Any, scores: Any, where: str) -> list[Any]:
    """The items with the ids and scores that stand elsewhere in a reply."""
    for name, values in (("ids", ids), ("scores", scores)):
        if values is None:
            continue
        if not isinstance(values, list) or len(values) != len(items):
            raise BadReply(f"{where}: the reply has {len(items)} contexts but not as many {name}.")
        key = name.removesuffix("s")
        items = [
            {**(item if isinstance(item, dict) else {"text": item}), key: value}
            for item, value in zip(items, values, strict=True)
        ]
    return items


PLUGINS: dict[str, Opener] = {PLACE: open_place, HTTP: open_http}
