"""Reranking: what a first retriever found, put in another order by a model that reads query and passage together.

    rerank(bm25,openai/gpt-4o-mini)                        a chat model as judge, of lists
    rerank(bm25,openai/gpt-4o-mini,method=pointwise)       … of one passage at a time
    rerank(bm25,cohere/rerank-v3.5)                        a reranker behind an endpoint (jina, cohere, voyage, …)
    rerank(bm25,rerank/bge-reranker-v2-m3,url=http://localhost:8080)      … at any server with a /rerank path

`depth` (20) passages of the first retriever are judged. Further ones, where more are asked for, and passages without
text follow in the first retriever's order, below the least of those that were judged.

`method=listwise`, the default, shows the judge `window` (20) passages at once and takes the order that it gives them;
where `depth` is greater, the window slides from the end to the front by half its size, as in RankGPT (Sun et al. 2023,
https://arxiv.org/abs/2304.09542). Passages that it leaves out follow those that it names. Scores are 1 / place: it
gives an order and nothing more. `method=pointwise` asks for a grade from 0 to 3 of each passage alone, as test
collections are judged; grades are the scores, and ties stay in the first retriever's order. It takes `depth` requests a
query, but a passage that two retrievers find is judged once.

`title=yes` shows a passage's title before its text. `url` is the address of the model's endpoint, `tokens` (4096) the
longest reply of a chat model, its thoughts included. `facts` tell what it took, and for how many questions or passages
the search did without the model (`retrieval/llm_ranking.py`).
"""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from ragstone.errors import ContentBlocked, Rejected, UsageError
from ragstone.models import open_model
from ragstone.models.rerank import Reranker, is_reranker, open_reranker
from ragstone.retrieval.llm_ranking import LONGEST, Asker, Done, all_of, prompt_for
from ragstone.retrieval.names import Spec
from ragstone.retrieval.open import Building, facts_of
from ragstone.types import Model, Passage, Retriever

__all__ = ["PLUGINS", "Judge", "Listwise", "Pointwise", "Reranked", "Scoring", "open_rerank"]

_DEPTH = 20
_WINDOW = 20
_GRADES = (0, 1, 2, 3)
_EXAMPLE = "rerank(bm25,openai/gpt-4o-mini)"


class Judge(Protocol):
    """Orders texts for a query: pairs of (index of the text, score), the best first, every index once. None where it
    has nothing to say: the order stays as it is."""

    @property
    def facts(self) -> Mapping[str, Any]: ...
    async def order(self, query: str, texts: Sequence[str], /) -> list[tuple[int, float]] | None: ...


class _Ranking(msgspec.Struct):
    ranking: list[int]


class _Grade(msgspec.Struct):
    grade: int


_RANKING_FORM = {
    "type": "object", "properties": {"ranking": {"type": "array", "items": {"type": "integer"}}},
    "required": ["ranking"], "additionalProperties": False,
}  # fmt: skip
_GRADE_FORM = {
    "type": "object", "properties": {"grade": {"type": "integer", "enum": list(_GRADES)}},
    "required": ["grade"], "additionalProperties": False,
}  # fmt: skip


class Listwise:
    """A chat model that is shown up to `window` texts at once and says in which order they should be."""

    def __init__(self, model: Model, *, window: int = _WINDOW, longest: int = LONGEST) -> None:
        self._asker, self._window = Asker(model, "Reranking", longest=longest), window

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"method": "listwise", "window": self._window, **self._asker.facts}

    async def order(self, query: str, texts: Sequence[str], /) -> list[tuple[int, float]] | None:
        """The order, with 1 / place as scores. Where a window had no usable reply it stays as it was; None where none
        had."""
        order = list(range(len(texts)))
        start, heeded = max(0, len(texts) - self._window), False
        while True:
            some = order[start : start + self._window]
            if (ranking := await self._ranked(query, [texts[index] for index in some])) is not None:
                order[start : start + self._window] = [some[place] for place in ranking]
                heeded = True
            if start == 0:
                break
            start = max(0, start - self._window // 2)
        return [(index, 1 / place) for place, index in enumerate(order, start=1)] if heeded else None

    async def _ranked(self, query: str, texts: Sequence[str]) -> list[int] | None:
        """All places of `texts`, the best first."""
        shown = {"query": query, "passages": {str(number): text for number, text in enumerate(texts, start=1)}}

        def check(reply: _Ranking) -> str:
            if not reply.ranking:
                return "it ranks no passage"
            wrong = [number for number in reply.ranking if not 1 <= number <= len(texts)]
            return f"there is no passage {wrong[0]}, only 1 to {len(texts)}" if wrong else ""

        reply = await self._asker.ask(prompt_for("rerank_list", query), shown, _Ranking, _RANKING_FORM, check)
        if reply is None:
            return None
        # A number that is there twice counts where it is first; one that is missing comes after all others.
        return list(dict.fromkeys([*(number - 1 for number in reply.ranking), *range(len(texts))]))


class Pointwise:
    """A chat model that grades each text alone, from 0 to 3."""

    def __init__(self, model: Model, *, longest: int = LONGEST) -> None:
        self._asker = Asker(model, "Reranking", longest=longest)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"method": "pointwise", **self._asker.facts}

    async def order(self, query: str, texts: Sequence[str], /) -> list[tuple[int, float]] | None:
        """By grade, ties as they were. A text without a usable grade keeps its place, and has the grade of the text
        before it (the first one that of the text behind it)."""
        grades = await all_of(self._grade(query, text) for text in texts)
        graded = [(index, float(grade)) for index, grade in enumerate(grades) if grade is not None]
        if not graded:
            return None
        graded.sort(key=lambda one: -one[1])
        last, following, order = graded[0][1], iter(graded), []
        for index, grade in enumerate(grades):
            if grade is None:
                order.append((index, last))
            else:
                order.append(next(following))
                last = order[-1][1]
        return order

    async def _grade(self, query: str, text: str) -> int | None:
        def check(reply: _Grade) -> str:
            return "" if reply.grade in _GRADES else f"there is no grade {reply.grade}, only 0 to 3"

        shown = {"query": query, "passage": text}
        reply = await self._asker.ask(prompt_for("rerank_point", query), shown, _Grade, _GRADE_FORM, check)
        return None if reply is None else reply.grade


