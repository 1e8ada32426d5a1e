"""Real facts as the files of a language tell them, for any language.

A file has sections of facts of one kind (`== kind`). Lines that begin with `~` or `*` are sentences for any fact of the
kind (`*`: they state the answer). A fact begins with `? question | answer/other spelling | false answer | subject`;
lines with `+` are sentences that state its answer, lines with `-` some that do not.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragstone.datasets.fictional.texts import read_sections


@dataclass(frozen=True)
class FactNotes:
    """A fact as the file states it. `number`: its index among those of its kind; `sentences`: by mark."""

    kind: str
    number: int
    question: str
    answer: tuple[str, ...]
    fake: str
    subject: str
    sentences: dict[str, list[str]]


def read_facts(code: str, names: Iterable[str]) -> Iterator[FactNotes]:
    """The facts of these files, in order. Raises ValueError for a line in the wrong place."""
    for name in names:
        for kind, lines in read_sections(code, name).items():
            yield from _of_kind(kind, lines)


def _of_kind(kind: str, lines: Iterable[str]) -> list[FactNotes]:
    general: dict[str, list[str]] = {"~": [], "*": []}
    facts: list[FactNotes] = []
    for line in lines:
        mark, _, text = line.partition(" ")
        if mark == "?":
            question, answers, fake, *subjects = map(str.strip, text.split("|"))
            sentences = {**general, "+": [], "-": []}
            subject = "".join(subjects)
            facts.append(FactNotes(kind, len(facts), question, tuple(answers.split("/")), fake, subject, sentences))
        elif mark in general and not facts:
            general[mark].append(text)
        elif mark in ("+", "-") and facts:
            facts[-1].sentences[mark].append(text)
        else:
            raise ValueError(f"{kind}: no place for {line!r}")
    return facts
