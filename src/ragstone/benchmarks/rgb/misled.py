"""Which passage an answer came from, by the words that it took over: for wrong answers, the passage that misled."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from ragstone.text import words
from ragstone.types import Passage

__all__ = ["Source", "content_words", "misleading"]

_ENOUGH = 0.5  # share of the answer's own content words that a passage must hold to be its source

# Words that answers are made of whatever they say; the rest carries the content.
_COMMON = frozenset((files("ragstone.benchmarks.rgb") / "common_words.txt").read_text(encoding="utf-8").split())
_LETTERS = re.compile(r"\w", re.UNICODE)


@dataclass(frozen=True)
class Source:
    """The passage that an answer most likely came from, and the words of the answer that it holds."""

    passage: Passage
    shared: frozenset[str]


def content_words(text: str, language: str) -> frozenset[str]:
    """The words of a text that carry its content: folded, without the common ones and punctuation."""
    return frozenset(word for word in words(text, language) if word not in _COMMON and _LETTERS.search(word))


def misleading(question: str, answer: str, passages: Sequence[Passage], language: str) -> Source | None:
    """The passage that holds most of what the answer says beyond the question; None where none holds half of it.

    A word counts by how few of the passages hold it, so that what all of them say decides nothing. Where a relevant and
    an irrelevant passage hold the same, the relevant one is named, and the answer was not misled.
    """
    asked = content_words(question, language)
    told = content_words(answer, language) - asked
    if not told:
        told = content_words(answer, language)  # it only names what the question names, as in a choice of two
    held = [told & content_words(passage.text, language) for passage in passages]
    weights = {word: 1 / sum(word in found for found in held) for found in held for word in found}
    best: tuple[float, bool, int] | None = None
    for place, (passage, found) in enumerate(zip(passages, held, strict=True)):
        if told and len(found) >= _ENOUGH * len(told):
            # Sums of the same fractions in one order: equal weights are equal.
            rank = (sum(sorted(weights[word] for word in found)), bool(passage.relevant), -place)
            best = rank if best is None else max(best, rank)
    return None if best is None else Source(passages[-best[2]], frozenset(held[-best[2]]))
