"""Contexts: the haystack cut to a length, with needles between its sentences.

The haystack is one long text, repeated where a context is longer than it. Its sentences are counted once by the
tokenizer; a context is as many whole sentences as fit, and making it is slicing the text. A margin covers what a joined
text may have more than the sum of its parts, so that a context never exceeds its budget.

A context of any length begins like every other, up to its first needle: that is what a server with a prefix cache
need not evaluate again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from ragstone.errors import UsageError
from ragstone.text import estimate_tokens, sentences

__all__ = ["PARTING", "Context", "Haystack", "Plan", "make_hay", "parts_of"]

PARTING = "\n\n"  # between two texts of a haystack
_LONGEST_SENTENCE = 2_000  # tokens: beyond it a "sentence" is a text without ends of sentences


@dataclass(frozen=True)
class Plan:
    """A context before it is made: the first `sentences` of the haystack, with `needles[i]` before sentence `at[i]`.

    `tokens` is what it has at most, needles included; `depth` is where the first needle stands, in percent of the
    haystack's tokens in this context (None without a needle); `before` is how many tokens precede it."""

    sentences: int
    at: tuple[int, ...]
    needles: tuple[str, ...]
    tokens: int
    depth: float | None
    before: int


@dataclass(frozen=True)
class Context:
    """A context that is made: its text, and where its needles begin in it, in characters."""

    text: str
    places: tuple[int, ...]


class Haystack:
    """A haystack whose sentences are counted. `tokens[i]` and `ends[i]` are what the first i sentences have, in tokens
    and in characters, of one pass through all texts; later passes repeat them. `margin`: tokens that a context may have
    beyond their sum."""

    def __init__(
        self, text: str, ends: Sequence[int], tokens: Sequence[int], parting: int, language: str, margin: int = 0
    ) -> None:
        self.text, self.ends, self.tokens, self.language = text, list(ends), list(tokens), language
        self.parting, self.margin = parting, margin  # `parting`: tokens of what stands between two passes
        self.sentences = len(self.ends) - 1
        self.longest = max(after - before for before, after in zip(self.tokens, self.tokens[1:], strict=False))

    @cached_property
    def rate(self) -> float:
        """Tokens for each one of `estimate_tokens`: about 1, and 2.5 of Chinese by a vocabulary made for English."""
        return self.tokens[-1] / max(1, estimate_tokens(self.text))

    def tokens_of(self, count: int) -> int:
        """Tokens of the first `count` sentences, over as many passes as that takes."""
        passes, rest = divmod(count, self.sentences)
        return (
            passes * (self.tokens[-1] + self.parting) + self.tokens[rest] - (self.parting if passes and not rest else 0)
        )

    def end_of(self, count: int) -> int:
        """Characters of the first `count` sentences."""
        passes, rest = divmod(count, self.sentences)
        whole = passes * (len(self.text) + len(PARTING)) + self.ends[rest]
        return whole - (len(PARTING) if passes and not rest else 0)

    def fitting(self, budget: int) -> int:
        """How many sentences have at most `budget` tokens."""
        one_pass = self.tokens[-1] + self.parting
        passes, rest = divmod(max(0, budget), one_pass)
        count = passes * self.sentences + bisect_right(self.tokens, rest) - 1
        while count > 0 and self.tokens_of(count) > budget:  # the parting of the last pass
            count -= 1
        while self.tokens_of(count + 1) <= budget:
            count += 1
        return count

    def at_depth(self, count: int, percent: float) -> int:
        """The end of a sentence nearest to `percent` of the tokens of the first `count`: 0 is the very start, `count`
        the very end."""
        if percent <= 0:
            return 0
        if percent >= 100:
            return count
        wanted = self.tokens_of(count) * percent / 100
        after = min(count, bisect_left(range(count + 1), wanted, key=self.tokens_of))
        before = max(0, after - 1)
        return before if wanted - self.tokens_of(before) <= self.tokens_of(after) - wanted else after

    def slice(self, start: int, stop: int) -> str:
        """The text from sentence `start` to before sentence `stop`."""
        return self._characters(self.end_of(start) if start else 0, self.end_of(stop))

    def _characters(self, start: int, stop: int) -> str:
        period = len(self.text) + len(PARTING)
        parts = []
        while start < stop:
            passes, within = divmod(start, period)
            until = min(stop, (passes + 1) * period) - passes * period
            parts.append(self.text[within : min(until, len(self.text))])
            if until > len(self.text):
                parts.append(PARTING[max(0, within - len(self.text)) : until - len(self.text)])
            start = passes * period + until
        return "".join(parts)

    def plan(self, budget: int, needles: Sequence[tuple[str, int, float]]) -> Plan:
        """The longest context of at most `budget` tokens that holds the needles, each (text, tokens, depth percent).

        Raises UsageError where not even one sentence fits beside them."""
        count = self.fitting(budget - self.margin - sum(tokens for _, tokens, _ in needles))
        if count < 1:
            held = f"{len(needles)} needles" if len(needles) != 1 else "the needle"
            raise UsageError(
                f"A context of {max(0, budget)} tokens holds not even one sentence of the haystack"
                + (f" beside {held}" if needles else "")
                + f" (the first has {self.tokens[1]}). Ask for greater --lengths."
            )
        placed = sorted(
            ((self.at_depth(count, depth), order) for order, (_, _, depth) in enumerate(needles)),
        )
        tokens = self.tokens_of(count) + self.margin + sum(number for _, number, _ in needles)
        whole = self.tokens_of(count)
        before = self.tokens_of(placed[0][0]) if placed else whole
        return Plan(
            sentences=count,
            at=tuple(place for place, _ in placed),
            needles=tuple(needles[order][0] for _, order in placed),
            tokens=tokens,
            depth=100 * before / whole if placed else None,
            before=before,
        )

    def make(self, plan: Plan) -> Context:
        """The text of a plan. Takes time and memory in proportion to that text alone."""
        parts: list[str] = []
        places: list[int] = []
        length = start = 0
        for place, needle in zip(plan.at, plan.needles, strict=True):
            for part in (self.slice(start, place), self._parted(needle, place, plan)):
                parts.append(part)
                length += len(part)
            places.append(length - len(part) + part.index(needle))
            start = place
        parts.append(self.slice(start, plan.sentences))
        return Context("".join(parts), tuple(places))

    def _parted(self, needle: str, place: int, plan: Plan) -> str:
        """The needle with what parts it from its neighbours: in English a space, in Chinese nothing. A sentence keeps
        the space or the line ends that follow it, so only a needle after the last sentence needs one before it."""
        space = "" if self.language == "zh" else " "
        if place == plan.sentences:
            end = self.slice(place - 1, place)
            return needle if end[-1:].isspace() else space + needle
        return needle + space


