"""A reranker of the user's own: code by its location, or an HTTP address.

    mine.py:score                 a function (query, texts) or a coroutine; it returns a score for each text, or the
                                  texts in their new order
    mine.py:model                 an object: of ragstone, a cross encoder of sentence-transformers, a compressor of
                                  LangChain, a postprocessor of LlamaIndex, a ranker of Haystack
    mine.py:Model                 a class or a function without parameters that makes one of these
    http(http://localhost:8000/rank,body={"q": "{query}", "docs": "{texts}"},scores=results[].score)

Named code runs in a process of its own. Options of `http`: `method`, `headers` (JSON; `$NAME` is read from the
environment), `body` (JSON with `{query}` and `{texts}`), and `scores` (JMESPath), a number for each text.
"""

import contextlib
import importlib
import inspect
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragstone.errors import BadReply, SystemFailed, UsageError
from ragstone.models.nested_names import is_http, parse
from ragstone.models.options import ModelOptions
from ragstone.models.rerank import Reranker, Reranking
from ragstone.user_code.calls import Served, guarded, makes_object, result_of, with_article
from ragstone.user_code.isolated import IsolatedCode, open_isolated_code

_DEFAULT_BODY = '{"query": "{query}", "texts": "{texts}"}'
_INDEX = "ragstone_index"  # where a document of a framework keeps its place
Function = Callable[[str, list[str]], Any]


def reranker_function(target: Any, name: str) -> Function:
    """How to call a user's reranker with a query and texts. Raises UsageError for what is none."""
    for method, make in _METHODS.items():
        if hasattr(target, method) and not isinstance(target, type):
            return make(target)
    if not callable(target):
        raise UsageError(
            f"{name} is {with_article(type(target).__name__)}, which cannot rerank: name a function (query, texts) "
            f"that returns a score for each text, or a reranker of a framework."
        )
    function: Function = target
    return function


def _langchain(compressor: Any) -> Function:
    document = importlib.import_module("langchain_core.documents").Document

    def rank(query: str, texts: list[str]) -> dict[int, float | None]:
        documents = [document(page_content=text, metadata={_INDEX: at}) for at, text in enumerate(texts)]
        ranked = compressor.compress_documents(documents, query)
        return {item.metadata[_INDEX]: item.metadata.get("relevance_score") for item in ranked}

    return rank


def _llamaindex(postprocessor: Any) -> Function:
    schema = importlib.import_module("llama_index.core.schema")

    def rank(query: str, texts: list[str]) -> dict[int, float | None]:
        nodes = [
            schema.NodeWithScore(node=schema.TextNode(text=text, id_=str(at)), score=0.0)
            for at, text in enumerate(texts)
        ]
        return {int(item.node.node_id): item.score for item in postprocessor.postprocess_nodes(nodes, query_str=query)}

    return rank


def _haystack(ranker: Any) -> Function:
    document = importlib.import_module("haystack").Document

    def rank(query: str, texts: list[str]) -> dict[int, float | None]:
        documents = [document(content=text, meta={_INDEX: at}) for at, text in enumerate(texts)]
        ranked = ranker.run(query=query, documents=documents)["documents"]
        return {item.meta[_INDEX]: item.score for item in ranked}

    return rank


# The method that an object of a framework has → how to call it.
_METHODS: Mapping[str, Callable[[Any], Function]] = {
    "compress_documents": _langchain,
    "postprocess_nodes": _llamaindex,
    "__haystack_input__": _haystack,
    "predict": lambda encoder: lambda query, texts: encoder.predict([(query, text) for text in texts]),
}


def scores_of(value: Any, texts: Sequence[str], name: str) -> tuple[float, ...]:
    """A score for each text, of what a user's reranker returned: numbers; the texts in their new order; or the scores
    of the texts by their positions, where None means that only the order is known. What was left out comes last.
    Raises BadReply."""
    if isinstance(value, Mapping):
        return _ranked(value, len(texts))
    items = None if value is None or isinstance(value, str | bytes | int | float) else list(value)
    if items and all(isinstance(item, str) for item in items):
        places: dict[int, float | None] = {}
        for item in items:
            place = next((at for at, text in enumerate(texts) if text == item and at not in places), None)
            if place is None:
                raise BadReply(f"{name}: it returned a text that it was not given ({item[:40]!r}).")
            places[place] = None
        return _ranked(places, len(texts))
    try:
        scores = tuple(float(item) for item in items) if items is not None else None
    except (TypeError, ValueError):
        scores = None
    if scores is None:
        shown = "None" if value is None else with_article(type(value).__name__)
        raise BadReply(f"{name}: it should return a number for each text, and returned {shown}.")
    if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
        raise BadReply(f"{name}: it should return {len(texts)} finite numbers, and returned {str(scores)[:60]}.")
    return scores


