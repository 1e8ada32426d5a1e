"""Answers that exist already, as a system: it gives for each question what somebody's system answered before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragstone.errors import UsageError
from ragstone.types import Query, Response

__all__ = ["Recorded"]


@dataclass(frozen=True)
class Recorded:
    """A system that answers from `answers`: row of the data → response. A query names its row by `repeat`, because one
    question may have several answers. `sha256` is that of the data; it is part of what makes this system."""

    id: str
    answers: Mapping[int, Response] = field(repr=False)
    sha256: str = ""

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "recorded", "data": self.sha256}

    async def answer(self, query: Query, /) -> Response:
        """What was recorded. UsageError for a row that has no answer."""
        try:
            return self.answers[query.repeat]
        except KeyError:
            raise UsageError(f"Row {query.repeat} of {self.id} has no recorded answer.") from None
