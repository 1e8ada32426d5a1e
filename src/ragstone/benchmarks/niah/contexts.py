"""Contexts: the haystack cut to a length, with needles between its sentences.

The haystack is one long text, repeated if a context is longer. Its sentences are counted once by the tokenizer; a
context has as many whole sentences as fit and is built by slicing the text. A margin covers the tokens by which a
joined text may exceed the sum of its parts, so that a context never exceeds its budget.

All contexts begin alike up to their first needle, so a server with a prefix cache need not re-evaluate that part.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from ragstone.errors import UsageError
from ragstone.text import estimate_tokens, sentences

SEPARATOR = "\n\n"  # between two texts of a haystack
MARK = "\ufffc"  # where a numbered text of a context has its number
COUNTED_MARK = "8888"  # a number as long as those that a mark becomes
_LONGEST_SENTENCE = 2_000  # tokens; anything longer is a text without sentence ends


@dataclass(frozen=True)
class ContextPlan:
    """The plan of a context: the first `sentences` of the haystack, with `needles[i]` before sentence `at[i]`.

    `tokens`: its maximum, needles included. `depth`: the position of the first needle, in percent of the haystack's
    tokens in this context (None without a needle). `before`: the tokens before it."""

    sentences: int
    at: tuple[int, ...]
    needles: tuple[str, ...]
    tokens: int
    depth: float | None
    before: int


@dataclass(frozen=True)
class BuiltContext:
    """A context's text and the character offsets of its needles."""

    text: str
    places: tuple[int, ...]


class Haystack:
    """A haystack with counted sentences. `tokens[i]` and `ends[i]`: the tokens and characters of the first i sentences
    in one pass through all texts; later passes repeat them. `separator_tokens`: between two passes. `margins`: tokens
    by which a context may exceed the sum, each with the number of sentences that it begins after. `joint`: what
    separates a needle from the next sentence. `numbered`: each `MARK` becomes a number, counted from 1."""

    def __init__(
        self,
        text: str,
        ends: Sequence[int],
        tokens: Sequence[int],
        separator_tokens: int,
        language: str,
        margins: Sequence[tuple[int, int]] = ((0, 0),),
        joint: str = " ",
        numbered: bool = False,
    ) -> None:
        self.joint, self.numbered = joint, numbered
        self.text, self.ends, self.tokens, self.language = text, list(ends), list(tokens), language
        self.separator_tokens, self.margins = separator_tokens, list(margins)
        self.sentences = len(self.ends) - 1
        self.longest = max(after - before for before, after in zip(self.tokens, self.tokens[1:], strict=False))

    @cached_property
    def rate(self) -> float:
        """Tokens per token of `estimate_tokens`: about 1, but 2.5 for Chinese with a vocabulary made for English."""
        return self.tokens[-1] / max(1, estimate_tokens(self.text))

    def margin_of(self, count: int) -> int:
        """The tokens by which the first `count` sentences with needles may exceed their sum."""
        return self.margins[max(0, bisect_left(self.margins, (count,)) - 1)][1]

    def tokens_of(self, count: int) -> int:
        """Tokens of the first `count` sentences, over as many passes as that takes."""
        passes, rest = divmod(count, self.sentences)
        return (
            passes * (self.tokens[-1] + self.separator_tokens)
            + self.tokens[rest]
            - (self.separator_tokens if passes and not rest else 0)
        )

    def end_of(self, count: int) -> int:
        """Characters of the first `count` sentences."""
        passes, rest = divmod(count, self.sentences)
        whole = passes * (len(self.text) + len(SEPARATOR)) + self.ends[rest]
        return whole - (len(SEPARATOR) if passes and not rest else 0)

    def fitting(self, budget: int) -> int:
        """The number of sentences that fit into `budget` tokens."""
        one_pass = self.tokens[-1] + self.separator_tokens
        passes, rest = divmod(max(0, budget), one_pass)
        count = passes * self.sentences + bisect_right(self.tokens, rest) - 1
        while count > 0 and self.tokens_of(count) > budget:  # the separator of the last pass
            count -= 1
        while self.tokens_of(count + 1) <= budget:
            count += 1
        return count

    def _fitting_with(self, budget: int) -> int:
        """The number of sentences that fit into `budget` tokens with their margin."""
        count = self.fitting(budget - self.margins[0][1])
        return self.fitting(budget - margin) if (margin := self.margin_of(count)) > self.margins[0][1] else count

    def at_depth(self, count: int, percent: float) -> int:
        """The sentence boundary nearest to `percent` of the tokens of the first `count` sentences: 0 is the start,
        `count` the end."""
        if percent <= 0:
            return 0
        if percent >= 100:
            return count
        wanted = self.tokens_of(count) * percent / 100
        after = min(count, bisect_left(range(count + 1), wanted, key=self.tokens_of))
        before = max(0, after - 1)
        return before if wanted - self.tokens_of(before) <= self.tokens_of(after) - wanted else after

    def depth_of(self, count: int, sentence: int) -> float:
        """Where a sentence begins, in percent of the tokens of the first `count` sentences."""
        whole = self.tokens_of(count)
        return 100 * (self.tokens_of(sentence) if sentence else 0) / whole if whole else 0.0

    def slice(self, start: int, stop: int) -> str:
        """The text of sentences `start` (inclusive) to `stop` (exclusive)."""
        return self._characters(self.end_of(start) if start else 0, self.end_of(stop))

    def _characters(self, start: int, stop: int) -> str:
        period = len(self.text) + len(SEPARATOR)
        parts = []
        while start < stop:
            passes, within = divmod(start, period)
            until = min(stop, (passes + 1) * period) - passes * period
            parts.append(self.text[within : min(until, len(self.text))])
            if until > len(self.text):
                parts.append(SEPARATOR[max(0, within - len(self.text)) : until - len(self.text)])
            start = passes * period + until
        return "".join(parts)

    def plan(self, budget: int, needles: Sequence[tuple[str, int, float]]) -> ContextPlan:
        """The longest context of at most `budget` tokens with these needles, each (text, tokens, depth percent).

        Raises UsageError if not even one sentence fits beside them."""
        count = self._fitting_with(budget - sum(tokens for _, tokens, _ in needles))
        if len(needles) > 1 and (room := self._room(budget, needles)) < len(needles):
            raise UsageError(
                f"A context of {max(0, budget)} tokens has room for at most {room} of the {len(needles)} needles, each "
                "between two sentences of its own. Use greater --lengths or fewer needles."
            )
        if count < 1:
            raise UsageError(
                f"A context of {max(0, budget)} tokens has no room for even one sentence of the haystack"
                + (" beside the needle" if needles else "")
                + f" (the first has {self.tokens[1]}). Use greater --lengths."
            )
        placed = sorted(
            ((self.at_depth(count, depth), order) for order, (_, _, depth) in enumerate(needles)),
        )
        tokens = self.tokens_of(count) + self.margin_of(count) + sum(number for _, number, _ in needles)
        whole = self.tokens_of(count)
        before = self.tokens_of(placed[0][0]) if placed else whole
        return ContextPlan(
            sentences=count,
            at=tuple(place for place, _ in placed),
            needles=tuple(needles[order][0] for _, order in placed),
            tokens=tokens,
            depth=100 * before / whole if placed else None,
            before=before,
        )

    def _room(self, budget: int, needles: Sequence[tuple[str, int, float]]) -> int:
        """How many of the needles can stand in a context, each between two sentences of its own."""
        for number in range(len(needles), 0, -1):
            count = self._fitting_with(budget - sum(tokens for _, tokens, _ in needles[:number]))
            if 1 <= count >= number - 1:
                return number
        return 0

    def make(self, plan: ContextPlan) -> BuiltContext:
        """The text of a plan, in time and memory proportional to that text."""
        numbers = iter(range(1, 1 + len(self.text))) if self.numbered else None
        parts: list[str] = []
        places: list[int] = []
        length = start = 0
        for place, needle in zip(plan.at, plan.needles, strict=True):
            separated = self._separated(needle, place, plan)
            before = separated.index(needle)
            for part in (self.slice(start, place), separated):
                parts.append(_numbered(part, numbers))
                length += len(parts[-1])
            places.append(length - len(parts[-1]) + before)
            start = place
        parts.append(_numbered(self.slice(start, plan.sentences), numbers))
        return BuiltContext("".join(parts), tuple(places))

    def _separated(self, needle: str, place: int, plan: ContextPlan) -> str:
        """The needle with its separator. A sentence keeps the whitespace that follows it, so only a needle after the
        last sentence needs a separator before it."""
        if place == plan.sentences:
            end = self.slice(place - 1, place)
            return needle if end[-1:].isspace() else self.joint + needle
        return needle + self.joint


