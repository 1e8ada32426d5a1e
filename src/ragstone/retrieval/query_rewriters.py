"""Query rewriting: a chat model words the question for the search, and a retriever searches with that.

    rewrite(bm25,openai/gpt-4o-mini)             one query in place of the question
    multiquery(bm25,openai/gpt-4o-mini,n=3)      the question and n others, their lists fused

`multiquery` fuses by reciprocal rank as `hybrid` does (`k`, 60): `depth` passages (100, or as many as are asked for) of
each query are looked at, and the question itself always is one of the queries. Where the model writes fewer different
ones than `n`, there are fewer.

A question that the model does not word in a usable way is searched for as it is, and counted in `facts`
(`retrieval/llm_ranking.py`). `facts` also have the first few questions with what was searched for in their place.
`url` is the address of the model's endpoint, `tokens` (4096) the longest reply, its thoughts included.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from ragstone.errors import UsageError
from ragstone.models import open_model
from ragstone.retrieval.fusion import fuse
from ragstone.retrieval.llm_ranking import LONGEST, Asker, all_of, prompt_for
from ragstone.retrieval.names import Spec, parse
from ragstone.retrieval.open import Building, facts_of
from ragstone.types import Model, Passage, Retriever

__all__ = ["PLUGINS", "MultiQuery", "Rewritten", "open_multiquery", "open_rewrite"]

_OTHERS = 3
_DEPTH = 100
_CONSTANT = 60.0
_SHOWN = 5  # questions of which `facts` tell what was searched for
# Characters of a query: one that is longer is an answer, or a model that repeats itself.
_LONGEST, _LONGER = 300, 3


class _Query(msgspec.Struct):
    query: str


class _Queries(msgspec.Struct):
    queries: list[str]


_QUERY_FORM = {
    "type": "object", "properties": {"query": {"type": "string"}},
    "required": ["query"], "additionalProperties": False,
}  # fmt: skip
_QUERIES_FORM = {
    "type": "object", "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
    "required": ["queries"], "additionalProperties": False,
}  # fmt: skip


class _Shown:
    """The first questions, with what was searched for."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def add(self, question: str, queries: Sequence[str]) -> None:
        if len(self._found) < _SHOWN:
            self._found.setdefault(question, list(queries))

    @property
    def facts(self) -> list[dict[str, Any]]:
        return [{"question": question, "searched": queries} for question, queries in self._found.items()]


class Rewritten:
    """`first`, asked with what `model` makes of each question."""

    def __init__(self, name: str, first: Retriever, model: Model, *, longest: int = LONGEST) -> None:
        self.id, self._first, self._shown = name, first, _Shown()
        self._asker = Asker(model, "Query rewriting", longest=longest)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the model took so far, examples, and the facts of the retriever."""
        return {**self._asker.facts, "examples": self._shown.facts, **_inner(self._first)}

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """What the retriever finds for each rewritten query, scores and all. Raises what it raises, and what may pass
        or is wrong for every question."""
        if k < 1:
            return [[] for _ in queries]
        return await self._first.retrieve(await all_of(self._rewritten(query) for query in queries), k=k)

    async def _rewritten(self, question: str) -> str:
        if not question.strip():
            return question

        def check(reply: _Query) -> str:
            return _problem(reply.query, question)

        reply = await self._asker.ask(
            prompt_for("rewrite", question), {"question": question}, _Query, _QUERY_FORM, check
        )
        if reply is None:
            return question
        query = _plain(reply.query)
        self._shown.add(question, [query])
        return query


class MultiQuery:
    """`first`, asked with each question and up to `others` more that `model` makes of it; the lists are fused.
    `order`: id → place in the pool, for ties."""

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
        self._asker, self._shown = Asker(model, "Writing more queries", longest=longest), _Shown()

    @property
    def facts(self) -> Mapping[str, Any]:
        """How it fuses, what the model took so far, examples, and the facts of the retriever."""
        how = {"n": self._others, "k": self._constant, "depth": self._depth}
        return {**how, **self._asker.facts, "examples": self._shown.facts, **_inner(self._first)}

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages a question; scores are sums of 1 / (constant + rank), ties in the order of the pool.
        Raises what the retriever raises, and what may pass or is wrong for every question."""
        if k < 1:
            return [[] for _ in queries]
        groups = await all_of(self._queries(question) for question in queries)
        lists = iter(await self._first.retrieve([query for group in groups for query in group], k=max(k, self._depth)))
        return [fuse([next(lists) for _ in group], k=k, constant=self._constant, order=self._order) for group in groups]

    async def _queries(self, question: str) -> list[str]:
        """The question, and the others."""
        if not question.strip():
            return [question]

        def check(reply: _Queries) -> str:
            if not self._different(question, reply.queries):
                return "it holds no query that differs from the question"
            return next((problem for query in reply.queries if (problem := _too_long(query, question))), "")

        shown = {"question": question, "wanted": self._others}
        prompt = prompt_for("multiquery", question)
        reply = await self._asker.ask(prompt, shown, _Queries, _QUERIES_FORM, check)
        if reply is None:
            return [question]
        variants = [question, *self._different(question, reply.queries)]
        self._shown.add(question, variants)
        return variants

    def _different(self, question: str, queries: Sequence[str]) -> list[str]:
        """The first `others` of the queries that say something, and not what the question or one before says."""
        variants: dict[str, str] = {}
        for query in map(_plain, queries):
            if query and query.casefold() != _plain(question).casefold():
                variants.setdefault(query.casefold(), query)
        return list(variants.values())[: self._others]


