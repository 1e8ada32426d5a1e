"""What the construction of questions handles: chunks of documents, facts, drafts of questions, and their types."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from ragstone.construction.builders.questions.places import Place
from ragstone.errors import UnknownName, UsageError
from ragstone.structs import Frozen
from ragstone.text import find_answer
from ragstone.types import Passage


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


def asked(draft: Draft) -> str:
    """The whole conversation that the asker speaks: "And who designed it?" asks for many things."""
    return "\n".join([*(question for question, _ in draft.history), draft.question])


def about(draft: Draft) -> str:
    """What distinguishes questions of nearly the same words: the answer, and the subjects of their facts."""
    return group_of([slot[0] for slot in draft.references], [fact.subject for fact in draft.facts])


def group_of(answers: Iterable[str], subjects: Iterable[str]) -> str:
    """The same for questions with the same answer about the same things."""
    return "\n".join([*answers, "", *sorted(set(subjects))]).casefold()


class QuestionType(Frozen, frozen=True):
    """A kind of question. `pairs` says which facts go together: "one", "same_document", "same_subject", "bridge",
    "same_attribute", "versions", "conflict" or "any". `slots`: parts of the answer; 0: as many as facts. `share`: by
    default. `needs`: the facts without which there is no answer, "all" or the "last". `dated`: the question names the
    time of the last fact; `conversation`: it goes on from a question about the first one."""

    pairs: str
    share: float
    guide: dict[str, str]
    slots: int = 1
    answerable: bool = True
    computed: bool = False
    table: bool = False
    needs: Literal["all", "last"] = "all"
    dated: bool = False
    conversation: bool = False


def same_answer(answer: str, other: str) -> bool:
    """Whether one of two answers states the other: "310 m" and "310 metres"."""
    return answer.casefold() == other.casefold() or bool(find_answer(answer, other) or find_answer(other, answer))


@cache
def question_types() -> Mapping[str, QuestionType]:
    """The types by name (`types.toml`)."""
    text = files("ragstone.construction.builders.questions").joinpath("types.toml").read_text("utf-8")
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
