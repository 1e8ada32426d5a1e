"""Reranking: a model that reads query and passage together reorders the results of a first retriever.

    rerank(bm25,openai/gpt-4o-mini)                        a chat model that ranks lists
    rerank(bm25,openai/gpt-4o-mini,method=pointwise)       … or grades one passage at a time
    rerank(bm25,cohere/rerank-v3.5)                        a reranker behind an endpoint (jina, cohere, voyage, …)
    rerank(bm25,rerank/bge-reranker-v2-m3,url=http://localhost:8080)      … or at any server with a /rerank path
    rerank(bm25,mine.py:score), rerank(bm25,http(URL))     your own code or address (`models/rerank_own.py`)

The first `depth` (20) passages are reranked. Further ones, if requested, and passages without text follow in the first
retriever's order, with lower scores.

`method=listwise`, the default, shows the model `window` (20) passages at a time and uses its order. If `depth` is
greater, the window slides from the end to the front by half its size, as in RankGPT (Sun et al. 2023,
https://arxiv.org/abs/2304.09542). Passages that the model omits follow those that it ranks. Scores are 1 / rank.
`method=pointwise` requests a grade from 0 to 3 for each passage alone, as in test collections. Grades are the scores;
ties keep the first retriever's order. It takes `depth` requests per query, but a passage that two retrievers find is
graded once.

`title=yes` shows the title before the text. `url` is the base URL of the model's endpoint, `tokens` (4096) the maximum
length of a chat model's reply, reasoning included. `facts` have the model's usage and the number of questions or
passages that were handled without it (`retrieval/llm_ranking.py`).
"""

import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated, Any, Protocol

import msgspec

from ragstone.errors import ContentBlocked, Rejected, UsageError
from ragstone.models import open_model
from ragstone.models.concurrency import gather_all
from ragstone.models.nested_names import Spec, is_http
from ragstone.models.rerank import Reranker, is_reranker, open_reranker
from ragstone.models.rerank_own import open_own_reranker
from ragstone.registry import is_place
from ragstone.retrieval.llm_ranking import LONGEST, RERANKING, ModelStats, StructuredChat, prompt_for
from ragstone.retrieval.open import facts_of_inner
from ragstone.retrieval.registry import Building
from ragstone.retrieval.search_log import current_log
from ragstone.types import Model, Passage, Retriever

_DEPTH = 20
_WINDOW = 20
_GRADES = (0, 1, 2, 3)
_EXAMPLE = "rerank(bm25,openai/gpt-4o-mini)"


class Judge(Protocol):
    """Orders texts for a query: (index of the text, score), best first, every index once. None keeps the order."""

    @property
    def facts(self) -> Mapping[str, Any]: ...
    async def order(self, query: str, texts: Sequence[str], /) -> list[tuple[int, float]] | None: ...


class _Ranking(msgspec.Struct):
    ranking: list[int]


class _Grade(msgspec.Struct):
    grade: Annotated[int, msgspec.Meta(extra_json_schema={"type": "integer", "enum": list(_GRADES)})]


class Listwise:
    """A chat model that orders up to `window` texts at a time."""

    def __init__(self, model: Model, *, window: int = _WINDOW, longest: int = LONGEST) -> None:
        self._chat, self._window = StructuredChat(model, RERANKING, longest=longest), window

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"method": "listwise", "window": self._window, **self._chat.facts}

    async def order(self, query: str, texts: Sequence[str], /) -> list[tuple[int, float]] | None:
        """The order, with 1 / rank as scores. A window without a usable reply keeps its order; None if no window had
        one."""
        order = list(range(len(texts)))
        start, replied = max(0, len(texts) - self._window), False
        while True:
            some = order[start : start + self._window]
            if (ranking := await self._ranked(query, [texts[index] for index in some])) is not None:
                order[start : start + self._window] = [some[place] for place in ranking]
                replied = True
            if start == 0:
                break
            start = max(0, start - self._window // 2)
        return [(index, 1 / place) for place, index in enumerate(order, start=1)] if replied else None

    async def _ranked(self, query: str, texts: Sequence[str]) -> list[int] | None:
        """The indices of `texts`, best first; None without a usable reply."""
        shown = {"query": query, "passages": {str(number): text for number, text in enumerate(texts, start=1)}}

        def check(reply: _Ranking) -> str:
            if not reply.ranking:
                return "it ranks no passage"
            wrong = [number for number in reply.ranking if not 1 <= number <= len(texts)]
            return f"there is no passage {wrong[0]}, only 1 to {len(texts)}" if wrong else ""

        reply = await self._chat.ask(prompt_for("rerank_list", query), shown, _Ranking, check)
        if reply is None:
            return None
        # The first occurrence of a number counts; missing numbers come last.
        return list(dict.fromkeys([*(number - 1 for number in reply.ranking), *range(len(texts))]))


class Pointwise:
    """A chat model that grades each text alone, from 0 to 3."""

    def __init__(self, model: Model, *, longest: int = LONGEST) -> None:
        self._chat = StructuredChat(model, RERANKING, longest=longest)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"method": "pointwise", **self._chat.facts}

    async def order(self, query: str, texts: Sequence[str], /) -> list[tuple[int, float]] | None:
        """By grade; ties keep their order. A text without a usable grade keeps its position and takes the grade of the
        text before it (at the start, the highest grade). None if no text has a grade."""
        grades = await gather_all(*(self._grade(query, text) for text in texts))
        graded = [(index, float(grade)) for index, grade in enumerate(grades) if grade is not None]
        if not graded:
            return None
        graded.sort(key=lambda pair: -pair[1])
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
        reply = await self._chat.ask(prompt_for("rerank_point", query), shown, _Grade, check)
        return None if reply is None else reply.grade


