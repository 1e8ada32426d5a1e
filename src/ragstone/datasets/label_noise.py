"""Labels that the text of a chunk speaks against: chunks labelled as no support that hold an answer, and chunks
labelled as support that hold none.

Neither must be wrong. A chunk can name the answer without saying that it is the answer, and it can support one that it
writes otherwise, or that follows from two of its sentences. The report names the places to look at, and how large the
noise in what is measured with these labels can be at most.
"""

from collections.abc import Iterator

from ragstone.datasets.pools import Pool, PoolQuestion
from ragstone.structs import Frozen
from ragstone.text import find_answer
from ragstone.types import Passage


class Doubt(Frozen, frozen=True):
    """A chunk whose label is in doubt, of a question. `alias` is the spelling of the answer that the chunk holds, from
    `start` to `end` of its text; "" where it holds none. `echoed`: the question holds this alias itself, as "Who was
    older, X or Y?" does, so that the chunk may well name it and say nothing."""

    query_id: str
    passage_id: str
    alias: str = ""
    start: int = 0
    end: int = 0
    echoed: bool = False


class LabelNoise(Frozen, frozen=True):
    """What `label_noise` found. `questions` were looked at, and their `supported` and `unsupported` chunks; those
    `without_answers` were not. `unlabelled`: unsupported chunks that contain an answer; `mislabelled`: supported
    chunks that contain none; `inside`: unsupported chunks that contain one only within other words, as "party" contains
    "art": MIRAGE's own scoring takes that for an answer."""

    questions: int
    supported: int
    unsupported: int
    unlabelled: tuple[Doubt, ...] = ()
    mislabelled: tuple[Doubt, ...] = ()
    inside: tuple[Doubt, ...] = ()
    without_answers: int = 0


def label_noise(pool: Pool) -> LabelNoise:
    """Compare the labels of a pool with what its chunks hold: for each question the chunks that were collected for it.

    An alias is found as `text.find_answer` finds it: whole words and whole numbers, however they are written. Where a
    question needs several chunks together, its supporting chunks lack the answer only if all of them do.
    """
    passages = {passage.id: passage for passage in pool.passages}
    unlabelled: list[Doubt] = []
    mislabelled: list[Doubt] = []
    inside: list[Doubt] = []
    supported = unsupported = questions = 0
    for question in pool.questions:
        aliases = _aliases(question)
        if not aliases:
            continue
        questions += 1
        gold = frozenset(question.gold)
        without: list[Doubt] = []
        for key in dict.fromkeys((*question.mapped, *question.gold)):
            occurrence = next(_occurrences(question, aliases, passages[key]), None)
            if key in gold:
                supported += 1
                without += [] if occurrence else [Doubt(question.id, key)]
                continue
            unsupported += 1
            if occurrence:
                unlabelled.append(occurrence)
            elif hidden := _within_words(question, aliases, passages[key]):
                inside.append(hidden)
        if question.together < 2 or len(without) == len(gold):
            mislabelled += without
    return LabelNoise(
        questions,
        supported,
        unsupported,
        tuple(unlabelled),
        tuple(mislabelled),
        tuple(inside),
        len(pool.questions) - questions,
    )


def _aliases(question: PoolQuestion) -> list[str]:
    return [alias for alias in dict.fromkeys(question.answers) if alias.strip()]


def _occurrences(question: PoolQuestion, aliases: list[str], passage: Passage) -> Iterator[Doubt]:
    """The first occurrence of each alias in the passage."""
    for alias in aliases:
        if spans := find_answer(alias, passage.text, question.language):
            echoed = bool(find_answer(alias, question.text, question.language))
            yield Doubt(question.id, passage.id, alias, *spans[0], echoed)


def _within_words(question: PoolQuestion, aliases: list[str], passage: Passage) -> Doubt | None:
    lower = passage.text.lower()
    for alias in aliases:
        if (start := lower.find(alias.lower())) >= 0:
            echoed = alias.lower() in question.text.lower()
            return Doubt(question.id, passage.id, alias, start, start + len(alias), echoed)
    return None
