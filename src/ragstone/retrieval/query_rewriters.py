"""Query rewriting: a chat model rewrites the question, and a retriever searches with the result.

    rewrite(bm25,openai/gpt-4o-mini)             one query instead of the question
    multiquery(bm25,openai/gpt-4o-mini,n=3)      the question and n more queries, their lists fused

`multiquery` fuses by reciprocal rank as `hybrid` does (`k`, 60), using `depth` passages per query (100, or the number
requested if that is more). The question itself is always one of the queries; the others are fewer than `n` if the
model writes fewer distinct ones.

Without a usable reply the question is searched for unchanged and counted in `facts` (`retrieval/llm_ranking.py`).
`facts` also show the first few questions with their queries. `url` is the base URL of the model's endpoint, `tokens`
(4096) the maximum length of a reply, reasoning included.
"""

import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from ragstone.errors import UsageError
from ragstone.models import open_model
from ragstone.models.concurrency import gather_all
from ragstone.models.nested_names import Spec, parse
from ragstone.retrieval.fusion import fuse
from ragstone.retrieval.llm_ranking import LONGEST, StructuredChat, prompt_for
from ragstone.retrieval.open import facts_of_inner
from ragstone.retrieval.registry import Building
from ragstone.retrieval.search_log import current_log
from ragstone.types import Model, Passage, Retriever

_OTHERS = 3
_DEPTH = 100
_CONSTANT = 60.0
_EXAMPLES = 5  # questions shown in `facts` with their queries
# Maximum characters of a query, and as a multiple of the question; a longer one is an answer or a repetition.
_LONGEST, _LONGER = 300, 3


class _Query(msgspec.Struct):
    query: str


class _Queries(msgspec.Struct):
    queries: list[str]


class _Examples:
    """The first questions with the queries that were searched for."""

    def __init__(self) -> None:
        self._queries: dict[str, list[str]] = {}

    def add(self, question: str, queries: Sequence[str]) -> None:
        if len(self._queries) < _EXAMPLES:
            self._queries.setdefault(question, list(queries))

    @property
    def facts(self) -> list[dict[str, Any]]:
        return [{"question": question, "searched": queries} for question, queries in self._queries.items()]


class Rewritten:
    """Searches `first` with each question as rewritten by `model`."""

    def __init__(self, name: str, first: Retriever, model: Model, *, longest: int = LONGEST) -> None:
        self.id, self._first, self._examples = name, first, _Examples()
        self._chat = StructuredChat(model, "Query rewriting", longest=longest)

    @property
    def facts(self) -> Mapping[str, Any]:
        """Usage of the model so far, examples, and the facts of the inner retriever."""
        return {**self._chat.facts, "examples": self._examples.facts, **facts_of_inner(self._first)}

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """The inner retriever's passages and scores for each rewritten query. Raises its errors, and model errors that
        are temporary or concern every question."""
        if k < 1:
            return [[] for _ in queries]
        if not _rewrites():
            return await self._first.retrieve(queries, k=k)
        started = time.perf_counter()
        rewritten = await gather_all(*map(self._rewritten, queries))
        _note(rewritten, time.perf_counter() - started)
        return await self._first.retrieve(rewritten, k=k)

    async def _rewritten(self, question: str) -> str:
        if not question.strip():
            return question

        def check(reply: _Query) -> str:
            return _problem(reply.query, question)

        reply = await self._chat.ask(prompt_for("rewrite", question), {"question": question}, _Query, check)
        if reply is None:
            return question
        query = _plain(reply.query)
        self._examples.add(question, [query])
        return query


