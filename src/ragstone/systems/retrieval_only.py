"""A system without a reader, for scoring retrieval only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ragstone.types import NO_ANSWER, Query, Response


@dataclass(frozen=True)
class RetrievalOnly:
    """`local/retrieval`: returns the ids of the given passages and no answer. Only retrieval metrics apply."""

    id: str = "local/retrieval"

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"kind": "retrieval"}

    async def answer(self, query: Query, /) -> Response:
        """The passages without their texts, which the case already has."""
        passages = tuple(replace(passage, text="", title="", meta={}) for passage in query.passages or ())
        return Response("", passages, finish_reason=NO_ANSWER)
