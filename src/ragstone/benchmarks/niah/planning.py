"""Planning: every cell of a grid, from needles and counted haystacks, before anything is asked."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from ragstone.benchmarks.niah.benchmark import CellPlan, rng_of
from ragstone.benchmarks.niah.contexts import PARTING, Haystack, make_hay, parts_of
from ragstone.benchmarks.niah.needles import Asked, make_needle
from ragstone.benchmarks.niah.templates import NeedleTemplate
from ragstone.errors import UsageError
from ragstone.models.tokenizers import TokenCounter
from ragstone.types import Passage, Query

__all__ = ["Planner", "counted_hays"]

_CHAT_MARKS = 32  # tokens that a chat's own marks may take, where nobody says
_CHECKED = 8  # places of a haystack at which its counts are checked
_MARGIN = 4  # tokens by which a context may be longer than the sum of its parts
_DIGITS = re.compile(r"\d+")
# Kinds of needles with numbers of their own, new in each cell; the texts of all others may stand in a haystack already.
_OF_NUMBERS = ("number", "multi", "distractor", "chain")


async def counted_hays(
    counter: TokenCounter, texts: Mapping[str, Sequence[str]], repeat: int
) -> dict[tuple[str, int], Haystack]:
    """The haystack of each language, as it begins with its first text, its second… for so many repeats. Raises
    UsageError."""
    hays = {}
    for language, held in texts.items():
        for start in range(min(repeat, len(held))):
            hays[language, start] = await _counted((*held[start:], *held[:start]), language, counter)
    return hays


async def _counted(texts: Sequence[str], language: str, counter: TokenCounter) -> Haystack:
    """A haystack with the tokens that each sentence adds to the one before it. Tokenizers look no further back, or
    hardly: by how much the sums are wrong is measured at a few places, and is the haystack's margin."""
    parts = parts_of(texts, language)
    places = sorted({max(1, len(parts) * share // _CHECKED) for share in range(1, _CHECKED + 1)})
    joined = [before + after for before, after in pairwise(parts)]
    beginnings = ["".join(parts[:place]) for place in places]
    counts = await counter.count([*parts, *joined, PARTING, *beginnings])
    alone, counts = counts[: len(parts)], counts[len(parts) :]
    together, (parting, *checked) = counts[: len(joined)], counts[len(joined) :]
    added = [max(0, both - before) for both, before in zip(together, alone, strict=False)]
    tokens = [alone[0], *added]
    summed = [0, *accumulate(tokens)]
    margin = max(0, *(number - summed[place] for place, number in zip(places, checked, strict=True)))
    return make_hay(parts, tokens, parting=parting, margin=margin + _MARGIN, language=language)


@dataclass(frozen=True)
class Planner:
    """Plans cells. `hays`: (language, text that it begins with) → the haystack; `about` goes to `make_needle`."""

    counter: TokenCounter
    hays: dict[tuple[str, int], Haystack]
    templates: dict[str, NeedleTemplate]
    answer_tokens: int
    seed: int
    about: Mapping[str, Any]

    @cached_property
    def _numbers(self) -> dict[str, frozenset[str]]:
        """The numbers that stand in the haystack of each language."""
        return {language: frozenset(_DIGITS.findall(hay.text)) for (language, at), hay in self.hays.items() if not at}

    def needles(
        self, language: str, kind: str, repeat: int, lengths: Sequence[int], depths: Sequence[float]
    ) -> list[tuple[int, float, Asked]]:
        """(length, depth, needle) of each cell. Raises UsageError, also where a needle stands in the haystack by
        itself: then it is everywhere."""
        asked = [
            (length, depth, make_needle(
                kind, language, rng_of(self.seed, language, kind, length, depth, repeat),
                taken=self._numbers[language], **self.about,
            ))
            for length in lengths
            for depth in depths
        ]  # fmt: skip
        if kind not in _OF_NUMBERS:
            text = self.hays[language, 0].text
            for needle in sorted({needle for *_, one in asked for needle in (*one.needles, *one.distractors)}):
                if needle in text:
                    raise UsageError(f"The haystack has the needle {needle[:60]!r} already: hide another one.")
        return asked

    async def cells(
        self, language: str, kind: str, repeat: int, asked: Sequence[tuple[int, float, Asked]], *, control: bool
    ) -> list[CellPlan]:
        """The cells of one language, kind and repeat, of every template, with a control a length."""
        starts = [start for one, start in self.hays if one == language]
        start = repeat % len(starts)
        hay = self.hays[language, start]
        texts = [text for _, _, one in asked for text in (*one.needles, *one.distractors)]
        counts = dict(zip(texts, await self.counter.count([f" {text}" for text in texts]), strict=True))
        overheads = await self._overheads(language, [one.question for _, _, one in asked])
        found = []
        for name in self.templates:
            marks = await self._marks(name, language, asked[0][2].question)
            controls: set[int] = set()
            for length, depth, one in asked:
                budget = length - overheads[name, one.question] - self.answer_tokens - marks
                placed = _placed(one, depth, counts, rng_of(self.seed, language, kind, length, depth))
                try:
                    plan = hay.plan(budget, placed)
                except UsageError as error:
                    raise UsageError(f"Of a length of {length:,} tokens, template {name}: {error}") from None
                tokens = plan.tokens + overheads[name, one.question] + marks
                reached = _depth_of(hay, plan.sentences, plan.at[_first(plan.needles, one.needles[0])])
                found.append(
                    CellPlan(language, kind, name, length, depth, repeat, one, False, start, plan.sentences, plan.at,
                             plan.needles, tokens, reached, plan.before, overheads[name, one.question] + marks)
                )  # fmt: skip
                if control and length not in controls:
                    controls.add(length)
                    bare = hay.plan(budget, [])
                    tokens = bare.tokens + overheads[name, one.question] + marks
                    found.append(
                        CellPlan(language, kind, name, length, 100.0, repeat, one, True, start, bare.sentences, (), (),
                                 tokens, 100.0, bare.before, overheads[name, one.question] + marks)
                    )  # fmt: skip
        return found

    async def _marks(self, template: str, language: str, question: str) -> int:
        """Tokens of a chat's own marks around a prompt of this template."""
        query = Query(question, (Passage("context", ""),), language=language)
        marks = await self.counter.marks(self.templates[template].messages(query))
        return _CHAT_MARKS if marks is None else marks

    async def _overheads(self, language: str, questions: Sequence[str]) -> dict[tuple[str, str], int]:
        """Tokens of a prompt without its context, by template and question."""
        pairs = [(name, question) for name in self.templates for question in dict.fromkeys(questions)]
        texts = []
        for name, question in pairs:
            query = Query(question, (Passage("context", ""),), language=language)
            texts.append("\n".join(turn.content for turn in self.templates[name].messages(query)))
        return dict(zip(pairs, await self.counter.count(texts), strict=True))


def _placed(one: Asked, depth: float, counts: dict[str, int], rng: Any) -> list[tuple[str, int, float]]:
    """Every needle with its tokens and its depth: the first where it was asked for, the others evenly around the
    context from there, distractors anywhere."""
    several = len(one.needles)
    placed = [
        (text, counts[text] + 1, depth if at == 0 else (depth + 100 * at / several) % 100)
        for at, text in enumerate(one.needles)
    ]
    return [*placed, *((text, counts[text] + 1, rng.uniform(0, 100)) for text in one.distractors)]


def _first(needles: Sequence[str], wanted: str) -> int:
    return list(needles).index(wanted)


def _depth_of(hay: Haystack, sentences: int, at: int) -> float:
    whole = hay.tokens_of(sentences)
    return 100 * (hay.tokens_of(at) if at else 0) / whole if whole else 0.0
