"""How far the words of an answer are those of the reference."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._references import NO_REFERENCE, best_fit, filled
from ragstone.text import words
from ragstone.text.characters import HAN
from ragstone.text.folding import fold_characters
from ragstone.types import Case, Need, Response, Score

_HAN_CHARACTER = re.compile(f"[{HAN}]")
_ARTICLES = frozenset({"a", "an", "the"})
_PUNCTUATION = re.compile(r"[^\w\s]|_")


def tokens(text: str) -> list[str]:
    """The tokens that are compared. Text with Chinese characters is cut into words (`words`); other text is folded
    and, as in SQuAD, loses its punctuation and the articles a, an and the before it is cut at blanks. Where only
    articles would be left out of everything, they stay: "The The" is a band."""
    if _HAN_CHARACTER.search(text):
        return words(text)
    cut = _PUNCTUATION.sub("", fold_characters(text).text).split()
    return [token for token in cut if token not in _ARTICLES] or cut


def bag_f1(answer: Sequence[str], reference: Sequence[str]) -> tuple[float, float, float]:
    """F1, precision and recall of two bags of tokens; zeros where they share none."""
    shared = (Counter(answer) & Counter(reference)).total()
    if not shared:
        return 0.0, 0.0, 0.0
    precision, recall = shared / len(answer), shared / len(reference)
    return 2 * precision * recall / (precision + recall), precision, recall


@dataclass(frozen=True)
class TokenF1:
    """`token_f1`: how far the answer and the reference share their words, whatever the order.

    Formula: 2PR / (P + R), and 0 if they share none; P = shared tokens / tokens of the answer, R = shared tokens /
    tokens of the reference, repeats counted. Tokens: words of Chinese as a dictionary cuts them, otherwise what stands
    between blanks, without case, accents, punctuation and articles. The best alias counts; of references with several
    slots the best alias of each, joined.
    Range: 0 to 1, higher is better.
    Needs: the answer, the reference.
    Evidence: {"reference": the text compared with, "precision", "recall"}.
    Source: Rajpurkar et al. 2016, "SQuAD: 100,000+ Questions for Machine Comprehension of Text".

    | case | result |
    |---|---|
    | the answer declines | by its words, as any other; close to 0 |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable; nor is one without a word |
    """

    name: ClassVar[str] = "token_f1"
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})

    def score(self, case: Case, response: Response, /) -> Score:
        slots = filled(case.sample)
        if not slots:
            return Score.not_applicable(NO_REFERENCE)
        answer = tokens(response.answer)
        text = best_fit(slots, lambda alias: bag_f1(answer, tokens(alias))[0])
        reference = tokens(text)
        if not reference:
            return Score.not_applicable("the reference holds no word")
        value, precision, recall = bag_f1(answer, reference)
        return Score.of(value, evidence={"reference": text, "precision": precision, "recall": recall})


PLUGINS = {"token_f1": TokenF1()}
