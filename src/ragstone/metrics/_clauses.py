"""The clauses of an answer: what is declined, reported or taken back is so within one of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from ragstone.metrics._phrases import phrases
from ragstone.text import Folded, sentences
from ragstone.text.characters import is_han
from ragstone.text.folding import fold_characters

_CONCESSIONS = ("although", "though", "even though", "while", "whereas", "虽然", "尽管", "虽")


@dataclass(frozen=True)
class Clause:
    """A clause of an answer. `text` is folded; `contrast`: it begins with but, however, 但…"""

    text: str
    contrast: bool
    sentence: Folded
    begin: int
    base: int

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where text[start:end] stands in the original answer."""
        first, last = self.sentence.span(self.begin + start, self.begin + end)
        return self.base + first, self.base + last


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a text in order, cut at sentence ends, at words of contrast and, in Chinese, at commas."""
    base = 0
    for sentence in sentences(text):
        folded = fold_characters(sentence)
        for start, end, contrast in _cut(folded.text, any(is_han(char) for char in sentence)):
            if folded.text[start:end].strip():
                yield Clause(folded.text[start:end], contrast, folded, start, base)
        base += len(sentence)


def _cut(text: str, chinese: bool) -> Iterator[tuple[int, int, bool]]:
    """(start, end, whether it begins with a contrast) for each clause of one folded sentence."""
    start, contrast, concession = 0, False, False
    for cut in phrases("clause.contrast").finditer(text):
        if (cut["zh"] is not None and not chinese) or cut.start() < start:
            continue
        if text[start : cut.start()].strip():
            yield from _conceded(text, start, cut.start(), contrast, concession)
            contrast = concession = False
        mark = cut.group().strip(" ,;:-")
        concession = mark in _CONCESSIONS
        contrast = contrast if not mark else not concession and mark != "and"
        start = cut.end()
    yield from _conceded(text, start, len(text), contrast, concession)


def _conceded(text: str, start: int, end: int, contrast: bool, concession: bool) -> Iterator[tuple[int, int, bool]]:
    """In "although A, B" the clause B takes back A: cut at that comma."""
    comma = text.find(", ", start, end) if concession else -1
    if comma < 0:
        yield start, end, contrast
    else:
        yield start, comma, contrast
        yield comma + 2, end, True
