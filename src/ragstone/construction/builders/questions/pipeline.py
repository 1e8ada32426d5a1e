"""The construction of test questions: its settings and passes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ragstone.construction.builders.passes import Distinct
from ragstone.construction.builders.pipeline import Pass, Pipeline, State
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
from ragstone.construction.builders.questions.items import about, asked, question_types, types_of
from ragstone.construction.builders.questions.question_passes import Paraphrase, WriteQuestions
from ragstone.construction.builders.questions.sample import OrderChunks, SampleChunks
from ragstone.construction.builders.questions.selection import STYLES, SelectFacts
from ragstone.construction.builders.steps import prompt_of
from ragstone.errors import UnknownName, UsageError
from ragstone.types import Passage

if TYPE_CHECKING:
    from ragstone.structs import JSON

_DRAFTS = 1.6  # turns for each question that is wanted, in the first round
_MOST_DRAFTS = 8  # for each question that is wanted, in all rounds
_RESERVE = 1.25  # the turns of a further round are so many times those that the measured losses ask for
_ACROSS = ("bridge", "same_attribute", "versions", "conflict")  # pairs of facts that may stand in two documents
VERSION = 2


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


def most_drafts(size: int) -> int:
    """How many drafts are tried for so many questions."""
    return _MOST_DRAFTS * size


def questions_pipeline(chunks: Sequence[Passage], settings: QuestionSettings) -> Pipeline:
    """The first round over these chunks. Raises as `QuestionSettings.check`."""
    settings.check()
    turns = math.ceil(_DRAFTS * settings.size)
    begin: list[Pass] = [
        LongEnough(), Distinct(lambda chunk: chunk.text, name="chunks"), OrderChunks(settings.seed),
    ]  # fmt: skip
    return _round(chunks, settings, begin, turns, whole=turns >= len(chunks))


def _round(
    chunks: Sequence[Passage], settings: QuestionSettings, begin: Sequence[Pass], turns: int, *, whole: bool
) -> Pipeline:
    """The passes over the chunks of so many turns, those of earlier rounds among them. `begin`: the passes that are
    the same in every round. `whole`: these are all chunks, and more is drawn from each."""
    shares, limit, seed = types_of(settings.shares), most_drafts(settings.size), settings.seed
    across = any(question_types()[name].pairs in _ACROSS for name in shares)
    passes: list[Pass] = [
        *begin,
        SampleChunks(turns, limit, across),
        WriteFacts(),
        SelectFacts(turns, limit, shares, settings.styles, settings.personas, seed, whole),
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

    def more(state: State) -> Pipeline | None:
        """A round with the turns that the missing questions take at the losses so far; None: there is nothing more."""
        yields = {one.name: one for one in state.yields}
        sample, got = yields["sample"], len(state.items)
        exhausted = whole and yields["select"].kept < turns
        if got >= settings.size or exhausted or turns >= limit:
            return None
        further = math.ceil(_RESERVE * (settings.size - got) * turns / max(got, 1))
        larger = min(turns + further, 2 * turns, limit)
        return _round(chunks, settings, begin, larger, whole=sample.kept == sample.entered)

    prompts: dict[str, Any] = {
        pass_.step.name: prompt_of(pass_.step.name, "en").version for pass_ in passes if pass_.step is not None
    }
    fixed: dict[str, JSON] = {"version": VERSION, "seed": seed, "prompts": prompts}
    return Pipeline("questions", fixed, passes, tuple(chunks), tuple(chunks), more=more)
