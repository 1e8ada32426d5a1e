"""Dense retrieval: the passages whose embeddings are nearest to the question's, with any embedder.

    local/e5-small                                  the embedder alone
    dense(openai/text-embedding-3-small,title=yes)  with options

Options:
- `index`: exact (numpy); faiss (FAISS's flat index, same passages and scores); auto (the default: faiss for 20,000
  passages or more if it is installed, else exact); hnsw (FAISS's approximate graph with `links` edges per node, 32,
  visiting `effort` nodes, 128); disk (approximate, for vectors that do not fit into memory: FAISS's inverted lists, of
  which `probes`, 256, are searched; its recall against exact search is measured and told; probes=all is exact).
- `title`: yes puts the title before the text, as BEIR does; no, the default, embeds only the text.
- `url`: base URL of the embedder's endpoint.
- `corpus`: documents of its own, a file or folder, which are never in memory together; `chunk`: the size of their
  chunks in tokens, 330; 0: whole. They are embedded block by block, and their text is kept beside the index on disk.

Scores are cosine similarities. Vectors are cached on disk per embedder and text, batch by batch.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, overload

import msgspec
import numpy as np

from ragstone.errors import StorageError, UsageError
from ragstone.models import open_embedder
from ragstone.models.nested_names import Spec
from ragstone.retrieval.bm25_corpus import Chunks
from ragstone.retrieval.bm25_disk import packed, unpacked
from ragstone.retrieval.corpus import Documents
from ragstone.retrieval.embedders import embed_all
from ragstone.retrieval.index_folder import kept_index, key_of
from ragstone.retrieval.nearest import Exact, Faiss, Nearest, has_faiss, load_faiss
from ragstone.retrieval.nearest_disk import PROBES, SAMPLED, OnDisk, build_on_disk, is_on_disk
from ragstone.retrieval.open import code_of, searched_text
from ragstone.retrieval.registry import Building
from ragstone.storage import Layout, connect, transaction
from ragstone.types import Embedder, Passage, Retriever

log = logging.getLogger(__name__)
INDEXES = ("auto", "exact", "faiss", "hnsw", "disk")
# Number of passages from which FAISS is worth loading.
_MANY = 20_000
# Passages used to measure the recall@10 of an approximate index against exact search.
_SAMPLED = 200
# Passages that are embedded before their vectors are written to disk.
_BLOCK = 4096
_VERSION = 1  # part of the keys of indexes on disk: raise it when the meaning of the stored data changes
_LOG_EVERY = 10.0  # seconds
_LAYOUT = Layout(
    what="file of passages",
    application_id=0x52475054,  # "RGPT"
    version=1,
    tables=("CREATE TABLE passages (row INTEGER PRIMARY KEY, passage BLOB NOT NULL)",),
    durable=False,
)
_NAME = "passages.sqlite"
_DISK_BLOCK = 4096  # passages that are embedded before their vectors are written to disk


class Dense:
    """Searches `index`, whose row i is the vector of `passages[i]` (None: no passages). `facts` go into reports."""

    def __init__(
        self,
        name: str,
        embedder: Embedder,
        passages: Sequence[Passage],
        index: Nearest | None,
        facts: Mapping[str, Any],
    ) -> None:
        self.id, self.facts = name, facts
        self._embedder, self._passages, self._index = embedder, passages, index

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query, best first; ties keep the pool's order. A blank query finds none. Raises the
        embedder's errors."""
        results: list[list[Passage]] = [[] for _ in queries]
        nonblank = [number for number, query in enumerate(queries) if query.strip()]
        if not nonblank or k < 1 or self._index is None:
            return results
        vectors = await embed_all(self._embedder, [queries[number] for number in nonblank], kind="query")
        rows, scores = await asyncio.to_thread(self._index.search, vectors, k)
        for number, neighbours, row_scores in zip(nonblank, rows.tolist(), scores.tolist(), strict=True):
            results[number] = [
                msgspec.structs.replace(self._passages[row], score=score)
                for row, score in zip(neighbours, row_scores, strict=True)
                if row >= 0
            ]
        return results