class MultiQuery:
    """Searches `first` with each question and up to `others` more queries from `model`, and fuses the lists. `order`:
    id → position in the pool, for ties."""

    def __init__(
        self,
        name: str,
        first: Retriever,
        model: Model,
        *,
        order: Mapping[str, int],
        others: int = _OTHERS,
        constant: float = _CONSTANT,
        depth: int = _DEPTH,
        longest: int = LONGEST,
    ) -> None:
        self.id, self._first, self._order = name, first, order
        self._others, self._constant, self._depth = others, constant, depth
        self._chat = StructuredChat(model, "Query expansion", longest=longest)
        self._examples = _Examples()

    @property
    def facts(self) -> Mapping[str, Any]:
        """The settings, usage of the model so far, examples, and the facts of the inner retriever."""
        how = {"n": self._others, "k": self._constant, "depth": self._depth}
        return {**how, **self._chat.facts, "examples": self._examples.facts, **facts_of_inner(self._first)}

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per question; scores are sums of 1 / (constant + rank), ties keep the pool's order.
        Raises the inner retriever's errors, and model errors that are temporary or concern every question."""
        if k < 1:
            return [[] for _ in queries]
        if not _rewrites():
            return await self._first.retrieve(queries, k=k)
        started = time.perf_counter()
        groups = await gather_all(*map(self._queries, queries))
        searched = [query for group in groups for query in group]
        _note(searched, time.perf_counter() - started)
        lists = iter(await self._first.retrieve(searched, k=max(k, self._depth)))
        return [fuse([next(lists) for _ in group], k=k, constant=self._constant, order=self._order) for group in groups]

    async def _queries(self, question: str) -> list[str]:
        """The question and the model's queries."""
        if not question.strip():
            return [question]

        def check(reply: _Queries) -> str:
            if not self._different(question, reply.queries):
                return "it has no query that differs from the question"
            return next((problem for query in reply.queries if (problem := _too_long(query, question))), "")

        shown = {"question": question, "wanted": self._others}
        prompt = prompt_for("multiquery", question)
        reply = await self._chat.ask(prompt, shown, _Queries, check)
        if reply is None:
            return [question]
        variants = [question, *self._different(question, reply.queries)]
        self._examples.add(question, variants)
        return variants

    def _different(self, question: str, queries: Sequence[str]) -> list[str]:
        """The first `others` queries that are not blank and repeat neither the question nor each other."""
        variants: dict[str, str] = {}
        for query in map(_plain, queries):
            if query and query.casefold() != _plain(question).casefold():
                variants.setdefault(query.casefold(), query)
        return list(variants.values())[: self._others]


def _rewrites() -> bool:
    log = current_log()
    return log is None or log.rewrites


def _note(queries: Sequence[str], seconds: float) -> None:
    if (log := current_log()) is not None:
        log.queries += queries
        log.rewrite_seconds += seconds


def _plain(text: str) -> str:
    return " ".join(text.split())


def _problem(query: str, question: str) -> str:
    return "the query is empty" if not query.strip() else _too_long(query, question)


def _too_long(query: str, question: str) -> str:
    most = max(_LONGEST, _LONGER * len(question))
    return f"a query has {len(query)} characters, more than {most}" if len(query) > most else ""


def _parts(spec: Spec, example: str) -> tuple[str, str]:
    """The names of the retriever and the model. Raises UsageError."""
    if len(spec.arguments) != 2 or "/" not in spec.arguments[1]:
        raise UsageError(f"{spec.name}: {spec.function} takes a retriever and a model, for example {example}.")
    inner, model = spec.arguments
    if _recorded(inner):
        raise UsageError(
            f"{spec.name}: run:FILE has results for the original questions only. Rewrite queries of another retriever."
        )
    return inner, model


def _recorded(name: str) -> bool:
    """True if this retriever or one inside it is a `run:FILE`."""
    spec = parse(name)
    # The argument of an embedder's name is the name itself.
    return spec.function == "run" or any(_recorded(inner) for inner in spec.arguments if inner != name)


@contextlib.asynccontextmanager
async def _opened(spec: Spec, building: Building, example: str) -> AsyncIterator[tuple[Retriever, Model]]:
    inner, name = _parts(spec, example)
    # The model first: its errors should come before an index is built.
    async with open_model(name, building.calling(spec)) as model, building.open(inner) as first:
        yield first, model


@contextlib.asynccontextmanager
async def open_rewrite(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the inner retriever and the model that rewrites. Raises UsageError and the errors of opening them."""
    spec.only("url", "tokens")
    longest = spec.count("tokens", LONGEST)
    async with _opened(spec, building, "rewrite(bm25,openai/gpt-4o-mini)") as (first, model):
        yield Rewritten(spec.name, first, model, longest=longest)


@contextlib.asynccontextmanager
async def open_multiquery(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the inner retriever and the model that adds queries. Raises UsageError and the errors of opening them."""
    spec.only("n", "k", "depth", "url", "tokens")
    others, depth = spec.count("n", _OTHERS), spec.count("depth", _DEPTH)
    constant, longest = spec.number("k", _CONSTANT, least=0), spec.count("tokens", LONGEST)
    async with _opened(spec, building, "multiquery(bm25,openai/gpt-4o-mini,n=3)") as (first, model):
        order = {passage.id: place for place, passage in enumerate(building.pool)}
        yield MultiQuery(
            spec.name, first, model, order=order, others=others, constant=constant, depth=depth, longest=longest
        )


PLUGINS = {"rewrite": open_rewrite, "multiquery": open_multiquery}
