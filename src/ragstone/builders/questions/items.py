"""What the construction of questions handles: chunks of documents, facts, drafts of questions, and their types."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import msgspec

from ragstone.builders.questions.places import Place
from ragstone.errors import UnknownName, UsageError
from ragstone.structs import Frozen
from ragstone.types import Passage

__all__ = ["Draft", "Fact", "QuestionType", "parse_shares", "question_types", "types_of"]


class Fact(Frozen, frozen=True):
    """Something that a document states: that the `attribute` of `subject` is `value` (at a `time`, if it says so).
    `evidence` is the sentence, as it stands in the chunk, `place` where it stands in the documents."""

    id: str
    chunk: Passage
    subject: str
    attribute: str
    value: str
    evidence: str
    time: str = ""
    language: str = ""
    place: Place | None = None

    @property
    def document(self) -> str:
        return str(self.chunk.meta.get("document", self.chunk.id))


class Draft(Frozen, frozen=True):
    """A question on its way. `references` has a slot for each part of the answer. `gold`: the passages that state it.
    `near`: the nearest other passages of the corpus. `history`: earlier turns, question and answer."""

    id: str
    type: str
    language: str
    facts: tuple[Fact, ...]
    style: str = "plain"
    persona: str = ""
    question: str = ""
    references: tuple[tuple[str, ...], ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    difficulty: str = ""
    gold: tuple[Passage, ...] = ()
    near: tuple[Passage, ...] = ()
    paraphrases: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()

    @property
    def answerable(self) -> bool:
        return question_types()[self.type].answerable


class QuestionType(Frozen, frozen=True):
    """A kind of question. `pairs` says which facts go together: "one", "same_document", "bridge", "same_attribute",
    "versions", "conflict" or "any". `slots`: parts of the answer; 0: as many as facts. `share`: by default."""

    pairs: str
    share: float
    guide: dict[str, str]
    slots: int = 1
    answerable: bool = True
    computed: bool = False
    table: bool = False


@cache
def question_types() -> Mapping[str, QuestionType]:
    """The types by name (`types.toml`)."""
    text = files("ragstone.builders.questions").joinpath("types.toml").read_text("utf-8")
    return {name: msgspec.convert(fields, QuestionType) for name, fields in tomllib.loads(text).items()}


def types_of(shares: Mapping[str, float] | None) -> dict[str, float]:
    """The shares of the types, summing to one; None for the default ones. Raises UnknownName and UsageError."""
    chosen = {name: kind.share for name, kind in question_types().items()} if not shares else dict(shares)
    for name, share in chosen.items():
        if name not in question_types():
            raise UnknownName("question type", name, question_types())
        if not share >= 0:
            raise UsageError(f"The share of {name} is {share:g}; expected a number from 0.")
    total = sum(chosen.values())
    if not total > 0:
        raise UsageError("The shares of the question types sum to 0. Give one of them a share.")
    return {name: share / total for name, share in chosen.items() if share}


def parse_shares(values: Sequence[str]) -> dict[str, float]:
    """Parses `single=0.5`, or `single` for equal shares. Raises UsageError."""
    shares = {}
    for value in values:
        name, equals, share = value.partition("=")
        try:
            shares[name.strip()] = float(share) if equals else 1.0
        except ValueError:
            raise UsageError(f"{value!r} is not TYPE=SHARE, such as single=0.5.") from None
    return shares
