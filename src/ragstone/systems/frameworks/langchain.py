"""LangChain: any Runnable, such as a chain, an agent, a retrieval chain or a graph of LangGraph.

Its callbacks tell what the retrievers were asked and returned, and the prompts and tokens of the models. Its retrievers
and vector stores can be made to return given passages or another number of them, and are asked alone; compressors and
transformers of documents pass given passages on (`interception.py`).
"""

import asyncio
import contextlib
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tracers.context import register_configure_hook
from langchain_core.vectorstores import VectorStore

from ragstone.responses.outputs import response_of, state_response
from ragstone.responses.returned_passages import passages_of
from ragstone.responses.stages import StageRecorder
from ragstone.systems.frameworks.holdings import objects_in, parts_of
from ragstone.systems.frameworks.interception import (
    Application,
    Asked,
    accepted,
    asking,
    has_k,
    interleaved,
    wrap_once,
    wrapped_later,
    wrapped_search,
)
from ragstone.systems.frameworks.states import HISTORY_KEYS, MESSAGES, state_forms, state_schema, turns
from ragstone.types import Passage, Query, Response

_QUESTION_KEYS = ("question", "input", "query")
# What a chain raises if it gets a text where it wants a mapping, or the other way round.
_WRONG_INPUT = (TypeError, KeyError, AttributeError, ValueError)
_BY_TEXT = ("similarity_search", "max_marginal_relevance_search")
_BY_VECTOR = ("similarity_search_by_vector", "max_marginal_relevance_search_by_vector")
_WITH_SCORES = ("similarity_search_with_score", "similarity_search_with_relevance_scores")


def call_of(runnable: Any) -> tuple[Callable[[Query], Awaitable[Response]], frozenset[str]]:
    """How to ask a Runnable, and what it takes besides the question. Raises UsageError for a graph whose state has no
    place for a question."""
    schema = state_schema(runnable)
    if schema is None:
        forms, history = _forms(runnable)
    else:
        forms, history = state_forms(schema)
    retrievers = retrievers_of(runnable)
    compressors = objects_in(runnable, BaseDocumentCompressor)
    application = Application(reranks=any(has_k(item) for item in compressors))

    async def ask(query: Query) -> Response:
        if query.retrieve_only:
            recorder = StageRecorder(query.question)
            with asking(query, recorder):
                return recorder.search(query, passages_of(await search(retrievers, query, recorder)))
        _wrap()
        first: Exception | None = None
        for form in list(forms):

            async def invoke(question: Asked, form: Callable[[Query], Any] = form) -> Response:
                given = form(query)
                config: dict[str, Any] = {}
                if getattr(runnable, "checkpointer", None):  # each question is a conversation of its own
                    config["configurable"] = {"thread_id": uuid.uuid4().hex}
                with listening(question.recorder) as callbacks:
                    config["callbacks"] = [callbacks]
                    value = await runnable.ainvoke(given, config=config)
                return response_of(value) if schema is None else state_response(value, given)

            try:
                response = await application.answer(query, invoke)
            except _WRONG_INPUT as error:
                if len(forms) == 1:
                    raise
                first = first or error
                continue
            forms[:] = [form]  # the form that worked
            return response
        assert first is not None
        raise first

    return ask, accepts_of(retrievers).union({"history"} if history else ())


def accepts_of(retrievers: Sequence[Any]) -> frozenset[str]:
    """What an application with these retrievers takes."""
    stores = any(isinstance(item, VectorStore) for item in retrievers)
    return accepted(retrievers, {"k"} if stores else (), (BaseRetriever, BaseDocumentCompressor))


def _forms(runnable: Any) -> tuple[list[Callable[[Query], Any]], bool]:
    """What a Runnable may take, and whether that has the history."""
    properties = _properties(runnable)
    keys = [key for key in _QUESTION_KEYS if key in properties] or list(getattr(runnable, "input_keys", []))[:1]
    history = next((key for key in HISTORY_KEYS if key in properties), "")
    if keys:
        return [lambda query: _mapping(query, keys, history)], bool(history)
    if MESSAGES in properties:
        return [lambda query: {MESSAGES: [*turns(query), ("user", query.question)]}], True
    return [lambda query: query.question, lambda query: _mapping(query, _QUESTION_KEYS)], False


def retrievers_of(target: Any) -> list[Any]:
    """The retrievers of an application, and the vector stores that it asks directly."""
    _wrap()
    found = objects_in(target, BaseRetriever, VectorStore)
    owners = [item for item in found if not isinstance(item, type)]
    inner = {id(item) for owner in owners for part in parts_of(owner) for item in objects_in(part, VectorStore)}
    return [item for item in found if id(item) not in inner]


