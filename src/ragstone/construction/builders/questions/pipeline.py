"""The construction of test questions: its settings and passes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ragstone.construction.builders.passes import Distinct
from ragstone.construction.builders.pipeline import Pass, Pipeline
from ragstone.construction.builders.questions.facts import LongEnough, WriteFacts
from ragstone.construction.builders.questions.gates import (
    Accept,
    AnsweredFromGold,
    ClosedBook,
    Contradicts,
    Elsewhere,
    EvidenceNeeded,
    FindNear,
    Unambiguous,
)
from ragstone.construction.builders.questions.items import about, asked, types_of
from ragstone.construction.builders.questions.question_passes import Paraphrase, WriteQuestions
from ragstone.construction.builders.questions.selection import STYLES, SelectFacts
from ragstone.construction.builders.steps import prompt_of
from ragstone.errors import UnknownName, UsageError
from ragstone.types import Passage

if TYPE_CHECKING:
    from ragstone.structs import JSON

_DRAFTS = 1.6  # drafts for each question that is wanted
VERSION = 1


@dataclass(frozen=True)
class QuestionSettings:
    """What is wanted: `size` questions, the shares of their types, their styles, who asks them, and what becomes of
    questions that the checker answers without any passage. `known`: questions that there are, each with its answer."""

    size: int = 200
    shares: Mapping[str, float] | None = None
    styles: Sequence[str] = ("plain",)
    personas: Sequence[str] = ("",)
    seed: int = 0
    contaminated: Literal["drop", "mark"] = "drop"
    known: Sequence[tuple[str, str | None]] = ()

    def check(self) -> None:
        """Raises UnknownName and UsageError."""
        for style in self.styles:
            if style not in STYLES:
                raise UnknownName("style", style, STYLES)
        if self.size < 1:
            raise UsageError(f"size is {self.size}; expected a number from 1.")
        types_of(self.shares)


def questions_pipeline(chunks: Sequence[Passage], settings: QuestionSettings) -> Pipeline:
    """The passes over these chunks. Raises as `QuestionSettings.check`."""
    settings.check()
    shares = types_of(settings.shares)
    passes: list[Pass] = [
        LongEnough(),
        Distinct(lambda chunk: chunk.text, name="chunks"),
        WriteFacts(),
        SelectFacts(math.ceil(_DRAFTS * settings.size), shares, settings.styles, settings.personas, settings.seed),
        WriteQuestions(),
        Distinct(asked, settings.known, about),
        Contradicts(),
        FindNear(),
        Elsewhere(),
        AnsweredFromGold(),
        ClosedBook(contaminated=settings.contaminated),
        EvidenceNeeded(),
        Paraphrase(),
        Unambiguous(),
        Accept(settings.size, shares),
    ]
    prompts: dict[str, Any] = {
        pass_.step.name: prompt_of(pass_.step.name, "en").version for pass_ in passes if pass_.step is not None
    }
    fixed: dict[str, JSON] = {"version": VERSION, "seed": settings.seed, "prompts": prompts}
    return Pipeline("questions", fixed, passes, tuple(chunks), tuple(chunks))
