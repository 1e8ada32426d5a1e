"""A wrapper that expands a query's text just before the system answers it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from msgspec.structs import replace

from ragstone.systems.wrapper import Wrapper
from ragstone.types import Query, Response, System


@dataclass(frozen=True)
class Expanding(Wrapper):
    """Passes each query through `expand` to `inner`. A case can thus store a recipe, and its text exists only during
    the call.

    Passages that `expand` retrieved (those with a score) are added to a response without passages. Their texts are
    always dropped: a run file keeps only their ids."""

    inner: System
    expand: Callable[[Query], Awaitable[Query]]

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
