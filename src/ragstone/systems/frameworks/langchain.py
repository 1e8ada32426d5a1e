"""LangChain: any Runnable, such as a chain, an agent or a retrieval chain.

Its callbacks tell what the retrievers were asked and returned, and the prompts and tokens of the models. Its retrievers
can be made to return given passages or another number of them, and are asked alone (`interception.py`).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from ragstone.responses.outputs import passages_of, response_of
from ragstone.responses.stages import StageRecorder
from ragstone.systems.frameworks.interception import (
    accepted,
    asking,
    interleaved,
    objects_in,
    wrap_once,
    wrapped_search,
)
from ragstone.types import Passage, Query, Response

_QUESTION_KEYS = ("question", "input", "query")
_HISTORY_KEYS = ("chat_history", "history")
_MESSAGES = "messages"  # what an agent takes: the history and the question
# What a chain raises if it gets a text where it wants a mapping, or the other way round.
_WRONG_INPUT = (TypeError, KeyError, AttributeError, ValueError)


def call_of(runnable: Any) -> tuple[Callable[[Query], Awaitable[Response]], frozenset[str]]:
    """How to ask a Runnable, and what it takes besides the question."""
    properties = _properties(runnable)
    keys = [key for key in _QUESTION_KEYS if key in properties] or list(getattr(runnable, "input_keys", []))[:1]
    history = next((key for key in _HISTORY_KEYS if key in properties), "")
    forms: list[Callable[[Query], Any]] = [lambda query: query.question, lambda query: _mapping(query, _QUESTION_KEYS)]
    if keys:
        forms = [lambda query: _mapping(query, keys, history)]
    elif _MESSAGES in properties:
        history, forms = _MESSAGES, [lambda query: {_MESSAGES: [*_turns(query), ("user", query.question)]}]

    retrievers = _retrievers(runnable)

    async def ask(query: Query) -> Response:
        if query.retrieve_only:
            return await _search(retrievers, query)
        first: Exception | None = None
        for form in list(forms):
            recorder = StageRecorder(query.question)
            try:
                with asking(query, recorder) as question:
                    value = await runnable.ainvoke(form(query), config={"callbacks": [_Callbacks(recorder)]})
            except _WRONG_INPUT as error:
                if len(forms) == 1:
                    raise
                first = first or error
                continue
            forms[:] = [form]  # the form that worked
            return question.response(response_of(value))
        assert first is not None
        raise first

    return ask, accepted(retrievers, {"history"} if history else set())


def _retrievers(runnable: Any) -> list[Any]:
    """The retrievers of a Runnable, with their calls wrapped."""
    found = objects_in(runnable, BaseRetriever)
    for kind in {BaseRetriever, *(item if isinstance(item, type) else type(item) for item in found)}:
        for base in kind.__mro__:
            for name in ("invoke", "ainvoke"):
                if issubclass(base, BaseRetriever) and name in vars(base):
                    wrap_once(base, name, wrapped_search(_documents, "input"))
    return found


async def _search(retrievers: Sequence[Any], query: Query) -> Response:
    """What the retrievers find for the question as it stands."""
    recorder = StageRecorder(query.question)
    config = {"callbacks": [_Callbacks(recorder)]}
    with asking(query, recorder):
        found = await asyncio.gather(
            *(item.ainvoke(query.question, config=config) for item in retrievers if not isinstance(item, type))
        )
    return recorder.search(query, passages_of(interleaved(found)))


class _Metadata(dict[str, Any]):
    """The metadata of a given passage: a chain may print fields that it does not have."""

    def __missing__(self, key: str) -> str:
        return ""


def _documents(passages: Sequence[Passage]) -> list[Document]:
    documents = [Document(passage.text, id=passage.id) for passage in passages]
    for document, passage in zip(documents, passages, strict=True):
        document.metadata = _Metadata({**passage.meta, "source": passage.id, "title": passage.title})
    return documents


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
        values[history] = _turns(query)
    return values


def _turns(query: Query) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in query.history]


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
