"""Plans every cell of a grid from needles and counted haystacks, before any request is sent."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from ragstone.benchmarks.niah.benchmark import CellPlan, rng_for
from ragstone.benchmarks.niah.contexts import SEPARATOR, Haystack, make_haystack, parts_of
from ragstone.benchmarks.niah.needles import NeedleQuestion, make_needle
from ragstone.benchmarks.niah.templates import NeedleTemplate
from ragstone.errors import UsageError
from ragstone.models.tokenizers import TokenCounter
from ragstone.types import Passage, Query

__all__ = ["Kind", "Planner", "count_haystacks"]

_CHAT_TOKENS = 32  # assumed for the chat format's control tokens if the server does not report them
_CHECKED = 8  # positions of a haystack at which its counts are checked
_MARGIN = 4  # tokens by which a context may exceed the sum of its parts
_DIGITS = re.compile(r"\d+")
# Kinds of needles with new numbers in each cell; the texts of all others might already occur in a haystack.
_OF_NUMBERS = ("number", "multi", "distractor", "chain")
_WINDOW = 50.0  # percent of the context over which several needles are spread


async def count_haystacks(
    counter: TokenCounter, texts: Mapping[str, Sequence[str]], repeat: int
) -> dict[tuple[str, int], Haystack]:
    """The haystack of each language, beginning with its first text, its second…, one per repeat. Raises UsageError."""
    haystacks = {}
    for language, language_texts in texts.items():
        for start in range(min(repeat, len(language_texts))):
            haystacks[language, start] = await _count_haystack(
                (*language_texts[start:], *language_texts[:start]), language, counter
            )
    return haystacks


async def _count_haystack(texts: Sequence[str], language: str, counter: TokenCounter) -> Haystack:
    """A haystack with the tokens that each sentence adds to the previous one. Tokenizers hardly look further back; the
    error of the sums is measured at a few positions and becomes the haystack's margin."""
    parts = parts_of(texts, language)
    places = sorted({max(1, len(parts) * share // _CHECKED) for share in range(1, _CHECKED + 1)})
    joined = [before + after for before, after in pairwise(parts)]
    beginnings = ["".join(parts[:place]) for place in places]
    counts = await counter.count([*parts, *joined, SEPARATOR, *beginnings])
    alone, counts = counts[: len(parts)], counts[len(parts) :]
    together, (separator_tokens, *checked) = counts[: len(joined)], counts[len(joined) :]
    added = [max(0, both - before) for both, before in zip(together, alone, strict=False)]
    tokens = [alone[0], *added]
    summed = [0, *accumulate(tokens)]
    margin = max(0, *(number - summed[place] for place, number in zip(places, checked, strict=True)))
    return make_haystack(parts, tokens, separator_tokens=separator_tokens, margin=margin + _MARGIN, language=language)


@dataclass(frozen=True)
class Kind:
    """A kind of needle with its settings. `variant`: the settings in words, a part of the cell's id; `options` for
    `make_needle`; `hop`: the distance between two links of a chain, as a share of the context."""

    name: str
    variant: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    hop: float = 0.0


@dataclass(frozen=True)
class Planner:
    """Plans cells. `haystacks`: (language, index of the first text) → haystack."""

    counter: TokenCounter
    haystacks: dict[tuple[str, int], Haystack]
    templates: dict[str, NeedleTemplate]
    answer_tokens: int
    seed: int

    @cached_property
    def _numbers(self) -> dict[str, frozenset[str]]:
        """The numbers that occur in the haystack of each language."""
        return {
            language: frozenset(_DIGITS.findall(haystack.text))
            for (language, at), haystack in self.haystacks.items()
            if not at
        }

    def needles(
        self, language: str, kind: Kind, repeat: int, lengths: Sequence[int], depths: Sequence[float]
    ) -> list[tuple[int, float, NeedleQuestion]]:
        """(length, depth, needle) of each cell. Raises UsageError, also if the haystack already contains a needle."""
        questions = [
            (length, depth, make_needle(
                kind.name, language, rng_for(self.seed, language, kind.name, length, depth, repeat),
                excluded=self._numbers[language], **kind.options,
            ))
            for length in lengths
            for depth in depths
        ]  # fmt: skip
        if kind.name not in _OF_NUMBERS:
            text = self.haystacks[language, 0].text
            for needle in sorted({needle for *_, question in questions for needle in question.texts}):
                if needle in text:
                    raise UsageError(f"The haystack already contains the needle {needle[:60]!r}: use another one.")
        return questions

    async def cells(
        self,
        language: str,
        kind: Kind,
        repeat: int,
        questions: Sequence[tuple[int, float, NeedleQuestion]],
        *,
        control: bool,
    ) -> list[CellPlan]:
        """The cells of one language, kind and repeat for every template, with one control per length."""
        starts = [start for name, start in self.haystacks if name == language]
        start = repeat % len(starts)
        haystack = self.haystacks[language, start]
        texts = [text for _, _, question in questions for text in question.texts]
        counts = dict(zip(texts, await self.counter.count([f" {text}" for text in texts]), strict=True))
        overheads = await self._overheads(language, [question.question for _, _, question in questions])
        cells = []
        for name in self.templates:
            chat_tokens = await self._marks(name, language, questions[0][2].question)
            controls: set[int] = set()
            for length, depth, question in questions:
                overhead = overheads[name, question.question] + chat_tokens
                budget = length - overhead - self.answer_tokens
                rng = rng_for(self.seed, language, kind.name, length, depth)
                placed = _placed_needles(question, depth, kind.hop, counts, rng)
                try:
                    plan = haystack.plan(budget, placed)
                except UsageError as error:
                    raise UsageError(f"Length {length:,}, template {name}: {error}") from None
                tokens = plan.tokens + overhead
                reached = _depth_of(haystack, plan.sentences, plan.at[_first(plan.needles, question.needles[0])])
                cells.append(
                    CellPlan(language, kind.name, name, length, depth, repeat, question, False, start, plan.sentences,
                             plan.at, plan.needles, tokens, reached, plan.before, overhead, variant=kind.variant)
                )  # fmt: skip
                if control and length not in controls:
                    controls.add(length)
                    control_plan = haystack.plan(budget, [])
                    tokens = control_plan.tokens + overhead
                    cells.append(
                        CellPlan(language, kind.name, name, length, 100.0, repeat, question, True, start,
                                 control_plan.sentences, (), (), tokens, 100.0, control_plan.before, overhead,
                                 variant=kind.variant)
                    )  # fmt: skip
        return cells

    async def _marks(self, template: str, language: str, question: str) -> int:
        """The chat format's control tokens around a prompt of this template."""
        query = Query(question, (Passage("context", ""),), language=language)
        chat_tokens = await self.counter.template_tokens(self.templates[template].messages(query))
        return _CHAT_TOKENS if chat_tokens is None else chat_tokens

    async def _overheads(self, language: str, questions: Sequence[str]) -> dict[tuple[str, str], int]:
        """Tokens of a prompt without its context, by template and question."""
        pairs = [(name, question) for name in self.templates for question in dict.fromkeys(questions)]
        texts = []
        for name, question in pairs:
            query = Query(question, (Passage("context", ""),), language=language)
            texts.append("\n".join(turn.content for turn in self.templates[name].messages(query)))
        return dict(zip(pairs, await self.counter.count(texts), strict=True))


def _placed_needles(
    question: NeedleQuestion, depth: float, hop: float, counts: dict[str, int], rng: Any
) -> list[tuple[str, int, float]]:
    """Every needle with its tokens and depth. A single one stands at the requested depth. Of several, that is where
    their stretch of the context lies: at 0 it begins with the context, at 100 it ends with it. Links of a chain are
    `hop` apart; other needles are spread over half the context. Distractors and decoys stand at random depths, the
    decoys' links in their order."""
    links = len(question.needles) - 1
    stretch = (100 * hop * links if hop else _WINDOW) if links else 0.0
    start = depth / 100 * (100 - stretch)
    placed = [
        (text, start + stretch * at / links if links else depth) for at, text in enumerate(question.needles)
    ]  # fmt: skip
    placed += [(text, rng.uniform(0, 100)) for text in question.distractors]
    for row in question.decoys:
        placed += zip(row, sorted(rng.uniform(0, 100) for _ in row), strict=True)
    return [(text, counts[text] + 1, at) for text, at in placed]


def _first(needles: Sequence[str], wanted: str) -> int:
    return list(needles).index(wanted)


def _depth_of(haystack: Haystack, sentences: int, sentence: int) -> float:
    whole = haystack.tokens_of(sentences)
    return 100 * (haystack.tokens_of(sentence) if sentence else 0) / whole if whole else 0.0