def _numbered(text: str, numbers: Iterator[int] | None) -> str:
    """The text with the next numbers in place of its marks; None: unchanged."""
    if numbers is None:
        return text
    first, *rest = text.split(MARK)
    return first + "".join(f"{next(numbers)}{part}" for part in rest)


def parts_of(texts: Sequence[str], language: str) -> list[str]:
    """The sentences of a haystack with their trailing whitespace; joined they are its text. Raises UsageError if there
    are no sentence ends at which a needle can be placed."""
    text = SEPARATOR.join(texts)
    parts = [part for part in sentences(text, language) if part]
    if not text.strip() or not parts:
        raise UsageError("The haystack is empty: provide texts with --haystack DIR.")
    if len(parts) < 2 and len(text) < _LONGEST_SENTENCE:
        raise UsageError("The haystack is a single sentence: needles are placed between sentences. Provide more text.")
    return parts


def make_haystack(
    parts: Sequence[str],
    tokens: Sequence[int],
    *,
    separator_tokens: int,
    language: str,
    margins: Sequence[tuple[int, int]] = ((0, 0),),
    joint: str | None = None,
    numbered: bool = False,
) -> Haystack:
    """A haystack from its sentences (`parts_of`) and the tokens that each adds (see `Haystack`). `joint` None: a space
    in English, nothing in Chinese.

    Raises UsageError if a stretch without a sentence end is too long to place needles in."""
    if max(tokens) > _LONGEST_SENTENCE:
        worst = parts[max(range(len(parts)), key=tokens.__getitem__)]
        raise UsageError(
            f"The haystack has a stretch of {max(tokens):,} tokens without a sentence end ({worst[:40]!r}…), "
            f"where no needle can be placed. A sentence ends with one of . ! ? 。 ！ ？ or a blank line."
        )
    if joint is None:
        joint = "" if language == "zh" else " "
    ends, summed = [0, *accumulate(map(len, parts))], [0, *accumulate(tokens)]
    text = "".join(parts)
    return Haystack(text, ends, summed, max(1, separator_tokens), language, margins, joint, numbered)
