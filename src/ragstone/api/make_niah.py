"""The needle test from what a user says about it: haystacks are read and counted, and every cell is planned."""

import asyncio
import dataclasses
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragstone.benchmarks.niah.benchmark import NIAH, CellPlan, rng_of
from ragstone.benchmarks.niah.contexts import PARTING, Hay, make_hay, parts_of
from ragstone.benchmarks.niah.needles import KINDS, Asked, make_needle, read_needles
from ragstone.benchmarks.niah.templates import NeedleTemplate, find_template
from ragstone.datasets.haystack import haystack
from ragstone.errors import UnknownName, UsageError
from ragstone.models import ModelOptions
from ragstone.models.tokenizers import TokenCounter, open_counter
from ragstone.types import Passage, Query

__all__ = ["ANSWER_TOKENS", "grid_of", "make_niah", "make_niah_async"]

ANSWER_TOKENS = 128  # the longest answer of the templates
_CHAT_MARKS = 32  # tokens that a chat's own marks may take
_RANGE = re.compile(r"(?P<start>[\d.]+k?):(?P<stop>[\d.]+k?):(?P<count>\d+)", re.IGNORECASE)
_MOST_CELLS = 1_000_000


def grid_of(text: str, *, what: str, low: float, high: float) -> tuple[float, ...]:
    """ "1k:32k:15" (start:stop:count, evenly spaced, k = 1000) or "500,1000,2000" as numbers. Raises UsageError."""
    spaced = _RANGE.fullmatch(text.strip())
    try:
        if spaced:
            start, stop, count = _number(spaced["start"]), _number(spaced["stop"]), int(spaced["count"])
            if count < 1 or count > 10_000:
                raise ValueError
            step = (stop - start) / (count - 1) if count > 1 else 0.0
            values = [start + at * step for at in range(count)]
        else:
            values = [_number(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--{what} {text}: expected numbers such as 500,1000 or start:stop:count.") from None
    for value in values:
        if not low <= value <= high:
            raise UsageError(f"--{what} {text}: {value:g} is not from {low:g} to {high:g}.")
    return tuple(dict.fromkeys(values))


def _number(text: str) -> float:
    text = text.strip().lower()
    value = float(text.removesuffix("k")) * (1000 if text.endswith("k") else 1)
    if not math.isfinite(value):
        raise ValueError
    return value


def make_niah(**options: Any) -> NIAH:
    """`make_niah_async`, where no event loop runs."""
    return asyncio.run(make_niah_async(**options))


async def make_niah_async(
    *,
    models: Sequence[str] = (),
    lengths: str | Sequence[float] = "1k:32k:15",
    depths: str | Sequence[float] = "0:100:15",
    languages: Sequence[str] = ("en",),
    needles: Sequence[str] = ("number",),
    templates: Sequence[str] = ("simple",),
    haystack_source: str | Path = "essays",
    needle_file: Path | None = None,
    control: bool = True,
    repeat: int = 1,
    seed: int = 0,
    tokenizer: str | None = None,
    window: int | None = None,
    answer_tokens: int = ANSWER_TOKENS,
    lanes: int | None = None,
    keys: int = 4,
    values: int = 1,
    queries: int = 2,
    distractors: int = 3,
    model_options: ModelOptions | None = None,
) -> NIAH:
    """Plans every cell. `lengths`: tokens of prompt and answer together; `depths`: percent. `tokenizer`: who counts, by
    default the first model's own where somebody tells it. `window`: lengths beyond it are refused. Raises UsageError
    before anything is asked."""
    spans = grid_of(lengths, what="lengths", low=50, high=10_000_000) if isinstance(lengths, str) else tuple(lengths)
    places = grid_of(depths, what="depths", low=0, high=100) if isinstance(depths, str) else tuple(depths)
    for given, known, what in ((languages, ("en", "zh"), "language"), (needles, KINDS, "needle")):
        for asked_for in given:
            if asked_for not in known:
                raise UnknownName(what, asked_for, known)
    if any(not 0 <= depth <= 100 for depth in places):
        raise UsageError("A depth is a percentage, from 0 to 100.")
    if repeat < 1:
        raise UsageError(f"--repeat {repeat}: each cell is asked at least once.")
    if window is not None and max(spans) > window:
        raise UsageError(f"A length of {max(spans):,.0f} tokens is beyond the window of {window:,} (--window).")
    total = len(spans) * len(places) * len(languages) * len(needles) * len(templates) * repeat
    if total > _MOST_CELLS:
        raise UsageError(f"{total:,} cells are too many: ask for fewer lengths, depths or repeats.")
    held = {name: find_template(name) for name in dict.fromkeys(templates)}
    held = {one.name: one for one in held.values()}
    own = read_needles(needle_file) if needle_file is not None else ()
    counting = tokenizer or (models[0] if models else "") or "ragstone/estimate"
    settings = {
        "lengths": [round(length) for length in spans], "depths": list(places), "languages": list(languages),
        "needles": list(needles), "templates": list(held), "repeat": repeat, "haystack": str(haystack_source),
        "control": control,
    }  # fmt: skip
    made = {language: haystack(language, source=haystack_source) for language in languages}  # type: ignore[arg-type]
    async with open_counter(counting, model_options or ModelOptions()) as counter:
        hays: dict[tuple[str, int], Hay] = {}
        for language, hay_texts in made.items():
            for start in range(min(repeat, len(hay_texts.texts))):
                texts = (*hay_texts.texts[start:], *hay_texts.texts[:start])
                parts = parts_of(texts, language)
                *tokens, parting, whole = await counter.count([*parts, PARTING, "".join(parts)])
                hays[language, start] = make_hay(parts, tokens, parting=parting, whole=whole, language=language)
        planner = _Planner(counter, hays, held, answer_tokens, seed)
        cells = []
        for language in languages:
            for kind in needles:
                for number in range(repeat):
                    asked = [
                        (round(length), depth, make_needle(
                            kind, language, rng_of(seed, language, kind, round(length), depth, number), keys=keys,
                            values=values, queries=queries, distractors=distractors, own=own,
                        ))
                        for length in spans
                        for depth in places
                    ]  # fmt: skip
                    cells += await planner.cells(language, kind, number, asked, control=control)
        name = counter.id
    local = bool(models) and all(model.startswith("local/") for model in models)
    return NIAH(
        cells, hays, held, {language: one.sha256 for language, one in made.items()}, name, seed,
        lanes or (1 if local else 16), settings,
    )  # fmt: skip


@dataclasses.dataclass
class _Planner:
    counter: TokenCounter
    hays: dict[tuple[str, int], Hay]
    templates: dict[str, NeedleTemplate]
    answer_tokens: int
    seed: int

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
            controls: set[int] = set()
            for length, depth, one in asked:
                budget = length - overheads[name, one.question] - self.answer_tokens - _CHAT_MARKS
                plan = hay.plan(budget, _placed(one, depth, counts, rng_of(self.seed, language, kind, length, depth)))
                tokens = plan.tokens + overheads[name, one.question] + _CHAT_MARKS
                reached = _depth_of(hay, plan.sentences, plan.at[_first(plan.needles, one.needles[0])])
                found.append(
                    CellPlan(language, kind, name, length, depth, repeat, one, False, start, plan.sentences, plan.at,
                             plan.needles, tokens, reached, plan.before)
                )  # fmt: skip
                if control and length not in controls:
                    controls.add(length)
                    bare = hay.plan(budget, [])
                    tokens = bare.tokens + overheads[name, one.question] + _CHAT_MARKS
                    found.append(
                        CellPlan(language, kind, name, length, 100.0, repeat, one, True, start, bare.sentences, (), (),
                                 tokens, 100.0, bare.before)
                    )  # fmt: skip
        return found

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


def _depth_of(hay: Hay, sentences: int, at: int) -> float:
    whole = hay.tokens_of(sentences)
    return 100 * (hay.tokens_of(at) if at else 0) / whole if whole else 0.0
