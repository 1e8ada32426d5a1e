"""Plans every cell of a grid from needles and counted haystacks, before any request is sent."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

__all__ = ["Planner", "count_haystacks"]

_CHAT_TOKENS = 32  # assumed for the chat format's control tokens if the server does not report them
_CHECKED = 8  # positions of a haystack at which its counts are checked
_MARGIN = 4  # tokens by which a context may exceed the sum of its parts
_DIGITS = re.compile(r"\d+")
# Kinds of needles with new numbers in each cell; the texts of all others might already occur in a haystack.
_OF_NUMBERS = ("number", "multi", "distractor", "chain")


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
class Planner:
    """Plans cells. `haystacks`: (language, index of the first text) → haystack; `needle_options`: for `make_needle`."""

    counter: TokenCounter
    haystacks: dict[tuple[str, int], Haystack]
    templates: dict[str, NeedleTemplate]
    answer_tokens: int
    seed: int
    needle_options: Mapping[str, Any]

    @cached_property
    def _numbers(self) -> dict[str, frozenset[str]]:
        """The numbers that occur in the haystack of each language."""
        return {
            language: frozenset(_DIGITS.findall(haystack.text))
            for (language, at), haystack in self.haystacks.items()
            if not at
        }

    def needles(
        self, language: str, kind: str, repeat: int, lengths: Sequence[int], depths: Sequence[float]
    ) -> list[tuple[int, float, NeedleQuestion]]:
        """(length, depth, needle) of each cell. Raises UsageError, also if the haystack already contains a needle."""
        questions = [
            (length, depth, make_needle(
                kind, language, rng_for(self.seed, language, kind, length, depth, repeat),
                excluded=self._numbers[language], **self.needle_options,
            ))
            for length in lengths
            for depth in depths
        ]  # fmt: skip
        if kind not in _OF_NUMBERS:
            text = self.haystacks[language, 0].text
            for needle in sorted(
                {needle for *_, question in questions for needle in (*question.needles, *question.distractors)}
            ):
                if needle in text:
                    raise UsageError(f"The haystack already contains the needle {needle[:60]!r}: use another one.")
        return questions

    async def cells(
        self,
        language: str,
        kind: str,
        repeat: int,
        questions: Sequence[tuple[int, float, NeedleQuestion]],
        *,
        control: bool,
    ) -> list[CellPlan]:
        """The cells of one language, kind and repeat for every template, with one control per length."""
        starts = [start for name, start in self.haystacks if name == language]
        start = repeat % len(starts)
        haystack = self.haystacks[language, start]
        texts = [text for _, _, question in questions for text in (*question.needles, *question.distractors)]
        counts = dict(zip(texts, await self.counter.count([f" {text}" for text in texts]), strict=True))
        overheads = await self._overheads(language, [question.question for _, _, question in questions])
        cells = []
        for name in self.templates:
            chat_tokens = await self._marks(name, language, questions[0][2].question)
            controls: set[int] = set()
            for length, depth, question in questions:
                overhead = overheads[name, question.question] + chat_tokens
                budget = length - overhead - self.answer_tokens
                placed = _placed_needles(question, depth, counts, rng_for(self.seed, language, kind, length, depth))
                try:
                    plan = haystack.plan(budget, placed)
                except UsageError as error:
                    raise UsageError(f"Length {length:,}, template {name}: {error}") from None
                tokens = plan.tokens + overhead
                reached = _depth_of(haystack, plan.sentences, plan.at[_first(plan.needles, question.needles[0])])
                cells.append(
                    CellPlan(language, kind, name, length, depth, repeat, question, False, start, plan.sentences,
                             plan.at, plan.needles, tokens, reached, plan.before, overhead)
                )  # fmt: skip
                if control and length not in controls:
                    controls.add(length)
                    control_plan = haystack.plan(budget, [])
                    tokens = control_plan.tokens + overhead
                    cells.append(
                        CellPlan(language, kind, name, length, 100.0, repeat, question, True, start,
                                 control_plan.sentences, (), (), tokens, 100.0, control_plan.before, overhead)
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
    question: NeedleQuestion, depth: float, counts: dict[str, int], rng: Any
) -> list[tuple[str, int, float]]:
    """Every needle with its tokens and depth: the first at the requested depth, the others evenly spaced from there
    (wrapping around), distractors at random."""
    count = len(question.needles)
    placed = [
        (text, counts[text] + 1, depth if index == 0 else (depth + 100 * index / count) % 100)
        for index, text in enumerate(question.needles)
    ]
    return [*placed, *((text, counts[text] + 1, rng.uniform(0, 100)) for text in question.distractors)]


def _first(needles: Sequence[str], wanted: str) -> int:
    return list(needles).index(wanted)


def _depth_of(haystack: Haystack, sentences: int, sentence: int) -> float:
    whole = haystack.tokens_of(sentences)
    return 100 * (haystack.tokens_of(sentence) if sentence else 0) / whole if whole else 0.0
