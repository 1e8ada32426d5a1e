"""Plans every cell of a grid from needles and counted haystacks, before any request is sent."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, product
from typing import Any, NamedTuple

from msgspec.structs import replace

from ragstone.benchmarks.niah.aggregate import ANYWHERE
from ragstone.benchmarks.niah.benchmark import rng_for
from ragstone.benchmarks.niah.cells import CellPlan
from ragstone.benchmarks.niah.contexts import (
    COUNTED_MARK,
    MARK,
    SEPARATOR,
    ContextPlan,
    Haystack,
    make_haystack,
    parts_of,
)
from ragstone.benchmarks.niah.kinds import Kind, Source, Stack
from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.sources import count_parts
from ragstone.benchmarks.niah.templates import NeedleTemplate
from ragstone.datasets.haystack import HaystackTexts
from ragstone.errors import UsageError
from ragstone.models.tokenizers import TokenCounter
from ragstone.types import Passage, Query

_CHAT_TOKENS = 32  # assumed for the chat format's control tokens if the server does not report them
_CHECKED = 8  # positions of a haystack at which its counts are checked
_MARGIN = 4  # tokens by which a context may exceed the sum of its parts
_DIGITS = re.compile(r"\d+")
_WINDOW = 50.0  # percent of the context over which several needles are spread


async def count_haystacks(
    counter: TokenCounter, stacks: Mapping[str, HaystackTexts], repeat: int, longest: int
) -> dict[tuple[str, int], Haystack]:
    """The haystack of each language, beginning with its first text, its second…, one per repeat. Texts that contexts of
    `longest` tokens do not reach are left out. Raises UsageError."""
    haystacks = {}
    for language, stack in stacks.items():
        for start in range(min(repeat, len(stack.texts))):
            texts = (*stack.texts[start:], *stack.texts[:start])
            haystacks[language, start] = await _count_haystack(texts, stack.more, language, counter, longest)
    return haystacks


async def count_sources(
    counter: TokenCounter, kinds: Sequence[Kind], languages: Sequence[str], lengths: Sequence[int], repeat: int
) -> dict[tuple[str, int], Stack]:
    """What the contexts of these kinds are made from that have texts of their own, by name and repeat."""
    longest: dict[str, tuple[Source, str, int]] = {}
    for kind, language, length in product(kinds, languages, sorted(lengths)):
        if source := kind.source(length):
            longest[kind.stack(language, length)] = (source, language, length)
    return {
        (name, start): await source.count(counter, language, start, length)
        for name, (source, language, length) in longest.items()
        for start in range(min(repeat, source.starts))
    }


async def _count_haystack(
    texts: Sequence[str], more: Sequence[str], language: str, counter: TokenCounter, longest: int
) -> Haystack:
    """A haystack with the tokens that each sentence adds to the previous one. Tokenizers hardly look further back; the
    error of the sums is measured at a few positions, and at the end of each further text, and becomes the margin."""
    parts = parts_of(texts, language)
    places = sorted({max(1, len(parts) * share // _CHECKED) for share in range(1, _CHECKED + 1)})
    beginnings = ["".join(parts[:place]) for place in places]
    tokens, (separator_tokens, *checked) = await count_parts(counter, parts, [SEPARATOR, *beginnings])
    summed = [0, *accumulate(tokens)]
    margin = _MARGIN + max(0, *(number - summed[place] for place, number in zip(places, checked, strict=True)))
    margins, total = [(0, margin)], summed[-1]
    for text in more:
        if total >= longest:
            break
        added = parts_of([text], language)
        counts, (whole,) = await count_parts(counter, added, [text])
        margin += max(0, whole - sum(counts))
        margins.append((len(parts), margin))
        parts[-1] += SEPARATOR
        tokens[-1] += separator_tokens
        parts += added
        tokens += counts
        total += separator_tokens + sum(counts)
    return make_haystack(parts, tokens, separator_tokens=separator_tokens, margins=margins, language=language)


class Slot(NamedTuple):
    """What one cell asks: `repeat` numbers the questions of the same length and depth, from 0."""

    length: int
    depth: float
    repeat: int
    question: NeedleQuestion


@dataclass(frozen=True)
class Planner:
    """Plans cells. `haystacks`: (name, index of the first text) → haystack; its name is that of the language, and for
    the source of a kind `Kind.stack`."""

    counter: TokenCounter
    haystacks: Mapping[tuple[str, int], Stack]
    templates: dict[str, NeedleTemplate]
    answer_tokens: int
    seed: int

    @cached_property
    def _numbers(self) -> dict[str, frozenset[str]]:
        """The numbers that occur in each haystack."""
        return {name: frozenset(_DIGITS.findall(stack.text)) for (name, at), stack in self.haystacks.items() if not at}

    def needles(
        self, language: str, kind: Kind, repeat: int, lengths: Sequence[int], depths: Sequence[float]
    ) -> list[Slot]:
        """The question of each cell. A kind whose needles stand anywhere has as many at each length as others have
        depths. Raises UsageError, also if the haystack already contains a needle."""
        slots = []
        for length in lengths:
            excluded = self._numbers[kind.stack(language, length)]
            for number, depth in enumerate(depths):
                place = (depth, repeat) if kind.placed else (ANYWHERE, repeat * len(depths) + number)
                rng = rng_for(self.seed, language, kind.name, length, *place)
                slots.append(Slot(length, *place, kind.make(language, rng, excluded, length)))
        if not kind.fresh:
            for name in {kind.stack(language, length) for length in lengths}:
                _check_absent(self.haystacks[name, 0].text, slots)
        return slots

    async def cells(
        self, language: str, kind: Kind, repeat: int, slots: Sequence[Slot], *, control: str
    ) -> list[CellPlan]:
        """The cells of one language, kind and repeat for every template. `control`: "length" adds a control for each
        length, "cell" one for each cell, "none" none."""
        texts = [text for slot in slots for text in slot.question.texts]
        shown = [f" {text.replace(MARK, COUNTED_MARK)}" for text in texts]
        counts = dict(zip(texts, await self.counter.count(shown), strict=True))
        cells = []
        for template in (kind.template,) if kind.template else self.templates.values():
            chat_tokens = await self._marks(template, language, slots[0].question)
            overheads = await self._overheads(template, language, [slot.question for slot in slots])
            controls: set[tuple[float, ...]] = set()
            for (length, depth, number, question), overhead in zip(slots, overheads, strict=True):
                name, start = self._stack(kind.stack(language, length), repeat)
                haystack = self.haystacks[name, start]
                around = overhead + chat_tokens
                budget = length - around - self.answer_tokens
                rng = rng_for(self.seed, language, kind.name, length, depth, *(() if kind.placed else (number,)))
                placed = _placed_needles(question, depth, kind.hop, counts, rng)
                try:
                    plan = haystack.plan(budget, placed)
                except UsageError as error:
                    raise UsageError(f"Length {length:,}, template {template.name}: {error}") from None
                cell = CellPlan(
                    language, kind.name, template.name, length, depth, number, question, False, start,
                    plan.sentences, plan.at, plan.needles, plan.tokens + around, _reached(haystack, plan, question),
                    plan.before, around, variant=kind.variant, suite=kind.suite, stack=name,
                )  # fmt: skip
                cells.append(cell)
                where = depth if control == "cell" else 100.0
                place = (length, depth, number) if control == "cell" else (length,)
                if control != "none" and kind.controls and place not in controls:
                    controls.add(place)
                    empty = haystack.plan(budget, [])
                    cells.append(
                        replace(cell, depth=where, control=True, sentences=empty.sentences, at=(), needles=(),
                                tokens=empty.tokens + around, reached=where, before=empty.before)
                    )  # fmt: skip
        return cells

    def _stack(self, name: str, repeat: int) -> tuple[str, int]:
        """The haystack of this name for a repeat."""
        return name, repeat % sum(other == name for other, _ in self.haystacks)

    async def _marks(self, template: NeedleTemplate, language: str, question: NeedleQuestion) -> int:
        """The chat format's control tokens around a prompt of this template."""
        chat_tokens = await self.counter.template_tokens(template.messages(_without_context(question, language)))
        return _CHAT_TOKENS if chat_tokens is None else chat_tokens

    async def _overheads(
        self, template: NeedleTemplate, language: str, questions: Sequence[NeedleQuestion]
    ) -> list[int]:
        """Tokens of the prompt of each question without its context."""
        texts = [
            "\n".join(turn.content for turn in template.messages(_without_context(question, language)))
            for question in questions
        ]
        distinct = list(dict.fromkeys(texts))
        counts = dict(zip(distinct, await self.counter.count(distinct), strict=True))
        return [counts[text] for text in texts]