def _plain(text: str) -> str:
    return " ".join(text.split())


def _problem(query: str, question: str) -> str:
    return "the query is empty" if not query.strip() else _too_long(query, question)


def _too_long(query: str, question: str) -> str:
    most = max(_LONGEST, _LONGER * len(question))
    return f"a query has {len(query)} characters, which is no query any more" if len(query) > most else ""


def _inner(first: Retriever) -> dict[str, Any]:
    facts = facts_of(first)
    size = {"index_bytes": facts["index_bytes"]} if "index_bytes" in facts else {}
    return {"first": {first.id: facts}, **size}


def _parts(spec: Spec, example: str) -> tuple[str, str]:
    """The names of the retriever and the model. Raises UsageError."""
    if len(spec.arguments) != 2 or "/" not in spec.arguments[1]:
        raise UsageError(f"{spec.name}: {spec.function} takes a retriever and a model, for example {example}.")
    inner, model = spec.arguments
    if _recorded(inner):
        raise UsageError(
            f"{spec.name}: a file holds what was found for the questions as they are, so it cannot be asked others."
        )
    return inner, model


def _recorded(name: str) -> bool:
    """Whether a retriever of this name reads `run:FILE`, itself or within."""
    spec = parse(name)
    # The argument of a model's name is this name again.
    return spec.function == "run" or any(_recorded(inner) for inner in spec.arguments if inner != name)


@contextlib.asynccontextmanager
async def _opened(spec: Spec, building: Building, example: str) -> AsyncIterator[tuple[Retriever, Model]]:
    inner, name = _parts(spec, example)
    # The model first: that it cannot be is told before an index is built.
    async with open_model(name, building.calling(spec)) as model, building.open(inner) as first:
        yield first, model


@contextlib.asynccontextmanager
async def open_rewrite(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """The retriever and the model that words its queries. Raises UsageError, and what opening one raises."""
    spec.only("url", "tokens")
    longest = spec.count("tokens", LONGEST)
    async with _opened(spec, building, "rewrite(bm25,openai/gpt-4o-mini)") as (first, model):
        yield Rewritten(spec.name, first, model, longest=longest)


@contextlib.asynccontextmanager
async def open_multiquery(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """The retriever and the model that writes more queries. Raises UsageError, and what opening one raises."""
    spec.only("n", "k", "depth", "url", "tokens")
    others, depth = spec.count("n", _OTHERS), spec.count("depth", _DEPTH)
    constant, longest = spec.number("k", _CONSTANT, least=0), spec.count("tokens", LONGEST)
    async with _opened(spec, building, "multiquery(bm25,openai/gpt-4o-mini,n=3)") as (first, model):
        order = {passage.id: place for place, passage in enumerate(building.pool)}
        yield MultiQuery(
            spec.name, first, model, order=order, others=others, constant=constant, depth=depth, longest=longest
        )


PLUGINS = {"rewrite": open_rewrite, "multiquery": open_multiquery}
