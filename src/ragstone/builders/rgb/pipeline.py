"""The construction of RGB's files: three lists of passes, and the rows that they give."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragstone.builders.passes import Distinct, Take
from ragstone.builders.pipeline import Pass, Pipeline
from ragstone.builders.rgb.base import (
    CheckFromArticle,
    FindChunks,
    LabelChunks,
    Rank,
    RankPages,
    SearchPages,
    WriteEvents,
)
from ragstone.builders.rgb.items import JoinedQuestion, NewsQuestion
from ragstone.builders.rgb.variants import (
    AnsweredTogether,
    CheckReplaced,
    JoinQuestions,
    KnownByHeart,
    Pair,
    ReplaceAnswer,
    WriteFake,
)
from ragstone.builders.steps import prompt_of
from ragstone.datasets.rgb import RGBRow, row_to_json
from ragstone.text import find_answer
from ragstone.types import Passage

__all__ = ["base_pipeline", "base_rows", "fact_pipeline", "fact_rows", "int_rows", "integration_pipeline"]

VERSION = 2


def base_pipeline(
    articles: Sequence[Passage], corpus: Sequence[Passage], *, size: int, web: str = "", rank: Rank | None = None
) -> Pipeline:  # fmt: skip
    """Questions with labelled chunks. `web`: the search engine; without one the `corpus` (chunks) is searched. `rank`
    keeps the chunks of web pages that are nearest to the question."""
    searching: list[Pass] = [FindChunks()]
    if web:
        assert rank is not None
        searching = [SearchPages(), RankPages(rank)]
    passes: list[Pass] = [
        WriteEvents(), Distinct(lambda item: item.question), CheckFromArticle(), *searching, LabelChunks(),
        Take(size, lambda item: item.language),
    ]  # fmt: skip
    return Pipeline("rgb", _settings(web), passes, tuple(articles), tuple(corpus))


def fact_pipeline(questions: Sequence[NewsQuestion], *, web: str = "") -> Pipeline:
    """Questions that the checker knows by heart, with a false answer in their chunks."""
    passes: list[Pass] = [KnownByHeart(), WriteFake(), ReplaceAnswer(), CheckReplaced()]
    return Pipeline("rgb", _settings(web), passes, tuple(questions))


def integration_pipeline(questions: Sequence[NewsQuestion], *, web: str = "") -> Pipeline:
    """Pairs of questions as one."""
    return Pipeline("rgb", _settings(web), [Pair(), JoinQuestions(), AnsweredTogether()], tuple(questions))


def _settings(web: str) -> Mapping[str, Any]:
    steps = ("event", "read", "answering", "fake", "replaced", "join")
    return {"version": VERSION, "search": web, "prompts": {name: prompt_of(name, "en").version for name in steps}}


def base_rows(questions: Sequence[NewsQuestion]) -> list[dict[str, Any]]:
    """The rows of `LANGUAGE_refine.json`."""
    rows = (
        RGBRow(number, item.question, (item.answers,), (_texts(item.positive),), _texts(item.negative))
        for number, item in enumerate(questions)
    )
    return [row_to_json(row, "base") for row in rows]


def fact_rows(questions: Sequence[NewsQuestion]) -> list[dict[str, Any]]:
    """The rows of `LANGUAGE_fact.json`."""
    return [
        row_to_json(
            RGBRow(number, item.question, (item.answers,), (_texts(item.positive),), _texts(item.negative),
                   item.positive_wrong, (item.fake,)),
            "counterfactual",
        )
        for number, item in enumerate(questions)
    ]  # fmt: skip


def int_rows(questions: Sequence[JoinedQuestion]) -> list[dict[str, Any]]:
    """The rows of `LANGUAGE_int.json`. A negative chunk of one part that states the answer to the other is left out."""
    rows = []
    for number, item in enumerate(questions):
        groups = tuple(_texts(part.positive) for part in item.parts)
        slots = tuple(part.answers for part in item.parts)
        aliases = [alias for slot in slots for alias in slot]
        negative = [
            text
            for part in item.parts
            for text in _texts(part.negative)
            if not any(find_answer(alias, text, item.language) for alias in aliases)
        ]
        row = RGBRow(number, item.question, slots, groups, tuple(dict.fromkeys(negative)))
        rows.append(row_to_json(row, "integration"))
    return rows


def _texts(chunks: Sequence[Passage]) -> tuple[str, ...]:
    return tuple(chunk.text for chunk in chunks)