class Scoring:
    """A reranker behind an endpoint: its scores, the highest first, ties as they were."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._done = Done(reranker.id, "Reranking")

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"method": "endpoint", **self._done.facts}

    async def order(self, query: str, texts: Sequence[str], /) -> list[tuple[int, float]] | None:
        """None where the endpoint refuses this query or one of these texts."""
        try:
            scores = await self._reranker.rerank(query, texts)
        except (ContentBlocked, Rejected) as error:
            self._done.refused(error)
            return None
        self._done.heard(scores.usage)
        self._done.answered += 1
        return sorted(enumerate(scores.scores), key=lambda one: -one[1])


class Reranked:
    """`first`, whose best `depth` passages a judge puts in order. `title`: their titles are shown too."""

    def __init__(self, name: str, first: Retriever, judge: Judge, *, depth: int = _DEPTH, title: bool = False) -> None:
        self.id, self._first, self._judge, self._depth, self._title = name, first, judge, depth, title

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the judge took so far, and the facts of the first retriever."""
        inner = facts_of(self._first)
        size = {"index_bytes": inner["index_bytes"]} if "index_bytes" in inner else {}
        return {"depth": self._depth, **self._judge.facts, "first": {self._first.id: inner}, **size}

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages a query. A query for which the judge has nothing to say has the first retriever's
        passages, with its scores. Raises what the first retriever raises, and what may pass or is wrong for every
        query (`retrieval/llm_ranking.py`)."""
        if k < 1:
            return [[] for _ in queries]
        lists = await self._first.retrieve(queries, k=max(k, self._depth))
        ordered = await all_of(self._ordered(query, its) for query, its in zip(queries, lists, strict=True))
        return [its[:k] for its in ordered]

    async def _ordered(self, query: str, passages: Sequence[Passage]) -> list[Passage]:
        judged = [passage for passage in passages[: self._depth] if self._text(passage).strip()]
        if not judged or not query.strip():
            return list(passages)
        order = await self._judge.order(query, [self._text(passage) for passage in judged])
        if order is None:
            return list(passages)
        least = min(score for _, score in order)
        judged_ids = {passage.id for passage in judged}
        rest = [passage for passage in passages if passage.id not in judged_ids]
        return [
            *(msgspec.structs.replace(judged[index], score=score) for index, score in order),
            *(msgspec.structs.replace(passage, score=least - place) for place, passage in enumerate(rest, start=1)),
        ]

    def _text(self, passage: Passage) -> str:
        return f"{passage.title}\n{passage.text}" if self._title and passage.title else passage.text


@contextlib.asynccontextmanager
async def open_rerank(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """The retriever, and the model that puts in order. Raises UsageError, MissingKey, and what opening one raises."""
    spec.only("depth", "method", "window", "title", "url", "tokens")
    if len(spec.arguments) != 2 or "/" not in spec.arguments[1]:
        raise UsageError(f"{spec.name}: rerank takes a retriever and a model, for example {_EXAMPLE}.")
    inner, model = spec.arguments
    depth, title, method = spec.count("depth", _DEPTH), spec.options.get("title", "no"), spec.options.get("method")
    if title not in ("yes", "no"):
        raise UsageError(f"{spec.name}: title={title} should be yes or no.")
    if method not in (None, "listwise", "pointwise"):
        raise UsageError(f"{spec.name}: method={method} should be listwise or pointwise.")
    if is_reranker(model) and {"method", "window", "tokens"} & spec.options.keys():
        raise UsageError(
            f"{spec.name}: method, window and tokens are for chat models; {model} scores passages by itself."
        )
    if method == "pointwise" and "window" in spec.options:
        raise UsageError(f"{spec.name}: window is an option of method=listwise.")
    window = spec.count("window", _WINDOW, least=2)
    longest = spec.count("tokens", LONGEST)
    # The model first: that it cannot be is told before an index is built.
    async with contextlib.AsyncExitStack() as stack:
        judge: Judge
        url = spec.options.get("url", "")
        if is_reranker(model):
            judge = Scoring(await stack.enter_async_context(open_reranker(model, building.options, url=url)))
        else:
            chat_model = await stack.enter_async_context(open_model(model, building.calling(spec)))
            pointwise = method == "pointwise"
            judge = (
                Pointwise(chat_model, longest=longest)
                if pointwise
                else Listwise(chat_model, window=window, longest=longest)
            )
        first = await stack.enter_async_context(building.open(inner))
        yield Reranked(spec.name, first, judge, depth=depth, title=title == "yes")


PLUGINS = {"rerank": open_rerank}
