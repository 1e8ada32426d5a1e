"""A system that gets queries whose texts are made only when they are asked."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ragstone.types import Query, Response, System

__all__ = ["Expanding"]


@dataclass(frozen=True)
class Expanding:
    """`inner`, asked what `expand` makes of each query: a case can be a recipe, and its text is there for as long as it
    is asked. It is the same system to a run file.

    Passages that `expand` retrieved (they have a score) become those of a response that has none of its own. Either way
    they lose their texts: what a run keeps of them is which they were."""

    inner: System
    expand: Callable[[Query], Awaitable[Query]]

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def spec(self) -> Mapping[str, Any]:
        return self.inner.spec

    async def answer(self, query: Query, /) -> Response:
        expanded = await self.expand(query)
        response = await self.inner.answer(expanded)
        retrieved = {
            passage.id: replace(passage, text="", title="")
            for passage in expanded.passages or ()
            if passage.score is not None
        }
        if not retrieved:
            return response
        passages = response.passages or tuple(retrieved.values())
        return replace(response, passages=tuple(retrieved.get(passage.id, passage) for passage in passages))
