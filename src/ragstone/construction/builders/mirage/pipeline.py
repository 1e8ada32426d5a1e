"""The construction of MIRAGE's files: its passes, and the rows that they give."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragstone.construction.builders.mirage.items import MappedQuestion
from ragstone.construction.builders.mirage.passes import (
    CHUNK,
    FindChunks,
    LabelSupport,
    ValidateByInference,
)
from ragstone.construction.builders.passes import Take
from ragstone.construction.builders.pipeline import Pass, Pipeline
from ragstone.construction.builders.steps import prompt_of
from ragstone.datasets.mirage import MirageChunk, MirageQuestion
from ragstone.retrieval.chunkers import chunk_passages

if TYPE_CHECKING:
    from ragstone.structs import JSON
    from ragstone.types import Passage

VERSION = 1


def mirage_pipeline(questions: Sequence[MappedQuestion], *, size: int) -> Pipeline:
    """The passes over mapped questions; the chunks of all their articles are searched."""
    articles = list({item.article.id: item.article for item in questions}.values())
    chunks = chunk_passages(articles, size=CHUNK, method="recursive")
    by_article: dict[str, list[Passage]] = {}
    for chunk in chunks:
        by_article.setdefault(str(chunk.meta["document"]), []).append(chunk)
    passes: list[Pass] = [FindChunks(by_article), LabelSupport(), ValidateByInference(), Take(size)]
    prompts: dict[str, JSON] = {name: prompt_of(name, "en").version for name in ("answering", "read")}
    return Pipeline("mirage", {"version": VERSION, "prompts": prompts}, passes, tuple(questions), tuple(chunks))


def mirage_rows(
    items: Sequence[MappedQuestion],
) -> tuple[list[MirageQuestion], list[MirageChunk], dict[str, list[MirageChunk]]]:
    """The questions, the pool and the oracle chunk of each question."""
    questions, pool = [], []
    oracle: dict[str, list[MirageChunk]] = {}
    for item in items:
        url, title = str(item.article.meta.get("url", "")), item.article.title
        questions.append(
            MirageQuestion(
                item.id, item.question.question, item.question.answers, item.question.source, title, url,
                len(item.supporting),
            )
        )  # fmt: skip
        rows = [
            MirageChunk(item.id, chunk.text, chunk.title, int(supports))
            for chunk, supports in zip(item.chunks, item.support, strict=True)
        ]
        pool += rows
        oracle[item.id] = [row for row in rows if row.support][:1]
    return questions, pool, oracle