@contextlib.asynccontextmanager
async def open_dense(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the retriever with its passages embedded. Raises UsageError, MissingExtra and the embedder's errors."""
    kind, title, links, effort, probes = _checked(spec)
    # Blank texts are left out: endpoints refuse them, and only chance could find them.
    passages = [passage for passage in building.pool if searched_text(passage, title=title).strip()]
    facts: dict[str, Any]
    async with open_embedder(spec.arguments[0], building.calling(spec)) as embedder:
        started = time.perf_counter()
        texts = [searched_text(passage, title=title) for passage in passages]
        if kind == "disk" and (passages or "corpus" in spec.options):
            if "corpus" in spec.options:
                opening = _opened_corpus(spec, building, embedder, title=title, probes=probes)
            else:
                opening = _opened_on_disk(spec, building, embedder, passages, texts, probes)
            async with opening as (on_disk, stored):
                built = time.perf_counter() - started
                facts = await _facts_on_disk(spec.name, on_disk, embedder, building, built)
                yield Dense(spec.name, embedder, stored, on_disk, facts | {"passages": len(stored)})
            return
        vectors = await embed_all(embedder, texts, kind="passage")
        embedded = time.perf_counter()
        index: Nearest | None = None
        facts = {"embedder": embedder.id, "passages": len(passages), "dimensions": vectors.shape[1]}
        if passages:
            index, more = await asyncio.to_thread(_build, vectors, kind, links, effort)
            facts |= more
        facts |= {"embed_seconds": embedded - started, "index_seconds": time.perf_counter() - embedded}
        yield Dense(spec.name, embedder, passages, index, facts)


def _checked(spec: Spec) -> tuple[str, bool, int, int, int]:
    """The kind of index, whether titles are embedded, links, effort and probes. Raises UsageError."""
    spec.only("index", "title", "links", "effort", "probes", "url", "corpus", "chunk")
    if len(spec.arguments) != 1:
        raise UsageError(f"{spec.name}: a dense retriever takes one embedder, for example dense(local/e5-small).")
    kind, title = spec.one_of("index", INDEXES), spec.flag("title")
    if "corpus" in spec.options:
        if not spec.options["corpus"]:
            raise UsageError(f"{spec.name}: name a file or folder, for example dense(local/e5-small,corpus=docs/).")
        if kind not in ("auto", "disk"):
            raise UsageError(
                f"{spec.name}: corpus=PATH is indexed on disk. Leave out index={kind}, or use --corpus PATH."
            )
        kind = "disk"
    elif "chunk" in spec.options:
        raise UsageError(f"{spec.name}: chunk is an option of corpus=PATH.")
    links, effort = spec.count("links", 32, least=2), spec.count("effort", 128)
    if kind != "hnsw" and {"links", "effort"} & spec.options.keys():
        raise UsageError(f"{spec.name}: links and effort are options of index=hnsw.")
    if kind != "disk" and "probes" in spec.options:
        raise UsageError(f"{spec.name}: probes is an option of index=disk.")
    probes = 0 if spec.options.get("probes") == "all" else spec.count("probes", PROBES)
    return kind, title, links, effort, probes


@contextlib.asynccontextmanager
async def _opened_on_disk(
    spec: Spec, building: Building, embedder: Embedder, passages: Sequence[Passage], texts: Sequence[str], probes: int
) -> AsyncIterator[tuple[OnDisk, Sequence[Passage]]]:
    """The index of the texts of these passages: the one in the cache, or a new one, whose vectors never are in memory
    together."""
    load_faiss()
    options = building.calling(spec)
    known = [_VERSION, embedder.id, spec.arguments, options.base_url, code_of(spec.arguments[0])]
    parent = options.cache / "vectors-disk" if options.cache is not None else None
    key = await asyncio.to_thread(key_of, texts, *known)

    async def blocks() -> "AsyncIterator[np.ndarray[Any, Any]]":
        last = time.monotonic()
        for start in range(0, len(texts), _BLOCK):
            yield await embed_all(embedder, texts[start : start + _BLOCK], kind="passage")
            if time.monotonic() - last >= _LOG_EVERY:
                last, done = time.monotonic(), min(start + _BLOCK, len(texts))
                log.info("%s: %s of %s passages embedded", spec.name, f"{done:,}", f"{len(texts):,}")

    async with kept_index(parent, key, lambda folder: build_on_disk(folder, blocks()), is_on_disk) as folder:
        yield await asyncio.to_thread(lambda: OnDisk(folder, probes=probes)), passages


@contextlib.asynccontextmanager
async def _opened_corpus(
    spec: Spec, building: Building, embedder: Embedder, *, title: bool, probes: int
) -> AsyncIterator[tuple[OnDisk, Sequence[Passage]]]:
    """The index of the retriever's own documents, and their passages."""
    from ragstone.retrieval.bm25_corpus import Chunks  # noqa: PLC0415  (it loads the readers of documents)
    from ragstone.retrieval.own import PoolPassages  # noqa: PLC0415

    load_faiss()
    documents, chunk = Documents(spec.options["corpus"]), spec.count("chunk", 330, least=0)
    options = building.calling(spec)
    known = [_VERSION, embedder.id, spec.arguments, options.base_url, code_of(spec.arguments[0]), chunk, title]
    key = key_of([await asyncio.to_thread(documents.sha256)], "corpus", *known)
    parent = options.cache / "vectors-disk" if options.cache is not None else None
    async with open_corpus_vectors(
        Chunks(spec.name, documents, chunk), key, embedder, parent, text=partial(searched_text, title=title),
        placed=PoolPassages(building.pool).placed, probes=probes,
    ) as opened:  # fmt: skip
        yield opened


async def _facts_on_disk(
    name: str, index: OnDisk, embedder: Embedder, building: Building, seconds: float
) -> dict[str, Any]:
    """Facts of an index on disk, for reports."""
    told, recall = await _measured(name, index, embedder, list(building.queries))
    return {
        "embedder": embedder.id, "dimensions": index.dimensions, "index": told, "index_bytes": index.nbytes,
        "exact": index.is_exact, "recall@5": recall, "build_seconds": seconds,
    }  # fmt: skip


async def _measured(name: str, index: OnDisk, embedder: Embedder, questions: Sequence[str]) -> tuple[str, float]:
    """The index as it is told, and its recall: for some of the questions where these are known in advance, else for
    some of the passages."""
    if index.is_exact:
        return index.name, 1.0
    some = [question for question in questions if question.strip()]
    some = some[:: max(1, len(some) // SAMPLED)][:SAMPLED]
    queries = await embed_all(embedder, some, kind="query") if some else None
    recall = await asyncio.to_thread(index.recall, queries)
    if some:
        log.info("%s: %s; recall@5 %s for questions", name, index.name, f"{recall:.3f}")
    else:
        log.info("%s: %s; recall@5 %s for passages", name, index.name, f"{recall:.3f}")
    return f"{index.name}; recall@5 {recall:.3f} for {'questions' if some else 'passages'}", recall


def _build(vectors: np.ndarray[Any, Any], kind: str, links: int, effort: int) -> tuple[Nearest, dict[str, Any]]:
    """The index and its facts for the report."""
    if kind == "auto":
        kind = "faiss" if len(vectors) >= _MANY and has_faiss() else "exact"
    index = Exact(vectors) if kind == "exact" else Faiss(vectors, links=links if kind == "hnsw" else 0, effort=effort)
    facts: dict[str, Any] = {"index": index.name, "index_bytes": index.nbytes, "exact": kind != "hnsw"}
    if kind == "hnsw":
        sampled = vectors[:: max(1, len(vectors) // _SAMPLED)][:_SAMPLED]
        expected, _ = Exact(vectors).search(sampled, 10)
        approximate, _ = index.search(sampled, 10)
        common = [
            len(set(exact_row) & set(approximate_row))
            for exact_row, approximate_row in zip(expected.tolist(), approximate.tolist(), strict=True)
        ]
        facts["recall@10"] = sum(common) / expected.size
    return index, facts


PLUGINS = {"dense": open_dense}


class StoredPassages(Sequence[Passage]):
    """The passages of an index by row, read when they are asked for. `placed` gives what is returned for one."""

    def __init__(self, folder: Path, placed: Callable[[Passage], Passage]) -> None:
        self._file, self._placed = connect(folder / _NAME, _LAYOUT, write=False), placed
        (self._count,) = self._file.execute("SELECT count(*) FROM passages").fetchone()

    def __len__(self) -> int:
        return int(self._count)

    @overload
    def __getitem__(self, row: int) -> Passage: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Passage]: ...
    def __getitem__(self, row: int | slice) -> Passage | Sequence[Passage]:
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        found = self._file.execute("SELECT passage FROM passages WHERE row = ?", (row,)).fetchone()
        if found is None:
            raise IndexError(row)
        return self._placed(unpacked(found[0]))

    def close(self) -> None:
        self._file.close()


@contextlib.asynccontextmanager
async def open_corpus_vectors(
    chunks: Chunks, key: str, embedder: Embedder, parent: Path | None, *, text: Callable[[Passage], str],
    placed: Callable[[Passage], Passage], probes: int,
) -> AsyncIterator[tuple[OnDisk, StoredPassages]]:  # fmt: skip
    """The index of the chunks in the folder `parent`, and their passages: the one that is kept there, or a new one.
    Raises what reading, embedding and writing raise, and StorageError if no chunk has a text."""

    async def build(folder: Path) -> None:
        with contextlib.closing(connect(folder / _NAME, _LAYOUT)) as file:
            await build_on_disk(folder, _blocks(chunks, file, embedder, text))

    async with kept_index(parent, key, build, _is_whole) as folder:
        passages = StoredPassages(folder, placed)
        try:
            yield await asyncio.to_thread(lambda: OnDisk(folder, probes=probes)), passages
        finally:
            passages.close()


async def _blocks(
    chunks: Chunks, file: Any, embedder: Embedder, text: Callable[[Passage], str]
) -> "AsyncIterator[np.ndarray[Any, Any]]":
    """The vectors of the chunks in blocks, whose passages are written meanwhile."""
    remaining: Iterable[Passage] = (passage for passage in chunks if text(passage).strip())
    rows, last = 0, time.monotonic()
    while block := await asyncio.to_thread(lambda: list(islice(remaining, _DISK_BLOCK))):
        vectors = await embed_all(embedder, [text(passage) for passage in block], kind="passage")
        with transaction(file):
            numbered = enumerate(map(packed, block), start=rows)
            file.executemany("INSERT INTO passages VALUES (?, ?)", numbered)
        rows += len(block)
        yield vectors
        if time.monotonic() - last >= _LOG_EVERY:
            last = time.monotonic()
            log.info("%s: %s passages embedded", chunks.name, f"{rows:,}")
    if not rows:
        raise StorageError(f"{chunks.name}: no chunk of its documents has a text.")


def _is_whole(folder: Path) -> bool:
    return is_on_disk(folder) and (folder / _NAME).is_file()
