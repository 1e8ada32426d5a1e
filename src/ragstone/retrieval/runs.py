"""`run:FILE`: what any search system found, kept in a file, is a retriever like the others.

The forms, told apart by what the file holds (it may be gzipped, `.gz`):

- TREC: `query Q0 document rank score tag`, one line a document.
- BEIR: `{query: {document: score}}` as JSON; or a table parted by tabs or commas with columns for query, document and
  score or rank (`query-id  corpus-id  score`; without a header: these three); or the same as JSON lines.
- MIRAGE: a list of `{query_id, top_chunks: [{mapped_id, doc_name, doc_chunk}], scores}`, the best chunk first. A chunk
  is found in the pool by its text; where several have it, by the query it was collected for, then by its title.

A list is ordered by its scores, as trec_eval does; rank, then place in the file, decide between equal ones. MIRAGE's
are taken in their order. Where the third of three columns without a header counts 1, 2, 3… for each query, it is the
rank, as in MS MARCO's runs. A document without a score has 1 / its rank.

Questions are found by the ids that the benchmark knows them by, or are such ids themselves. A question that the file
does not have finds nothing, which is said once; queries that were not asked are passed over. A document that the pool
does not have keeps its place in the list, without a label; that none is in the pool is an error.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragstone.errors import DataError, UsageError
from ragstone.retrieval.names import Spec
from ragstone.retrieval.open import Building
from ragstone.retrieval.trec_reader import Chunk, RankedDocument, read_run
from ragstone.types import Passage, Retriever

__all__ = ["PLUGINS", "Listed", "open_run"]

log = logging.getLogger(__name__)


class Listed:
    """`lists`: query id → places in the pool with their scores, the best first. `queries`: question → the ids it is
    known by."""

    def __init__(
        self,
        name: str,
        pool: Sequence[Passage],
        lists: Mapping[str, Sequence[tuple[int, float]]],
        queries: Mapping[str, Sequence[str]],
        facts: Mapping[str, Any],
    ) -> None:
        self.id, self.facts = name, facts
        self._pool, self._lists, self._queries = pool, lists, queries

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages a question. A question with several ids has the list of the first that the file has;
        `retrieve_for` tells them apart."""
        ids = [next((name for name in self._queries.get(query, ()) if name in self._lists), query) for query in queries]
        return await self.retrieve_for(ids, k=k)

    async def retrieve_for(self, ids: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """As `retrieve`, by the ids of the queries: where two questions have the same words, each has its own."""
        return [
            [
                msgspec.structs.replace(self._pool[at], score=score)
                for at, score in self._lists.get(name, ())[: max(k, 0)]
            ]
            for name in ids
        ]


@contextlib.asynccontextmanager
async def open_run(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """The retriever of a file. Raises UsageError and, naming the line, DataError."""
    spec.only()
    if len(spec.arguments) != 1:
        raise UsageError(f"{spec.name}: run takes one file, for example run:bm25.trec.")
    yield await asyncio.to_thread(_listed, spec.name, spec.arguments[0], building)


def _listed(name: str, file: str, building: Building) -> Listed:
    path = Path(file).expanduser()
    run = read_run(path)
    pool = building.pool
    known = {query_id for ids in building.queries.values() for query_id in ids}
    outside: list[Passage] = []
    find = _Places(path, pool, outside)
    hits: dict[str, dict[int, tuple[float, float]]] = {}  # query → place → by what it is ordered
    others: set[str] = set()
    for row in run.found:
        if known and row.query not in known:
            others.add(row.query)
            continue
        its = hits.setdefault(row.query, {})
        place = find(row, its)
        if place in its:
            raise row.error(path, f"the query {row.query!r} has the document {find.passage(place).id!r} twice.")
        least = -math.inf if row.score is None else row.score
        its[place] = (-least, math.inf if row.rank is None else row.rank)
    if not hits:
        if others:
            raise DataError(
                path, f"none of its queries is in the benchmark; it has {_some(others)}, the benchmark {_some(known)}.",
                advice="Its query ids should be the benchmark's.",
            )  # fmt: skip
        raise DataError(path, "it holds no list of documents.")
    if not find.inside:
        raise DataError(
            path, f"the pool has none of its documents, such as {outside[0].id!r}; the pool's ids look like "
            f"{pool[0].id!r}.", advice="The pool should be the one that was searched, and not cut anew.",
        )  # fmt: skip
    lists = {query: _ordered(its, ordered=run.ordered) for query, its in hits.items()}
    facts: dict[str, Any] = {"form": run.form, "sha256": run.sha256, "queries": len(lists), "not_asked": len(others)}
    facts["deepest"] = max(map(len, lists.values()))
    if run.tags:
        facts["tags"] = sorted(run.tags)
    if known:
        # A question of several ids needs one list for each of them.
        missing = sorted(known - lists.keys())
        facts["lacking"] = len(missing)
        if missing:
            log.warning(
                "%s has no list for %s of %s queries (%s); they find nothing.",
                path, f"{len(missing):,}", f"{len(known):,}", _some(missing),
            )  # fmt: skip
    return Listed(name, [*pool, *outside], lists, building.queries, facts)


def _some(names: Iterable[str]) -> str:
    listed = sorted(names)
    return ", ".join(map(repr, listed[:3])) + (", …" if len(listed) > 3 else "")


def _ordered(hits: Mapping[int, tuple[float, float]], *, ordered: bool) -> list[tuple[int, float]]:
    """Places and scores, the best first; 1 / the rank where there is no score."""
    best = list(hits) if ordered else sorted(hits, key=hits.__getitem__)
    return [
        (place, -hits[place][0] if hits[place][0] < math.inf else 1 / rank) for rank, place in enumerate(best, start=1)
    ]


class _Places:
    """Where in the pool a document of a run is. One that the pool does not have is added to `outside`, whose places
    follow the pool's. `inside`: how many rows the pool has."""

    def __init__(self, path: Path, pool: Sequence[Passage], outside: list[Passage]) -> None:
        self._path, self._pool, self._outside, self.inside = path, pool, outside, 0
        self._by_id = {passage.id: place for place, passage in enumerate(pool)}
        self._by_text: dict[str, list[int]] | None = None

    def passage(self, place: int) -> Passage:
        """The passage at a place."""
        return self._pool[place] if place < len(self._pool) else self._outside[place - len(self._pool)]

    def __call__(self, row: RankedDocument, used: Mapping[int, object]) -> int:
        """Of equal chunks, one that is not `used` yet."""
        chunk = row.document if isinstance(row.document, Chunk) else None
        place = self._by_id.get(str(row.document)) if chunk is None else self._chunk(chunk, used)
        if place is not None:
            self.inside += place < len(self._pool)
            return place
        place = len(self._pool) + len(self._outside)
        if chunk is None:
            self._outside.append(Passage(str(row.document), ""))
            self._by_id[str(row.document)] = place
        else:
            self._outside.append(Passage(f"{chunk.mapped_id}?{place}", chunk.text, chunk.title))
            self._texts.setdefault(chunk.text, []).append(place)
        return place

    @property
    def _texts(self) -> dict[str, list[int]]:
        if self._by_text is None:
            self._by_text = {}
            for place, passage in enumerate(self._pool):
                self._by_text.setdefault(passage.text, []).append(place)
        return self._by_text

    def _chunk(self, chunk: Chunk, used: Mapping[int, object]) -> int | None:
        if (same := self._texts.get(chunk.text)) is None:
            return None
        tests: tuple[Callable[[int], bool], ...] = (
            lambda place: place not in used,
            lambda place: self.passage(place).id.startswith((f"{chunk.mapped_id}#", f"{chunk.mapped_id}?")),
            lambda place: self.passage(place).title == chunk.title,
        )
        # The first with the most of these in this order of importance; the pool's order between equal ones.
        return max(same, key=lambda place: [test(place) for test in tests]) if len(same) > 1 else same[0]


PLUGINS = {"run": open_run}