def _without_context(question: NeedleQuestion, language: str) -> Query:
    return Query(question.question, (Passage("context", "", meta=question.frame),), language=language)


def _placed_needles(
    question: NeedleQuestion, depth: float, hop: float, counts: dict[str, int], rng: Any
) -> list[tuple[str, int, float]]:
    """Every needle with its tokens and depth. A single one stands at the requested depth. Of several, that is where
    their stretch of the context lies: at 0 it begins with the context, at 100 it ends with it. Links of a chain are
    `hop` apart; other needles are spread over half the context. Distractors and decoys stand at random depths, the
    decoys' links in their order, and so do needles that may stand anywhere."""
    rows = list(question.decoys)
    placed: list[tuple[str, float]] = []
    if depth == ANYWHERE:
        rows.insert(0, question.needles)
    else:
        links = len(question.needles) - 1
        stretch = (100 * hop * links if hop else _WINDOW) if links else 0.0
        start = depth / 100 * (100 - stretch)
        placed += [
            (text, start + stretch * at / links if links else depth) for at, text in enumerate(question.needles)
        ]  # fmt: skip
    placed += [(text, rng.uniform(0, 100)) for text in question.distractors]
    for row in rows:
        placed += zip(row, sorted(rng.uniform(0, 100) for _ in row), strict=True)
    return [(text, counts[text] + 1, at) for text, at in placed]


def _reached(stack: Stack, plan: ContextPlan, question: NeedleQuestion) -> float:
    """Where the first needle of the question stands in a haystack, in percent."""
    if not isinstance(stack, Haystack):
        return 0.0
    return stack.depth_of(plan.sentences, plan.at[plan.needles.index(question.needles[0])])


def _check_absent(text: str, slots: Sequence[Slot]) -> None:
    """Raises UsageError if a haystack contains a needle."""
    for needle in sorted({needle for slot in slots for needle in slot.question.texts}):
        if needle in text:
            raise UsageError(f"The haystack already contains the needle {needle[:60]!r}: use another one.")
