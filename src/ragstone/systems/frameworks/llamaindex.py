"""LlamaIndex: query engines and chat engines.

Its instrumentation tells what was retrieved and the models' prompts; its event handlers are global, and find the
question that an event belongs to in `interception.py`. Its retrievers can be made to return given passages, which no
postprocessor changes then, or another number of them, and are asked alone.
"""

import asyncio
import contextlib
import copy
import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.llm import (
    LLMChatEndEvent,
    LLMChatStartEvent,
    LLMCompletionEndEvent,
    LLMCompletionStartEvent,
    LLMPredictStartEvent,
)
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.storage.chat_store import SimpleChatStore

from ragstone.responses.outputs import response_of
from ragstone.responses.returned_passages import passages_of
from ragstone.responses.stages import StageRecorder
from ragstone.systems.frameworks.holdings import objects_in
from ragstone.systems.frameworks.interception import (
    Application,
    Asked,
    accepted,
    asked,
    asking,
    has_k,
    interleaved,
    wrap_once,
    wrapped_later,
    wrapped_search,
)
from ragstone.types import Passage, Query, Response


def call_of(engine: Any) -> tuple[Callable[[Query], Awaitable[Response]], frozenset[str]]:
    """How to ask an engine, and what it takes besides the question."""
    chats = hasattr(engine, "achat")
    retrievers = retrievers_of(engine)
    postprocessors = objects_in(engine, BaseNodePostprocessor)
    application = Application(reranks=any(has_k(item) for item in postprocessors))

    async def invoke(question: Asked) -> Response:
        query = question.query
        if chats:
            history = [ChatMessage(role=turn.role, content=turn.content) for turn in query.history]
            return response_of(await _own(engine).achat(query.question, chat_history=history))
        return response_of(await _whole(await engine.aquery(query.question)))

    async def ask(query: Query) -> Response:
        if not query.retrieve_only:
            return await application.answer(query, invoke)
        recorder = StageRecorder(query.question)
        with asking(query, recorder):
            return recorder.search(query, passages_of(await search(retrievers, query, recorder)))

    return ask, accepts_of(retrievers).union({"history"} if chats else ())


def accepts_of(retrievers: Sequence[Any]) -> frozenset[str]:
    """What an application with these retrievers takes."""
    return accepted(retrievers, (), (BaseRetriever, BaseNodePostprocessor))


def listening(recorder: StageRecorder) -> contextlib.AbstractContextManager[None]:
    """Nothing to do: one listener for all questions finds the recorder of its context."""
    return contextlib.nullcontext()


async def search(retrievers: Sequence[Any], query: Query, recorder: StageRecorder) -> list[Any]:
    """What the retrievers find for the question as it stands."""
    objects = [item for item in retrievers if not isinstance(item, type)]
    return interleaved(await asyncio.gather(*(item.aretrieve(query.question) for item in objects)))


def retrievers_of(target: Any) -> list[Any]:
    """The retrievers of an application. Their calls are wrapped, and those of postprocessors."""
    _listen()
    for name in ("retrieve", "aretrieve"):
        wrap_once(BaseRetriever, name, wrapped_search(_nodes, "str_or_query_bundle", _text_of))
    for name in ("postprocess_nodes", "apostprocess_nodes"):
        wrap_once(BaseNodePostprocessor, name, wrapped_later("nodes"))
    return objects_in(target, BaseRetriever)


def _text_of(query: Any) -> str:
    return query if isinstance(query, str) else str(query.query_str)


def _nodes(passages: Sequence[Passage]) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=passage.id, text=passage.text, metadata=passage.meta), score=1.0)
        for passage in passages
    ]


def _own(engine: Any) -> Any:
    """The chat engine with a memory of its own: it keeps the conversation, which concurrent questions would share."""
    own = copy.copy(engine)
    memory = getattr(own, "_memory", None)
    if memory is not None and "chat_store" in getattr(type(memory), "model_fields", {}):
        own._memory = memory.model_copy(update={"chat_store": SimpleChatStore()})
    elif memory is not None:  # one in a database, for example
        own._memory = ChatMemoryBuffer.from_defaults()
    return own


async def _whole(value: Any) -> Any:
    """The response of an engine, read to its end if it is a stream."""
    if not hasattr(value, "get_response"):
        return value
    whole = value.get_response()
    return await whole if inspect.isawaitable(whole) else whole


class _Events(BaseEventHandler):
    """Records the stages of the question in whose context an event occurs."""

    def handle(self, event: Any, **_: Any) -> None:
        question = asked()
        if question is None:
            return
        recorder = question.recorder
        if isinstance(event, RetrievalStartEvent):
            recorder.queries.append(_text_of(event.str_or_query_bundle))
        elif isinstance(event, RetrievalEndEvent):
            recorder.fetch(passages_of(event.nodes))
        elif isinstance(event, ReRankEndEvent):
            recorder.rerank(passages_of(event.nodes))
        elif isinstance(event, LLMCompletionStartEvent):
            recorder.prompts.append(event.prompt)
        elif isinstance(event, LLMChatStartEvent):
            recorder.prompts.append("\n".join(str(message.content) for message in event.messages))
        elif isinstance(event, LLMPredictStartEvent):
            recorder.prompts.append("\n".join(map(str, (event.template_args or {}).values())))
        elif isinstance(event, LLMChatEndEvent | LLMCompletionEndEvent) and event.response is not None:
            raw = event.response.raw
            usage = raw.get("usage") if isinstance(raw, dict) else getattr(raw, "usage", None)
            recorder.count(usage or event.response.additional_kwargs)


@functools.cache
def _listen() -> None:
    get_dispatcher().add_event_handler(_Events())
