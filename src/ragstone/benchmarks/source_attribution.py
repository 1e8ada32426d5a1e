"""Which passage an answer came from, by the words that it took over: for wrong answers, the passage that misled.

Chinese is compared by pairs of characters, not by segmented words: a segmenter may cut the same invented name one way
in an answer and another way in a passage.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ragstone.text import fold
from ragstone.types import Passage

__all__ = ["Source", "content_words", "held_by", "misleading", "places"]

_ENOUGH = 0.5  # share of the answer's own content words that a passage must hold to be its source
_HAN = "\u3400-\u9fff\uf900-\ufaff"
_OTHER = rf"[^\W_{_HAN}]+(?:[.,]\d+)*"
_RUNS = re.compile(rf"(?P<han>[{_HAN}]+)|{_OTHER}")
_OTHERS = re.compile(_OTHER)


@cache
def _common() -> frozenset[str]:
    """Words that answers are made of whatever they say; the rest carries the content."""
    return frozenset((files("ragstone.benchmarks") / "common_words.txt").read_text(encoding="utf-8").split())


@dataclass(frozen=True)
class Source:
    """The passage that an answer most likely came from, and the words of the answer that it holds."""

    passage: Passage
    shared: frozenset[str]


def places(text: str, language: str) -> Iterator[tuple[str, int, int]]:
    """The words of a text that carry its content, folded, with where they stand in the text: (word, start, end).

    A run of Chinese characters gives its pairs, without those that hold a function word; a single one gives itself."""
    folded = fold(text, language)
    common = _common()
    for run in _RUNS.finditer(folded.text):
        word, start = run[0], run.start()
        if not run["han"]:
            if word not in common:
                yield word, *folded.span(start, run.end())
        elif len(word) == 1:
            if word not in common:
                yield word, *folded.span(start, start + 1)
        else:
            for at in range(len(word) - 1):
                pair = word[at : at + 2]
                if pair not in common and pair[0] not in common and pair[1] not in common:
                    yield pair, *folded.span(start + at, start + at + 2)


def content_words(text: str, language: str) -> frozenset[str]:
    """The words of a text that carry its content."""
    return frozenset(word for word, _, _ in places(text, language))


def held_by(text: str, told: frozenset[str], language: str) -> frozenset[str]:
    """Which of these content words a text holds: pairs of Chinese characters anywhere, other words as whole ones."""
    folded = fold(text, language).text
    there = set(_OTHERS.findall(folded))
    return frozenset(word for word in told if word in there or (word[0] >= "\u3400" and word in folded))


def misleading(question: str, answer: str, passages: Sequence[Passage], language: str) -> Source | None:
    """The passage that holds most of what the answer says beyond the question; None where none holds half of it.

    A word counts by how few of the passages hold it, so that what all of them say decides nothing. Where a relevant and
    an irrelevant passage hold the same, the relevant one is named, and the answer was not misled.
    """
    asked = content_words(question, language)
    told = content_words(answer, language)
    told = told - asked or told  # it may only name what the question names, as in a choice of two
    held = [held_by(passage.text, told, language) for passage in passages]
    weights = {word: 1 / sum(word in found for found in held) for found in held for word in found}
    best: tuple[float, bool, int] | None = None
    for place, (passage, found) in enumerate(zip(passages, held, strict=True)):
        if found and len(found) >= _ENOUGH * len(told):
            # Sums of the same fractions in one order: equal weights are equal.
            rank = (sum(sorted(weights[word] for word in found)), bool(passage.relevant), -place)
            best = rank if best is None else max(best, rank)
    return None if best is None else Source(passages[-best[2]], held[-best[2]])