def _ranked(scores: Mapping[int, float | None], count: int) -> tuple[float, ...]:
    known = [score for score in scores.values() if score is not None]
    by_score = len(known) == len(scores) and known == sorted(known, reverse=True) and len(set(known)) > 1
    placed = {
        at: score if by_score and score is not None else 1 / rank
        for rank, (at, score) in enumerate(scores.items(), start=1)
    }
    least = min(placed.values(), default=0.0)
    return tuple(placed.get(at, least - 1 - at) for at in range(count))


def serve_reranker(target: Any, settings: Mapping[str, Any]) -> Served:
    """The reranker in a process of its own, for `user_code.worker`. A chat model is only told to be one."""
    place, timeout = settings["place"], settings["timeout"]
    made = target() if makes_object(target) else target
    if hasattr(made, "generate") and not hasattr(made, "rerank"):
        return Served({"chat": True}, _no_call)
    is_ours = hasattr(made, "rerank") and hasattr(made, "id")
    function: Any = None if is_ours else reranker_function(made, place)
    called = function if function is None or inspect.isroutine(function) else function.__call__
    blocks = function is not None and not inspect.iscoroutinefunction(called)

    async def call(value: Mapping[str, Any]) -> list[float]:
        query, texts = value["query"], value["texts"]

        async def ask() -> Any:
            if function is None:
                return (await made.rerank(query, texts)).scores
            return await result_of(function, query, texts, blocks=blocks)

        return list(scores_of(await guarded(ask, timeout), texts, place))

    return Served({"chat": False}, call, blocks)


async def _no_call(_: Any) -> None:
    raise UsageError("A chat model is not called here.")


@dataclass
class _IsolatedReranker:
    """A reranker in a process of its own."""

    id: str
    code: IsolatedCode

    async def rerank(self, query: str, texts: Sequence[str], /) -> Reranking:
        try:
            scores = await self.code.call({"query": query, "texts": list(texts)})
        except SystemFailed as error:
            text = " ".join(str(error).split())
            raise BadReply(text if text.startswith(self.id) else f"{self.id}: {text}") from None
        return Reranking(tuple(scores))


@dataclass
class _HttpReranker:
    """A reranker at an address. `path`: where the scores are in a reply; `find` finds them."""

    id: str
    call: Any
    path: str
    find: Callable[[Any], Any]

    async def rerank(self, query: str, texts: Sequence[str], /) -> Reranking:
        reply = await self.call.ask({"query": query, "texts": list(texts)})
        usual = reply.get("scores") if isinstance(reply, dict) else reply
        found = self.find(reply) if self.path else usual
        if not isinstance(found, list):
            where = f"at {self.path!r}" if self.path else "in the reply"
            raise BadReply(f"{self.call.where}: there is no list of scores {where}.")
        return Reranking(scores_of(found, texts, self.call.where))


def http_reranker_call(name: str, options: ModelOptions) -> Any:
    """The spec and the call of a reranker at an address. Raises UsageError."""
    from ragstone.models.http_call import named_call  # noqa: PLC0415  (loads aiohttp)

    spec = parse(name).only("method", "headers", "body", "scores")
    return spec, named_call(spec, options, names=("query", "texts"), body=_DEFAULT_BODY)


@contextlib.asynccontextmanager
async def open_own_reranker(name: str, options: ModelOptions) -> AsyncIterator[Reranker | None]:
    """Opens the reranker at a location or an address; None if there is a chat model. Raises UsageError."""
    from ragstone.models.http_call import compiled_path  # noqa: PLC0415

    if is_http(name):
        spec, call = http_reranker_call(name, options)
        path = spec.options.get("scores", "")
        async with call:
            yield _HttpReranker(spec.name, call, path, compiled_path(path))
        return
    opening = open_isolated_code(
        name, "reranker", "ragstone.models.rerank_own:serve_reranker", timeout=options.deadline,
        threads=options.in_flight,
    )  # fmt: skip
    async with opening as code:
        yield None if code.about["chat"] else _IsolatedReranker(name, code)
