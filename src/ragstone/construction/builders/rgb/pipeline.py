"""The construction of RGB's files: three lists of passes, and the rows that they give."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ragstone.construction.builders.passes import Distinct, Take, states
from ragstone.construction.builders.pipeline import Pass, Pipeline
from ragstone.construction.builders.rgb.base import (
    CheckFromArticle,
    FindChunks,
    LabelChunks,
    Rank,
    RankPages,
    SearchPages,
    WriteEvents,
)
from ragstone.construction.builders.rgb.items import JoinedQuestion, NewsQuestion
from ragstone.construction.builders.rgb.variants import (
    AnsweredTogether,
    CheckReplaced,
    JoinQuestions,
    KnownByHeart,
    Pair,
    ReplaceAnswer,
    WriteFake,
)
from ragstone.construction.builders.steps import prompt_of
from ragstone.datasets.rgb import RGBRow, row_to_json
from ragstone.types import Passage

VERSION = 2
_LANGUAGES = ("en", "zh")


def rgb_pipeline(
    articles: Sequence[Passage], corpus: Sequence[Passage], *, size: int, web: str = "", rank: Rank | None = None
) -> Pipeline:  # fmt: skip
    """Questions with labelled chunks; then the pairs of them as one, and those that the checker knows by heart, with a
    false answer in their chunks. `web`: the search engine; without one the `corpus` (chunks) is searched. `rank` keeps
    the chunks of web pages that are nearest to the question."""
    searching: list[Pass] = [FindChunks()]
    if web:
        assert rank is not None
        searching = [SearchPages(), RankPages(rank)]
    passes: list[Pass] = [
        WriteEvents(), Distinct(lambda item: item.question), CheckFromArticle(), *searching, LabelChunks(),
        Take(size, lambda item: item.language, groups=len(_LANGUAGES)),
    ]  # fmt: skip
    prompts = {
        name: prompt_of(name, "en").version for name in ("event", "read", "answering", "fake", "replaced", "join")
    }
    settings: Mapping[str, Any] = {"version": VERSION, "search": web, "prompts": prompts}

    def then(questions: Sequence[NewsQuestion]) -> Sequence[Pipeline]:
        lists: list[list[Pass]] = [
            [Pair(), JoinQuestions(), AnsweredTogether()],
            [KnownByHeart(), WriteFake(), ReplaceAnswer(), CheckReplaced()],
        ]
        return [Pipeline("rgb", settings, variants, tuple(questions)) for variants in lists]

    return Pipeline("rgb", settings, passes, tuple(articles), tuple(corpus), then)


def question_rows(questions: Sequence[NewsQuestion], kind: Literal["base", "counterfactual"]) -> list[dict[str, Any]]:
    """The rows of `LANGUAGE_refine.json` (base) and `LANGUAGE_fact.json` (counterfactual)."""
    rows = (
        RGBRow(number, item.question, (item.answers,), (_texts(item.positive),), _texts(item.negative),
               item.positive_wrong, (item.fake,) if item.fake else ())
        for number, item in enumerate(questions)
    )  # fmt: skip
    return [row_to_json(row, kind) for row in rows]


def int_rows(questions: Sequence[JoinedQuestion]) -> list[dict[str, Any]]:
    """The rows of `LANGUAGE_int.json`. A negative chunk of one part that states the answer to the other is left out."""
    rows = []
    for number, item in enumerate(questions):
        groups = tuple(_texts(part.positive) for part in item.parts)
        slots = tuple(part.answers for part in item.parts)
        aliases = [alias for slot in slots for alias in slot]
        negative = [
            text for part in item.parts for text in _texts(part.negative) if not states(aliases, text, item.language)
        ]
        row = RGBRow(number, item.question, slots, groups, tuple(dict.fromkeys(negative)))
        rows.append(row_to_json(row, "integration"))
    return rows


def _texts(chunks: Sequence[Passage]) -> tuple[str, ...]:
    return tuple(chunk.text for chunk in chunks)
