"""Contexts that are lists of words in which some occur more often than others: what is asked is which.

The needles of such a context are the words that are asked for. How often a word occurs depends on its rank and on the
size of the list alone, and a list is as large as fits.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from math import ceil
from typing import Self

from ragstone.benchmarks.niah.contexts import BuiltContext, ContextPlan
from ragstone.datasets.fictional.parts import sample, seeded, shuffled
from ragstone.errors import UsageError
from ragstone.models.tokenizers import TokenCounter

_MARGIN = 4
_MOST_DIGITS = 7  # of the number of a word
_CALIBRATED = 300  # size of the list that is counted
_SAFE = 1.01


@dataclass(frozen=True)
class ListSource:
    """Lists of words. `words`: language → those to choose from. `counts`: size of a
    list → how often the word of each rank occurs in it, ranks in descending order. `noise`: the word of the first rank
    by language, which nobody asks for; {}: none. `numbered`: each word of a list has a number."""

    name: str
    words: Callable[[str], Sequence[str]]
    counts: Callable[[int], Sequence[int]]
    noise: Mapping[str, str]
    numbered: bool = False
    starts: int = 1

    async def count(self, counter: TokenCounter, language: str, start: int, longest: int) -> "WordList":
        """The lists of a language, with the tokens of their words and numbers."""
        del start, longest  # each list has words and an order of its own
        noise = [self.noise[language]] if self.noise else []
        pool = list(self.words(language))
        labels = [f" {first}{'8' * digits}." for digits in range(_MOST_DIGITS) for first in (1, 9)]
        tokens = await counter.count([*(f" {word}" for word in [*noise, *pool]), *labels])
        by_digits = [max(pair) for pair in zip(tokens[-len(labels) :: 2], tokens[1 - len(labels) :: 2], strict=True)]
        by_word = dict(zip([*noise, *pool], tokens, strict=False))
        made = WordList(self, language, noise, pool, by_word, by_digits if self.numbered else None)
        return await made.calibrated(counter)

    def sha256(self, language: str) -> str:
        """The hash of its words."""
        return hashlib.sha256("\n".join(self.words(language)).encode()).hexdigest()


class WordList:
    """Contexts of one source in one language. `label_tokens`: those of a number, by its digits. `rate`: the tokens of a
    list per token of its words and numbers alone."""

    sentences = 1 << 60  # no list is repeated
    text = ""

    def __init__(
        self, source: ListSource, language: str, noise: Sequence[str], pool: Sequence[str],
        tokens: Mapping[str, int], label_tokens: Sequence[int] | None,
    ) -> None:  # fmt: skip
        self.source, self.language, self.noise, self.pool = source, language, list(noise), pool
        self.tokens, self.label_tokens = tokens, label_tokens
        self.rate = 1.0

    async def calibrated(self, counter: TokenCounter) -> Self:
        """These lists with the rate of one of them."""
        asked = tuple(self.pool[: len(self.pool) // 50])
        plan = ContextPlan(_CALIBRATED, (), asked, 0, None, 0)
        (tokens,) = await counter.count([self.make(plan).text])
        summed = self._tokens_of([*self.noise, *asked, *self._others(asked)], _CALIBRATED) - _MARGIN
        self.rate = min(1.0, _SAFE * tokens / summed)
        return self

    def plan(self, budget: int, needles: Sequence[tuple[str, int, float]]) -> ContextPlan:
        """The largest list of at most `budget` tokens in which these words are asked for, most frequent first. Raises
        UsageError where no list fits in which they occur more often than others."""
        asked = tuple(word for word, _, _ in needles)
        ranked = [*self.noise, *asked, *self._others(asked)]
        size = bisect_right(range(budget + 1), budget, key=lambda size: self._tokens_of(ranked, size)) - 1
        counts = self.source.counts(size) if size > 0 else ()
        least = len(self.noise) + len(asked)
        if len(counts) <= least or counts[least - 1] <= counts[least]:
            raise UsageError(
                f"A context of {max(0, budget)} tokens has no room for a list in which {len(asked)} words occur more "
                "often than others. Use greater --lengths."
            )
        total = self._tokens_of(ranked, size)
        return ContextPlan(size, (), asked, total, None, 0)

    def _others(self, asked: Sequence[str]) -> list[str]:
        """The words that are not asked for, in the order of their ranks."""
        known = set(asked)
        order = sample(seeded("ragstone", self.source.name, *asked), self.pool, len(self.pool))
        return [word for word in order if word not in known]

    def _tokens_of(self, ranked: Sequence[str], size: int) -> int:
        counts = self.source.counts(size)
        total = sum(count * self.tokens[word] for word, count in zip(ranked, counts, strict=False))
        return ceil(self.rate * (total + self._label_tokens(sum(counts[: len(ranked)])))) + _MARGIN

    def _label_tokens(self, words: int) -> int:
        """The tokens of the numbers from 1 to `words`."""
        if self.label_tokens is None:
            return 0
        return sum(
            tokens * max(0, min(words, 10 ** (digits + 1) - 1) - 10**digits + 1)
            for digits, tokens in enumerate(self.label_tokens)
        )

    def make(self, plan: ContextPlan) -> BuiltContext:
        """The text of a plan."""
        ranked = [*self.noise, *plan.needles, *self._others(plan.needles)]
        counts = self.source.counts(plan.sentences)
        every = chain.from_iterable(repeat(word, count) for word, count in zip(ranked, counts, strict=False))
        words = shuffled(seeded("ragstone", self.source.name, *plan.needles, plan.sentences), every)
        if self.source.numbered:
            words = [f"{number}. {word}" for number, word in enumerate(words, start=1)]
        return BuiltContext(" ".join(words), ())
