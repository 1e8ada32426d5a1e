"""LlamaIndex: query engines and chat engines.

Its instrumentation tells what was retrieved and the models' prompts; its event handlers are global, and find the
question that an event belongs to in `interception.py`. Its retrievers can be made to return given passages, which no
postprocessor changes then, or another number of them, and are asked alone.
"""

import asyncio
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

from ragstone.responses.outputs import passages_of, response_of
from ragstone.responses.stages import StageRecorder
from ragstone.systems.frameworks.interception import (
    accepted,
    asked,
    asking,
    has_k,
    interleaved,
    objects_in,
    wrap_once,
    wrapped_search,
)
from ragstone.types import Passage, Query, Response


def call_of(engine: Any) -> tuple[Callable[[Query], Awaitable[Response]], frozenset[str]]:
    """How to ask an engine, and what it takes besides the question."""
    _listen()
    chats = hasattr(engine, "achat")
    retrievers = _retrievers(engine)
    postprocessors = objects_in(engine, BaseNodePostprocessor)
    reranks = any(has_k(item) for item in postprocessors)

    async def ask(query: Query) -> Response:
        recorder = StageRecorder(query.question)
        with asking(query, recorder, reranks=reranks) as question:
            if query.retrieve_only:
                objects = [item for item in retrievers if not isinstance(item, type)]
                found = await asyncio.gather(*(item.aretrieve(query.question) for item in objects))
                return recorder.search(query, passages_of(interleaved(found)))
            if chats:
                history = [ChatMessage(role=turn.role, content=turn.content) for turn in query.history]
                value = await _own(engine).achat(query.question, chat_history=history)
            else:
                value = await _whole(await engine.aquery(query.question))
        return question.response(response_of(value))

    return ask, accepted(retrievers, {"history"} if chats else ())


def _retrievers(engine: Any) -> list[Any]:
    """The retrievers of an engine. Their calls are wrapped, and those of postprocessors."""
    for name in ("retrieve", "aretrieve"):
        wrap_once(BaseRetriever, name, wrapped_search(_nodes, "str_or_query_bundle", _text_of))
    wrap_once(BaseNodePostprocessor, "postprocess_nodes", _wrapped_postprocessor)
    wrap_once(BaseNodePostprocessor, "apostprocess_nodes", _wrapped_postprocessor)
    return objects_in(engine, BaseRetriever)


def _wrapped_postprocessor(method: Callable[..., Any]) -> Callable[..., Any]:
    """Given passages stay as they are; a reranker returns as many nodes as the question asks for."""

    def process(self: Any, nodes: list[Any], *arguments: Any, **named: Any) -> Any:
        question = asked()
        if question is not None and question.query.passages is not None:
            return nodes
        return method(self if question is None else question.with_k(self, cuts=True), nodes, *arguments, **named)

    async def aprocess(self: Any, nodes: list[Any], *arguments: Any, **named: Any) -> Any:
        question = asked()
        if question is not None and question.query.passages is not None:
            return nodes
        return await method(self if question is None else question.with_k(self, cuts=True), nodes, *arguments, **named)

    return aprocess if inspect.iscoroutinefunction(method) else process


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