def parts_of(texts: Sequence[str], language: str) -> list[str]:
    """The sentences of a haystack, each with what follows it; joined they are its text. Raises UsageError where there
    are no ends of sentences between which a needle could stand."""
    text = PARTING.join(texts)
    parts = [part for part in sentences(text, language) if part]
    if not text.strip() or not parts:
        raise UsageError("The haystack is empty: give it texts with --haystack DIR.")
    if len(parts) < 2 and len(text) < _LONGEST_SENTENCE:
        raise UsageError("The haystack is a single sentence: a needle needs the ends of sentences to stand at.")
    return parts


def make_hay(parts: Sequence[str], tokens: Sequence[int], *, parting: int, language: str, margin: int = 0) -> Haystack:
    """A haystack from its sentences (`parts_of`) and the tokens that each adds; `parting` are the tokens of what stands
    between two passes, `margin` what a text may have beyond these sums.

    Raises UsageError where a stretch is too long to place needles in."""
    if max(tokens) > _LONGEST_SENTENCE:
        worst = parts[max(range(len(parts)), key=tokens.__getitem__)]
        raise UsageError(
            f"The haystack has a stretch of {max(tokens):,} tokens without the end of a sentence ({worst[:40]!r}…), "
            f"where no needle can stand. A sentence ends with one of . ! ? 。 ！ ？ or a blank line."
        )
    ends = [0, *accumulate(map(len, parts))]
    return Haystack("".join(parts), ends, [0, *accumulate(tokens)], max(1, parting), language, margin)
