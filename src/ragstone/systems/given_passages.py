"""A system that must answer from the passages that it is given."""

from collections.abc import Mapping
from typing import Any

from ragstone.errors import UsageError
from ragstone.types import Query, Response, System

__all__ = ["GivenPassages"]


class GivenPassages:
    """`inner`, refused where it retrieves for itself: it says so (`retrieves = True`), or it returns passages of which
    it was given none. After the first such answer it is asked no more. Raises UsageError."""

    def __init__(self, inner: System, benchmark: str) -> None:
        self.inner, self._refused = inner, ""
        self._reason = (
            f"The system {inner.id} retrieves for itself, but {benchmark} must hand it the passages: what it measures "
            "is how these passages are used. Evaluate the part that answers from given passages, or score the answers "
            "of the whole system with `ragstone eval`"
        )
        if getattr(inner, "retrieves", False):
            raise UsageError(f"{self._reason}.")

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def spec(self) -> Mapping[str, Any]:
        return self.inner.spec

    async def answer(self, query: Query, /) -> Response:
        if not self._refused:
            response = await self.inner.answer(query)
            given = {passage.id for passage in query.passages or ()}
            if not response.passages or any(passage.id in given for passage in response.passages):
                return response
            self._refused = (
                f"{self._reason} (it returned the passage {response.passages[0].id!r}, which it was not given)."
            )
        raise UsageError(self._refused)