def _wrap() -> None:
    """Wraps the searches and rankings of all classes that are loaded by now."""
    search, inner = wrapped_search(_documents, "input"), wrapped_search(_documents, "query")
    pairs = _store_search(_pairs)
    by_text, by_vector = _store_search(_documents), _store_search(_documents, "embedding")
    methods = {
        BaseRetriever: {
            **_with_async(("invoke",), search),
            # of a bound `invoke` that the application took before
            **dict.fromkeys(("_get_relevant_documents", "_aget_relevant_documents"), inner),
        },
        VectorStore: {
            **_with_async(_BY_TEXT, by_text), **_with_async(_BY_VECTOR, by_vector), **_with_async(_WITH_SCORES, pairs)
        },
        BaseDocumentCompressor: _with_async(("compress_documents",), wrapped_later("documents")),
        BaseDocumentTransformer: _with_async(("transform_documents",), wrapped_later("documents")),
    }  # fmt: skip
    for base, wrappers in methods.items():
        for kind in _loaded(base):
            for name in wrappers.keys() & vars(kind).keys():
                wrap_once(kind, name, wrappers[name])


def _with_async(names: Sequence[str], wrapper: Any) -> dict[str, Any]:
    return dict.fromkeys((*names, *(f"a{name}" for name in names)), wrapper)


def _store_search(results: Callable[[Sequence[Passage]], list[Any]], parameter: str = "query") -> Any:
    """The wrapper of a vector store's search, by a text or a vector; nothing else records what it finds."""
    return wrapped_search(
        results, parameter, lambda query: query if isinstance(query, str) else "", records=True, k_name="k"
    )


def _loaded(base: Any) -> Iterator[Any]:
    yield base
    for kind in base.__subclasses__():
        yield from _loaded(kind)


async def search(retrievers: Sequence[Any], query: Query, recorder: StageRecorder) -> list[Any]:
    """What the retrievers find for the question as it stands."""
    with listening(recorder) as callbacks:
        searches = [
            item.asimilarity_search(query.question)
            if isinstance(item, VectorStore)
            else item.ainvoke(query.question, config={"callbacks": [callbacks]})
            for item in retrievers
            if not isinstance(item, type)
        ]
        return interleaved(await asyncio.gather(*searches))


_callbacks: ContextVar[BaseCallbackHandler | None] = ContextVar("_callbacks", default=None)
register_configure_hook(_callbacks, inheritable=True)


@contextlib.contextmanager
def listening(recorder: StageRecorder) -> Iterator[BaseCallbackHandler]:
    """The context in which retrievers and models tell what they do, also those that are called without a config."""
    callbacks = _Callbacks(recorder)
    token = _callbacks.set(callbacks)
    try:
        yield callbacks
    finally:
        _callbacks.reset(token)


class _Metadata(dict[str, Any]):
    """The metadata of a given passage: a chain may print fields that it does not have."""

    def __missing__(self, key: str) -> str:
        return ""


def _documents(passages: Sequence[Passage]) -> list[Document]:
    documents = [Document(passage.text, id=passage.id) for passage in passages]
    for document, passage in zip(documents, passages, strict=True):
        document.metadata = _Metadata({**passage.meta, "source": passage.id, "title": passage.title})
    return documents


def _pairs(passages: Sequence[Passage]) -> list[tuple[Document, float]]:
    return [(document, 1.0) for document in _documents(passages)]


def _properties(runnable: Any) -> Mapping[str, Any]:
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # a schema of the user's own types may not be computable
        return {}
    properties = schema.get("properties", {})
    return properties if isinstance(properties, Mapping) else {}


def _mapping(query: Query, keys: Sequence[str], history: str = "") -> dict[str, Any]:
    values: dict[str, Any] = dict.fromkeys(keys, query.question)
    if history:
        values[history] = turns(query)
    return values


class _Callbacks(BaseCallbackHandler):
    """Records the stages of one call."""

    def __init__(self, recorder: StageRecorder) -> None:
        self._recorder, self._started = recorder, dict[Any, float]()
        self._outer: set[Any] = set()  # retrievers that ask others, such as a reranking one

    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: Any, parent_run_id: Any = None, **_: Any
    ) -> None:
        self._started[run_id] = time.perf_counter()
        self._recorder.queries.append(str(query))
        if parent_run_id in self._started:
            self._outer.add(parent_run_id)

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: Any, **_: Any) -> None:
        seconds = time.perf_counter() - self._started.pop(run_id, time.perf_counter())
        passages = passages_of(documents)
        if run_id in self._outer:
            self._recorder.rerank(passages)
        else:
            self._recorder.fetch(passages, seconds)

    def on_chat_model_start(self, serialized: Any, messages: Sequence[Sequence[Any]], **_: Any) -> None:
        for conversation in messages:
            self._recorder.prompts.append("\n".join(str(message.content) for message in conversation))

    def on_llm_start(self, serialized: Any, prompts: Sequence[str], **_: Any) -> None:
        self._recorder.prompts.extend(prompts)

    def on_llm_end(self, response: Any, **_: Any) -> None:
        for generation in (item for batch in response.generations for item in batch):
            self._recorder.count(getattr(getattr(generation, "message", None), "usage_metadata", None))
