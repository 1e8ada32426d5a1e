"""Which passage an answer came from, by the words they share: for a wrong answer, the passage that misled the model."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.text.content_words import content_words, words_in
from ragstone.types import Passage

_ENOUGH = 0.5  # share of the answer's content words that a passage must contain to be its source


@dataclass(frozen=True)
class Source:
    """The passage that an answer most likely came from, and the words that they share."""

    passage: Passage
    shared: frozenset[str]


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
