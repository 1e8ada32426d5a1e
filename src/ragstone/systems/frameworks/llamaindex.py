"""LlamaIndex: query engines and chat engines.

Its instrumentation tells what was retrieved and the models' prompts. A context variable keeps concurrent questions
apart, because its event handlers are global.
"""

import copy
import functools
import inspect
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
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
from llama_index.core.storage.chat_store import SimpleChatStore

from ragstone.responses.outputs import passages_of, response_of
from ragstone.responses.stages import StageRecorder
from ragstone.types import Query, Response

__all__ = ["call_of"]

_recorder: ContextVar[StageRecorder | None] = ContextVar("_recorder", default=None)


def call_of(engine: Any) -> tuple[Callable[[Query], Awaitable[Response]], frozenset[str]]:
    """How to ask an engine, and what it takes besides the question."""
    _listen()
    chats = hasattr(engine, "achat")

    async def ask(query: Query) -> Response:
        recorder = StageRecorder(query.question)
        token = _recorder.set(recorder)
        try:
            if chats:
                history = [ChatMessage(role=turn.role, content=turn.content) for turn in query.history]
                value = await _own(engine).achat(query.question, chat_history=history)
            else:
                value = await _whole(await engine.aquery(query.question))
        finally:
            _recorder.reset(token)
        return recorder.response(response_of(value))

    return ask, frozenset({"history"} if chats else ())


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
        recorder = _recorder.get()
        if recorder is None:
            return
        if isinstance(event, RetrievalStartEvent):
            bundle = event.str_or_query_bundle
            recorder.queries.append(bundle if isinstance(bundle, str) else bundle.query_str)
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
