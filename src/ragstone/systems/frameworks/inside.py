"""A function of the user's own that asks retrievers of a framework: they are intercepted as in an application that the
framework runs.

Only frameworks that the function's program has loaded are looked at. Each adapter has `retrievers_of` (an object's
retrievers, with their calls wrapped), `listening` (records the prompts of a context) and `search` (asks retrievers
alone).
"""

import contextlib
import importlib
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragstone.responses.returned_passages import passages_of
from ragstone.responses.stages import StageRecorder
from ragstone.systems.frameworks.interception import Application, Asked, asking, interleaved
from ragstone.types import Query, Response

_ADAPTERS = {
    "langchain_core": "langchain",
    "llama_index.core": "llamaindex",
    "haystack": "haystack",
    "dspy": "dspy",
}  # by the package that is loaded where they are used


@dataclass(frozen=True)
class Inside:
    """The retrievers inside a function, by the module of their framework's adapter."""

    retrievers: Mapping[Any, Sequence[Any]]
    application: Application = field(default_factory=Application)

    @property
    def accepts(self) -> frozenset[str]:
        """What the function takes by them."""
        return frozenset().union(*(module.accepts_of(found) for module, found in self.retrievers.items()))

    async def answer(self, query: Query, ask: Callable[[], Awaitable[Response]]) -> Response:
        """The response of the function, with the stages that its retrievers and models show."""

        async def invoke(question: Asked) -> Response:
            with contextlib.ExitStack() as stack:
                for module in self.retrievers:
                    stack.enter_context(module.listening(question.recorder))
                return await ask()

        return await self.application.answer(query, invoke)

    async def search(self, query: Query) -> Response:
        """What the retrievers find for the question as it stands."""
        recorder = StageRecorder(query.question)
        with asking(query, recorder):
            found = [await module.search(items, query, recorder) for module, items in self.retrievers.items()]
        return recorder.search(query, passages_of(interleaved(found)))


def inside(function: Callable[..., Any]) -> Inside | None:
    """What a function asks of the frameworks; None if it asks no retriever of theirs."""
    loaded = [name for package, name in _ADAPTERS.items() if package in sys.modules]
    modules = [importlib.import_module(f"ragstone.systems.frameworks.{name}") for name in loaded]
    found = {module: retrievers for module in modules if (retrievers := module.retrievers_of(function))}
    return Inside(found) if found else None
