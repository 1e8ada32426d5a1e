"""What the construction of MIRAGE handles: a question that is mapped to an article, with its labelled chunks."""

from typing import Any

import msgspec

from ragstone.builders.mirage.qa_sets import SourceQuestion
from ragstone.builders.pipeline import Rejected
from ragstone.structs import Frozen
from ragstone.types import Passage

__all__ = ["MappedQuestion", "rejected"]


class MappedQuestion(Frozen, frozen=True):
    """`chunks`: those that are labelled; `support`: for each, whether it states the answer."""

    question: SourceQuestion
    article: Passage
    chunks: tuple[Passage, ...] = ()
    support: tuple[bool, ...] = ()

    @property
    def id(self) -> str:
        return self.question.id

    @property
    def supporting(self) -> list[Passage]:
        """The chunks that state the answer, best first."""
        return [chunk for chunk, supports in zip(self.chunks, self.support, strict=True) if supports]

    @property
    def near_misses(self) -> list[Passage]:
        """The chunks that do not, best first."""
        return [chunk for chunk, supports in zip(self.chunks, self.support, strict=True) if not supports]


def rejected(item: MappedQuestion | SourceQuestion, at: str, reason: str, detail: str = "") -> Rejected:
    """A rejected question, without its texts."""
    question = item.question if isinstance(item, MappedQuestion) else item
    kept: dict[str, Any] = msgspec.to_builtins(question)
    kept.pop("passage", None)
    return Rejected(item.id, at, reason, detail[:300], kept)
