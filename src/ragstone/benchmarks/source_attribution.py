"""Which passage an answer came from, by the words they share: for a wrong answer, the passage that misled the model.

Chinese is compared by character pairs instead of segmented words, because a segmenter may split the same invented name
differently in the answer and in the passage.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ragstone.text import fold
from ragstone.types import Passage

_ENOUGH = 0.5  # share of the answer's content words that a passage must contain to be its source
_HAN = "\u3400-\u9fff\uf900-\ufaff"
_OTHER = rf"[^\W_{_HAN}]+(?:[.,]\d+)*"
_RUNS = re.compile(rf"(?P<han>[{_HAN}]+)|{_OTHER}")
_OTHERS = re.compile(_OTHER)


@cache
def _common() -> frozenset[str]:
    """Function words, which carry no content."""
    return frozenset((files("ragstone.benchmarks") / "common_words.txt").read_text(encoding="utf-8").split())


@dataclass(frozen=True)
class Source:
    """The passage that an answer most likely came from, and the words that they share."""

    passage: Passage
    shared: frozenset[str]


def places(text: str, language: str) -> Iterator[tuple[str, int, int]]:
    """The folded content words of a text with their positions: (word, start, end).

    A run of Chinese characters yields its pairs, except those that contain a function word; a single character yields
    itself."""
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
    """The content words of a text."""
    return frozenset(word for word, _, _ in places(text, language))


def words_in(text: str, words: frozenset[str], language: str) -> frozenset[str]:
    """Which of these content words a text contains: Chinese pairs anywhere, other words only as whole words."""
    folded = fold(text, language).text
    whole_words = set(_OTHERS.findall(folded))
    return frozenset(word for word in words if word in whole_words or (word[0] >= "\u3400" and word in folded))


def misleading(question: str, answer: str, passages: Sequence[Passage], language: str) -> Source | None:
    """The passage that shares most of the answer's words beyond the question; None if no passage shares half of them.

    A word is weighted by the inverse of the number of passages that contain it. If a relevant and an irrelevant passage
    tie, the relevant one is returned: the answer was not misled.
    """
    question_words = content_words(question, language)
    answer_words = content_words(answer, language)
    answer_words = (
        answer_words - question_words or answer_words
    )  # an answer may repeat only words of the question, as in a choice of two
    shared = [words_in(passage.text, answer_words, language) for passage in passages]
    weights = {word: 1 / sum(word in words for words in shared) for words in shared for word in words}
    best: tuple[float, bool, int] | None = None
    for place, (passage, words) in enumerate(zip(passages, shared, strict=True)):
        if words and len(words) >= _ENOUGH * len(answer_words):
            # Sums of the same fractions in one order: equal weights are equal.
            rank = (sum(sorted(weights[word] for word in words)), bool(passage.relevant), -place)
            best = rank if best is None else max(best, rank)
    return None if best is None else Source(passages[-best[2]], shared[-best[2]])
