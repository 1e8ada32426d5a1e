"""The passes from articles to questions with labelled chunks, of which RGB makes noise and rejection."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from ragstone.construction.builders.passes import (
    ANSWERING,
    READ,
    AskPass,
    BasePass,
    LocalPass,
    ParsedPass,
    Reason,
    is_right,
    numbered,
    states,
)  # fmt: skip
from ragstone.construction.builders.pipeline import Kept, Rejected, Replies, Search, rejected
from ragstone.construction.builders.rgb.items import NewsQuestion
from ragstone.construction.builders.steps import Step, Task, content_id
from ragstone.construction.builders.web_search import FoundPage
from ragstone.retrieval.chunkers import chunk_passages
from ragstone.text import detect
from ragstone.text.quotes import find_quote
from ragstone.types import Passage

CHUNK, TOP = 300, 30
"""Tokens of a chunk and chunks for a question, as in the paper."""
_PAGES = 10
_EVENTS = 2  # of an article, as the prompt says
_LONGEST_ARTICLE = 12_000  # characters of an article that the writer sees

Rank: TypeAlias = Callable[[str, Sequence[Passage]], Awaitable[Sequence[Passage]]]
"""The chunks nearest to a question, best first."""


class _Event(msgspec.Struct):
    event: str
    question: str
    answer: str
    aliases: list[str]
    kind: str
    evidence: str


class _Events(msgspec.Struct):
    events: list[_Event]


class _Pages(msgspec.Struct):
    pages: list[FoundPage]


EVENT = Step("event", _Events)
SEARCH = Step("search", _Pages)


class WriteEvents(BasePass):
    """Asks for the events of each article, with a question about each. One stays if its evidence stands in the article
    and states the answer, and if the question does not give it away."""

    name = "event"
    step = EVENT
    role = "writer"

    def tasks(self, items: Sequence[Passage], /) -> Iterator[Task]:
        for article in items:
            shown = {"title": article.title, "article": article.text[:_LONGEST_ARTICLE], "date": _date(article)}
            yield Task(content_id(article.id, article.text), shown, detect(article.text))

    def most(self, entered: int, /) -> int:
        """Two events of each article."""
        return _EVENTS * entered

    async def finish(self, items: Sequence[Passage], replies: Replies, search: Search, /) -> Kept:
        kept: list[NewsQuestion] = []
        dropped: list[Rejected] = []
        for article in items:
            reply = replies[content_id(article.id, article.text), 0]
            if reply.value is None:
                dropped.append(rejected(article, self.name, "no_usable_reply", reply.problem))
            for event in [] if reply.value is None else reply.value.events[:_EVENTS]:
                question, reason = _checked(article, event)
                if reason:
                    dropped.append(rejected(question, self.name, reason))
                else:
                    kept.append(question)
        return kept, dropped


def _date(article: Passage) -> str:
    return str(article.meta.get("date", ""))


def _checked(article: Passage, event: _Event) -> tuple[NewsQuestion, str]:
    answers = tuple(dict.fromkeys(text.strip() for text in (event.answer, *event.aliases) if text.strip()))
    place = find_quote(event.evidence, article.text) if event.evidence.strip() else None
    evidence = event.evidence if place is None else article.text[slice(*place)]
    question = NewsQuestion(
        f"n-{content_id(article.id, event.question, *answers)}", detect(event.question), article,
        " ".join(event.question.split()), answers, event.kind.strip(), evidence,
    )  # fmt: skip
    if not question.question or not answers:
        return question, "incomplete_fact"
    if place is None:
        return question, "evidence_not_in_text"
    if not states(answers, evidence):
        return question, "answer_not_in_evidence"
    return question, "answer_in_question" if states(answers, question.question) else ""


class CheckFromArticle(AskPass):
    """A reader must answer rightly from the article."""

    name = "check"
    step = READ

    def shown(self, item: NewsQuestion, /) -> Mapping[str, Any]:
        return {"question": item.question, "passages": numbered([item.article.text[:_LONGEST_ARTICLE]])}

    def decide(self, item: NewsQuestion, replies: Replies, /) -> NewsQuestion | Reason:
        right = is_right(replies.get((item.id, 0)), [item.answers])
        return item if right else Reason("not_answerable_from_gold")


class SearchPages(AskPass):
    """Searches the web for each question, and cuts the pages and the article into chunks."""

    name = "search"
    step = SEARCH
    role = "searcher"

    def shown(self, item: NewsQuestion, /) -> Mapping[str, Any]:
        return {"query": item.question, "count": _PAGES}

    def decide(self, item: NewsQuestion, replies: Replies, /) -> NewsQuestion | Reason:
        found = [Passage(page.url, page.text, page.title) for page in replies[item.id, 0].value.pages if page.text]
        pages = list({page.id: page for page in [item.article, *found]}.values())
        return replace(item, found=tuple(chunk_passages(pages, size=CHUNK)))


@dataclass(frozen=True)
class RankPages(LocalPass):
    """Keeps the chunks of the pages that are nearest to the question."""

    rank: Rank
    name = "rank"

    async def finish(self, items: Sequence[NewsQuestion], replies: Replies, search: Search, /) -> Kept:
        return [replace(item, found=tuple(await self.rank(item.question, item.found))[:TOP]) for item in items], []


class FindChunks(LocalPass):
    """Without the web: the chunks of the corpus that are nearest to the question."""

    name = "search"

    async def finish(self, items: Sequence[NewsQuestion], replies: Replies, search: Search, /) -> Kept:
        found = await search([item.question for item in items], k=TOP)
        return [replace(item, found=tuple(chunks)) for item, chunks in zip(items, found, strict=True)], []


class LabelChunks(ParsedPass):
    """Labels the chunks: positive where the answer stands and the checker says that it answers the question, negative
    where neither is so; what the two disagree on is left out. A question needs both kinds."""

    name = "label"
    step = ANSWERING

    def shown(self, item: NewsQuestion, /) -> Mapping[str, Any] | None:
        passages = numbered([chunk.text for chunk in item.found])
        return {"question": item.question, "passages": passages, "answer": [item.answers[0]]} if passages else None

    def decide(self, item: NewsQuestion, replies: Replies, /) -> Any:
        return super().decide(item, replies) if item.found else Reason("no_usable_reply")

    def judge(self, item: NewsQuestion, reply: Any, /) -> NewsQuestion | Reason:
        positive, negative = list[Passage](), list[Passage]()
        for number, chunk in enumerate(item.found, 1):
            stated = states(item.answers, chunk.text, item.language)
            if stated == (number in reply.passages):
                (positive if stated else negative).append(chunk)
        if not positive:
            return Reason("too_few_positive")
        if not negative:
            return Reason("too_few_negative")
        return replace(item, positive=tuple(positive), negative=tuple(negative), found=())
