"""Well-known real facts with false twins, written down in the text files of this folder (see `fictional.facts`)."""

from collections.abc import Sequence
from functools import cache

from ragstone.datasets.fictional.facts import FactNotes, read_facts
from ragstone.datasets.fictional.parts import Fact
from ragstone.datasets.fictional.texts import read_toml

NAMES = ("geography", "letters", "arts", "science", "history", "modern")
# A passage that is shorter (in characters) is followed by remarks of its domain.
SHORT = 210


@cache
def facts() -> tuple[Fact, ...]:
    """All facts, in the order of the files."""
    closings = read_toml("en", "frames")["closings"]
    return tuple(_fact(notes, closings) for notes in read_facts("en", [f"facts/{name}" for name in NAMES]))


def _fact(notes: FactNotes, closings: Sequence[str]) -> Fact:
    positive, negative, remarks = (notes.sentences[mark] for mark in "+-~")
    start = 7 * notes.number
    return Fact(
        notes.question,
        notes.answer,
        notes.fake,
        tuple(_lengthen(text, _sequel(negative, remarks, start, place)) for place, text in enumerate(positive)),
        tuple(_lengthen(text, _cycle(closings, start + 3 * place)) for place, text in enumerate(negative)),
        notes.kind,
    )


def _cycle(remarks: Sequence[str], start: int, count: int = 3) -> list[str]:
    """`count` remarks from index `start` on, cyclically."""
    return [remarks[(start + step) % len(remarks)] for step in range(count)]


def _sequel(negative: Sequence[str], remarks: Sequence[str], start: int, number: int) -> list[str]:
    """The sentences that follow a short positive; for every other one, a sentence on the same subject comes first. With
    twelve remarks, the five positives of a fact continue differently."""
    if number % 2 == 0:
        return [negative[number % len(negative)], *_cycle(remarks, start + number // 2 * 2, 2)]
    return _cycle(remarks, start + 6 + number // 2 * 3)


def _lengthen(passage: str, sequel: Sequence[str]) -> str:
    """The passage, followed by sentences of the sequel until it is long enough."""
    for sentence in sequel:
        if len(passage) >= SHORT:
            break
        passage = f"{passage} {sentence}"
    return passage
