"""What the construction of MIRAGE handles: a question that is mapped to an article, with its labelled chunks."""

from typing import ClassVar

from ragstone.construction.builders.mirage.qa_sets import SourceQuestion
from ragstone.structs import Frozen
from ragstone.types import Passage


class MappedQuestion(Frozen, frozen=True):
    """`chunks`: those that are labelled; `support`: for each, whether it states the answer."""

    language: ClassVar[str] = "en"  # of every published set
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
