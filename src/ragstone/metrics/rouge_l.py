"""The longest common subsequence of the words of an answer and the reference."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._references import NO_REFERENCE, best_fit, filled
from ragstone.text import words
from ragstone.text.characters import HAN
from ragstone.text.folding import fold_characters
from ragstone.types import Case, Need, Response, Score

_HAN_CHARACTER = re.compile(f"[{HAN}]")
_TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class RougeL:
    """`rouge_l`: how long the longest sequence of words is that the answer and the reference share in the same order,
    gaps allowed.

    Formula: 2PR / (P + R), and 0 if they share none; P = L / tokens of the answer, R = L / tokens of the reference, L
    the length of their longest common subsequence. Tokens: runs of letters and digits without case and accents, not
    stemmed, as in the package rouge-score; where either text has Chinese, words as a dictionary cuts them. The best
    alias counts; of references with several slots the best alias of each, joined.
    Range: 0 to 1, higher is better.
    Needs: the answer, the reference.
    Evidence: {"reference": the text compared with, "precision", "recall"}.
    Source: Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", with β = 1.

    | case | result |
    |---|---|
    | the answer declines | by its words, as any other; close to 0 |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable; nor is one without a word |
    """

    name: ClassVar[str] = "rouge_l"
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})

    def score(self, case: Case, response: Response, /) -> Score:
        slots = filled(case.sample)
        if not slots:
            return Score.not_applicable(NO_REFERENCE)
        text = best_fit(slots, lambda alias: _rouge(response.answer, alias)[0])
        value, precision, recall = _rouge(response.answer, text)
        if recall is None:
            return Score.not_applicable("the reference holds no word")
        return Score.of(value, evidence={"reference": text, "precision": precision, "recall": recall})


def _rouge(answer: str, reference: str) -> tuple[float, float, float | None]:
    """F, precision and recall; recall is None where the reference has no token."""
    chinese = bool(_HAN_CHARACTER.search(answer) or _HAN_CHARACTER.search(reference))
    answer_tokens, reference_tokens = _tokens(answer, chinese), _tokens(reference, chinese)
    common = longest_common(answer_tokens, reference_tokens)
    if not common:
        return 0.0, 0.0, 0.0 if reference_tokens else None
    precision, recall = common / len(answer_tokens), common / len(reference_tokens)
    return 2 * precision * recall / (precision + recall), precision, recall


def _tokens(text: str, chinese: bool) -> list[str]:
    return words(text, "zh") if chinese else _TOKEN.findall(fold_characters(text).text)


def longest_common(left: Sequence[str], right: Sequence[str]) -> int:
    """The length of the longest common subsequence, with one step per word of the longer text that the shorter has, and
    one bit per word of the shorter (Hyyrö 2004), which is fast where one of them is long."""
    short, long = sorted((left, right), key=len)
    places: dict[str, int] = {}
    for place, word in enumerate(short):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(short)) - 1
    row = every
    for word in long:
        if word in places:
            met = row & places[word]
            row = ((row + met) | (row - met)) & every
    return len(short) - row.bit_count()


PLUGINS = {"rouge_l": RougeL()}
