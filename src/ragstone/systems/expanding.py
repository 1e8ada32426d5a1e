"""A system that gets queries whose texts are made only when they are asked."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ragstone.types import Query, Response, System

__all__ = ["Expanding"]


@dataclass(frozen=True)
class Expanding:
    """`inner`, asked what `expand` makes of each query: a case can be a recipe, and its text is there for as long as it
    is asked. It is the same system to a run file."""

    inner: System
    expand: Callable[[Query], Awaitable[Query]]

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def spec(self) -> Mapping[str, Any]:
        return self.inner.spec

    async def answer(self, query: Query, /) -> Response:
        return await self.inner.answer(await self.expand(query))
