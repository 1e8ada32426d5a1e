"""`run:FILE`: the results of any search system, read from a file and used like a retriever.

The format is detected from the content (the file may be gzipped, `.gz`):

- TREC: `query Q0 document rank score tag`, one line per document.
- BEIR: JSON `{query: {document: score}}`; or a table with tabs or commas and columns for query, document and score or
  rank (`query-id  corpus-id  score`; these three if there is no header); or the same as JSON lines.
- MIRAGE: a list of `{query_id, top_chunks: [{mapped_id, doc_name, doc_chunk}], scores}`, best chunk first. A chunk is
  matched with the pool by its text; among equal texts by the query it was collected for, then by its title.

Lists are sorted by score, as in trec_eval; ties by rank, then by position in the file. MIRAGE's lists keep their order.
If a table has three columns without a header and the third counts 1, 2, 3… for each query, it is the rank, as in MS
MARCO's runs. A document without a score gets 1 / rank.

A question is looked up by the ids that the benchmark gives it, or is such an id itself. A question that is missing from
the file finds nothing, with one warning for all; the file's other queries are ignored. A document that is missing from
the pool keeps its position in the list, without a label; if all are missing, that is an error.
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
from ragstone.models.nested_names import Spec
from ragstone.retrieval.registry import Building
from ragstone.retrieval.trec_reader import Chunk, RankedDocument, read_run
from ragstone.types import Passage, Retriever

log = logging.getLogger(__name__)


class Listed:
    """The lists of a file. `lists`: query id → (position in the pool, score), best first. `queries`: question → its
    ids."""

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
        """At most `k` passages per question. For a question with several ids, the first id in the file counts;
        `retrieve_for` distinguishes them."""
        ids = [next((name for name in self._queries.get(query, ()) if name in self._lists), query) for query in queries]
        return await self.retrieve_for(ids, k=k)

    async def retrieve_for(self, ids: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """As `retrieve`, by query id: two questions with the same words have different ids."""
        return [
            [
                msgspec.structs.replace(self._pool[at], score=score)
                for at, score in self._lists.get(name, ())[: max(k, 0)]
            ]
            for name in ids
        ]


@contextlib.asynccontextmanager
async def open_run(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the file. Raises UsageError, and DataError with the line of the problem."""
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
    hits: dict[str, dict[int, tuple[float, float]]] = {}  # query → position → sort key
    others: set[str] = set()
    for row in run.rows:
        if known and row.query not in known:
            others.add(row.query)
            continue
        ranked = hits.setdefault(row.query, {})
        place = find(row, ranked)
        if place in ranked:
            raise row.error(path, f"the query {row.query!r} has the document {find.passage(place).id!r} twice.")
        least = -math.inf if row.score is None else row.score
        ranked[place] = (-least, math.inf if row.rank is None else row.rank)
    if not hits:
        if others:
            raise DataError(
                path, f"none of its queries is in the benchmark; it has {_some(others)}, the benchmark {_some(known)}.",
                advice="Use the benchmark's query ids in the file.",
            )  # fmt: skip
        raise DataError(path, "it has no ranked documents.")
    if not find.inside:
        raise DataError(
            path, f"the pool has none of its documents, such as {outside[0].id!r}; the pool's ids look like "
            f"{pool[0].id!r}.", advice="Use the pool that was searched, with the same chunks.",
        )  # fmt: skip
    lists = {query: _ordered(ranked, ordered=run.ordered) for query, ranked in hits.items()}
    facts: dict[str, Any] = {"form": run.form, "sha256": run.sha256, "queries": len(lists), "not_asked": len(others)}
    facts["deepest"] = max(map(len, lists.values()))
    if run.tags:
        facts["tags"] = sorted(run.tags)
    if known:
        # A question with several ids needs a list for each of them.
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
    """Positions and scores, best first; 1 / rank replaces a missing score."""
    best = list(hits) if ordered else sorted(hits, key=hits.__getitem__)
    return [
        (place, -hits[place][0] if hits[place][0] < math.inf else 1 / rank) for rank, place in enumerate(best, start=1)
    ]


class _Places:
    """Finds the pool position of a run's documents. Documents that are not in the pool are added to `outside`, whose
    positions follow the pool's. `inside`: number of rows found in the pool."""

    def __init__(self, path: Path, pool: Sequence[Passage], outside: list[Passage]) -> None:
        self._path, self._pool, self._outside, self.inside = path, pool, outside, 0
        self._by_id = {passage.id: place for place, passage in enumerate(pool)}
        self._by_text: dict[str, list[int]] | None = None

    def passage(self, place: int) -> Passage:
        """The passage at a position."""
        return self._pool[place] if place < len(self._pool) else self._outside[place - len(self._pool)]

    def __call__(self, row: RankedDocument, used: Mapping[int, object]) -> int:
        """The position of a row's document; among equal chunks, one that is not in `used`."""
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
        # The tests are in order of importance; ties keep the pool's order.
        return max(same, key=lambda place: [test(place) for test in tests]) if len(same) > 1 else same[0]


PLUGINS = {"run": open_run}
