"""Well-known real facts with false twins, written down in the text files of this folder.

A file starts a domain with `== name` and its general remarks (`~`), and then gives each fact: `Q` the question, `A` the
answer with its aliases, `F` the false answer, `+` passages that hold the answer and `-` passages that hold neither.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from ragstone.datasets.fictional.parts import Fact

__all__ = ["facts"]

NAMES = ("geography", "letters", "arts", "science", "history", "modern")
# Closing lines of short negatives: they fit after any statement and claim nothing.
CLOSINGS = (
    "More about this can be found in the second part of the series.",
    "Readers had sent in dozens of questions on the subject, and this page answers some of them.",
    "A list of further reading stands at the end of the chapter.",
    "The exhibition that shows all this is open until the end of the month.",
    "That, at least, is what the leaflet for visitors says.",
    "Our column on things half remembered appears every other week.",
    "It is one of the side stories that guides like to tell.",
    "The next entry in the lexicon deals with another matter altogether.",
    "A short film on the subject was shown in schools for years.",
    "Teachers use it as a starting point for a lesson on the whole period.",
    "The lecture, one of a series of nine, was well attended.",
    "A reader from the coast has written to us about it twice.",
    "Whoever wants to know more will find a shelf of books in the public library.",
    "The drawing beside this paragraph was made by a pupil.",
    "Such details are collected by an association with a journal of its own.",
    "The radio programme about it can still be heard in the archive.",
)  # fmt: skip
# A passage that is shorter (in characters) is followed by remarks of its domain.
SHORT = 210


@cache
def facts() -> tuple[Fact, ...]:
    """All facts, in the order of the files."""
    folder = files("ragstone.datasets.fictional.en.facts")
    return tuple(fact for name in NAMES for fact in parse((folder / f"{name}.txt").read_text(encoding="utf-8")))


def parse(text: str) -> list[Fact]:
    """The facts of one file."""
    out: list[Fact] = []
    domain = ""
    remarks: list[str] = []
    for block in text.strip().split("\n\n"):
        lines = [(line[0], line[2:].strip()) for line in block.split("\n")]
        if block.startswith("== "):
            domain = block.split("\n")[0][3:].strip()
            remarks = [rest for mark, rest in lines if mark == "~"]
            continue
        one = dict(reversed(lines))
        positive = [rest for mark, rest in lines if mark == "+"]
        negative = [rest for mark, rest in lines if mark == "-"]
        at = 7 * len(out)
        out.append(
            Fact(
                query=one["Q"],
                answer=tuple(alias.strip() for alias in one["A"].split("|")),
                fake=one["F"],
                positive=tuple(
                    _lengthen(passage, _sequel(negative, remarks, at, n)) for n, passage in enumerate(positive)
                ),
                negative=tuple(_lengthen(passage, _from(CLOSINGS, at + 3 * n)) for n, passage in enumerate(negative)),
                domain=domain,
            )
        )
    return out


def _from(remarks: Sequence[str], at: int, count: int = 3) -> list[str]:
    """So many of the remarks, from this one on."""
    return [remarks[(at + turn) % len(remarks)] for turn in range(count)]


def _sequel(negative: Sequence[str], remarks: Sequence[str], at: int, number: int) -> list[str]:
    """What a short positive goes on with: every other one with a sentence of the same subject first. Positives of one
    fact go on differently, as long as there are twelve remarks for five of them."""
    if number % 2 == 0:
        return [negative[number % len(negative)], *_from(remarks, at + number // 2 * 2, 2)]
    return _from(remarks, at + 6 + number // 2 * 3)


def _lengthen(passage: str, sequel: Sequence[str]) -> str:
    """The passage with sentences of the sequel after it, as long as it is short."""
    for sentence in sequel:
        if len(passage) >= SHORT:
            break
        passage = f"{passage} {sentence}"
    return passage
