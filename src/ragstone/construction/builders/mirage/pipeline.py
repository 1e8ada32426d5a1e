"""The construction of MIRAGE's files: mapped questions, the passes, and the rows that they give.

Questions are mapped to articles of a Wikipedia dump: by the title that their set names, else by a title that stands in
the question, checked by the passage that it comes with. The passes lead from mapped questions to MIRAGE's labels:
chunks, support, inference, title.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from ragstone.construction.builders.mirage.qa_sets import SourceQuestion
from ragstone.construction.builders.passes import (
    ANSWERING,
    READ,
    EachPass,
    LocalPass,
    ParsedPass,
    Reason,
    Take,
    is_right,
    numbered,
    states,
    with_title,
)
from ragstone.construction.builders.pipeline import Kept, Pass, Pipeline, Rejected, Replies, Search, rejected
from ragstone.construction.builders.steps import Task, prompt_of
from ragstone.datasets.mirage import MirageChunk, MirageQuestion
from ragstone.datasets.wikipedia import folded_title, read_articles
from ragstone.retrieval.chunkers import chunk_passages
from ragstone.structs import Frozen
from ragstone.text.wording import Wording
from ragstone.types import Passage

if TYPE_CHECKING:
    from ragstone.structs import JSON

_LONGEST = 8  # words of a title that is looked for in a question
_SHARED = 0.5  # share of the words of a question's passage that its article must have
_WORD = re.compile(r"\S+")
CHUNK, CHUNKS = 330, 5
"""Tokens of a chunk and chunks of a question, as in the paper."""
_NEAR_MISSES = 4
_SEARCHED = 50
VERSION = 1


class MappedQuestion(Frozen, frozen=True):
    """`chunks`: those that are labelled; `support`: for each, whether it states the answer."""

    language: ClassVar[str] = "en"  # of every published set
    question: SourceQuestion
    article: Passage
    chunks: tuple[Passage, ...] = ()
    support: tuple[bool, ...] = ()

    @property
    def id(self) -> str:
        return self.question.id

    @property
    def supporting(self) -> list[Passage]:
        """The chunks that state the answer, best first."""
        return [chunk for chunk, supports in zip(self.chunks, self.support, strict=True) if supports]

    @property
    def near_misses(self) -> list[Passage]:
        """The chunks that do not, best first."""
        return [chunk for chunk, supports in zip(self.chunks, self.support, strict=True) if not supports]


def map_questions(
    questions: Sequence[SourceQuestion], dump: Path, *, changed_after: str = ""
) -> tuple[list[MappedQuestion], list[Rejected]]:
    """The questions with their articles, one question for an article, and those that have none. `changed_after`: only
    articles whose revision is later (an ISO date), which no older model can have read. Raises DataError."""
    candidates = {question.id: list(_titles(question)) for question in questions}
    articles = read_articles(dump, {title for titles in candidates.values() for title in titles})
    mapped: list[MappedQuestion] = []
    dropped: list[Rejected] = []
    taken: set[str] = set()
    for question in questions:
        article = _fitting(question, [articles[title] for title in candidates[question.id] if title in articles])
        if article is None:
            dropped.append(rejected(question, "map", "no_article"))
        elif article.id in taken:
            dropped.append(rejected(question, "map", "article_taken", article.id))
        elif changed_after and str(article.meta.get("changed", ""))[:10] <= changed_after:
            dropped.append(rejected(question, "map", "article_too_old", str(article.meta.get("changed", ""))))
        else:
            taken.add(article.id)
            mapped.append(MappedQuestion(question, article))
    return mapped, dropped


def _titles(question: SourceQuestion) -> Iterator[str]:
    """Possible titles, folded: the named one, else runs of words of the question, the longest first."""
    if question.title:
        yield folded_title(question.title)
        return
    words = [word.strip("?.,!:;\"'“”‘’()") for word in _WORD.findall(question.question)]
    for length in range(min(_LONGEST, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if any(word[:1].isupper() for word in run[:1]):
                yield folded_title(" ".join(run))


def _fitting(question: SourceQuestion, articles: Sequence[Passage]) -> Passage | None:
    """The first article that has most words of the question's passage, if it comes with one."""
    if not question.passage:
        return articles[0] if articles else None
    wanted = frozenset(Wording()(question.passage))
    for article in articles:
        if len(wanted & frozenset(Wording()(article.text))) >= _SHARED * len(wanted):
            return article
    return None


@dataclass(frozen=True)
class FindChunks(LocalPass):
    """The chunks nearest to title and question, at least one of them from the question's article."""

    chunks: Mapping[str, Sequence[Passage]]
    name = "search"

    async def finish(self, items: Sequence[MappedQuestion], replies: Replies, search: Search, /) -> Kept:
        found = await search([f"{item.article.title} {item.question.question}" for item in items], k=_SEARCHED)
        kept = []
        for item, ranked in zip(items, found, strict=True):
            own = [chunk for chunk in ranked if chunk.meta.get("document") == item.article.id]
            own = own or list(self.chunks.get(item.article.id, ()))[:1]
            stating = [chunk for chunk in own if states(item.question.answers, chunk.text)][:1] or own[:1]
            rest = [chunk for chunk in ranked if chunk.id not in {chunk.id for chunk in stating}]
            kept.append(replace(item, chunks=tuple([*stating, *rest][:CHUNKS])))
        return kept, []


class LabelSupport(ParsedPass):
    """Asks which chunks answer the question. A label needs the answer in the chunk, too; a question needs a supporting
    chunk, one of them of its article (the title check), and four that do not support it."""

    name = "support"
    step = ANSWERING

    def shown(self, item: MappedQuestion, /) -> Mapping[str, Any]:
        passages = numbered(list(map(with_title, item.chunks)))
        return {"question": item.question.question, "passages": passages, "answer": [item.question.answers[0]]}

    def judge(self, item: MappedQuestion, reply: Any, /) -> MappedQuestion | Reason:
        support = tuple(
            number in reply.passages and states(item.question.answers, chunk.text)
            for number, chunk in enumerate(item.chunks, 1)
        )
        labelled = replace(item, support=support)
        if not labelled.supporting:
            return Reason("too_few_positive")
        if not any(chunk.meta.get("document") == item.article.id for chunk in labelled.supporting):
            return Reason("support_of_another_article")
        return labelled if len(labelled.near_misses) >= _NEAR_MISSES else Reason("too_few_near_misses")


class ValidateByInference(EachPass):
    """A reader must be right with the oracle chunk, right with it among four near misses, and wrong without any."""

    each = 3
    name = "inference"
    step = READ

    def tasks(self, items: Sequence[MappedQuestion], /) -> Iterator[Task]:
        for item in items:
            oracle, near = with_title(item.supporting[0]), list(map(with_title, item.near_misses[:_NEAR_MISSES]))
            for kind, texts in (("oracle", [oracle]), ("base", []), ("mixed", [*near[:2], oracle, *near[2:]])):
                shown = {"question": item.question.question, "passages": numbered(texts)}
                yield Task(f"{item.id}.{kind}", shown, item.language)

    def decide(self, item: MappedQuestion, replies: Replies, /) -> MappedQuestion | Reason:
        def right(kind: str) -> bool:
            return is_right(replies.get((f"{item.id}.{kind}", 0)), [item.question.answers])

        if not right("oracle"):
            return Reason("not_answerable_from_gold")
        if right("base"):
            return Reason("known_without_documents")
        return item if right("mixed") else Reason("wrong_among_near_misses")


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