class Scoring:
    """A reranker behind an endpoint: its scores, highest first; ties keep their order."""

    def __init__(self, reranker: Reranker) -> None:
        self._reranker = reranker
        self._stats = ModelStats(reranker.id, RERANKING)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"method": "endpoint", **self._stats.facts}

    async def order(self, query: str, texts: Sequence[str], /) -> list[tuple[int, float]] | None:
        """None if the endpoint rejects the query or one of the texts."""
        try:
            scores = await self._reranker.rerank(query, texts)
        except (ContentBlocked, Rejected) as error:
            self._stats.add_rejection(error)
            return None
        self._stats.add_usage(scores.usage)
        self._stats.answered += 1
        return sorted(enumerate(scores.scores), key=lambda pair: -pair[1])


class Reranked:
    """The results of `first` with the best `depth` passages reordered by `judge`. `title`: show it titles too."""

    def __init__(self, name: str, first: Retriever, judge: Judge, *, depth: int = _DEPTH, title: bool = False) -> None:
        self.id, self._first, self._judge, self._depth, self._title = name, first, judge, depth, title

    @property
    def facts(self) -> Mapping[str, Any]:
        """The judge's usage so far, and the facts of the first retriever."""
        return {"depth": self._depth, **self._judge.facts, **facts_of_inner(self._first)}

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query. If the judge has no order for a query, its passages and scores are the first
        retriever's. Raises the first retriever's errors, and model errors that are temporary or concern every query
        (`retrieval/llm_ranking.py`)."""
        if k < 1:
            return [[] for _ in queries]
        log, started = current_log(), time.perf_counter()
        before = log.rewrite_seconds if log is not None else 0.0
        lists = await self._first.retrieve(queries, k=max(k, self._depth))
        if log is not None and log.fetched is None:  # the innermost reranker's
            log.fetched = tuple(lists[0])
            log.seconds = time.perf_counter() - started - (log.rewrite_seconds - before)
        ordered = await gather_all(*map(self._ordered, queries, lists))
        return [passages[:k] for passages in ordered]

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
    """Opens the first retriever and the model. Raises UsageError, MissingKey and the errors of opening them."""
    spec.only("depth", "method", "window", "title", "url", "tokens")
    if len(spec.arguments) != 2 or not ("/" in spec.arguments[1] or is_place(spec.arguments[1])):
        raise UsageError(f"{spec.name}: rerank takes a retriever and a model, for example {_EXAMPLE}.")
    inner, model = spec.arguments
    depth, title, method = spec.count("depth", _DEPTH), spec.flag("title"), spec.options.get("method")
    if method not in (None, "listwise", "pointwise"):
        raise UsageError(f"{spec.name}: method={method} should be listwise or pointwise.")
    if (is_reranker(model) or is_http(model)) and {"method", "window", "tokens"} & spec.options.keys():
        raise UsageError(
            f"{spec.name}: method, window and tokens are for chat models; {model} scores passages by itself."
        )
    if method == "pointwise" and "window" in spec.options:
        raise UsageError(f"{spec.name}: window is an option of method=listwise.")
    window = spec.count("window", _WINDOW, least=2)
    longest = spec.count("tokens", LONGEST)
    # The model first: its errors should come before an index is built.
    async with contextlib.AsyncExitStack() as stack:
        judge: Judge
        url = spec.options.get("url", "")
        own: Reranker | None = None
        if is_http(model) or (is_place(model) and method is None):
            own = await stack.enter_async_context(open_own_reranker(model, building.options))
        if own is not None:
            judge = Scoring(own)
        elif is_reranker(model):
            judge = Scoring(await stack.enter_async_context(open_reranker(model, building.options, url=url)))
        else:
            chat_model = await stack.enter_async_context(open_model(model, building.calling(spec)))
            if method == "pointwise":
                judge = Pointwise(chat_model, longest=longest)
            else:
                judge = Listwise(chat_model, window=window, longest=longest)
        first = await stack.enter_async_context(building.open(inner))
        yield Reranked(spec.name, first, judge, depth=depth, title=title)


PLUGINS = {"rerank": open_rerank}
