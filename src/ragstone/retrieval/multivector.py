"""Multi-vector retrieval: one vector per sentence; a passage is found by its sentence nearest to the question.

    multivector(local/e5-small)     several vectors per passage, one per question; the best match counts
    late(local/e5-small)            late interaction: several vectors per question too

A single vector has to represent a whole passage; a vector per sentence keeps details that only one sentence has.
`facts` compare the cost with one vector per passage: bytes, and seconds per question.

`late` matches each window of the question with its best sentence and averages these scores (MaxSim), so a passage
should match every part of the question. It embeds windows and sentences with any embedder. It is not ColBERT, which has
one vector per token from a model trained for that.

Options of both: `sentences` per vector, as overlapping windows with a step of one sentence (1); `whole`: yes adds a
vector of the whole passage; `title`: yes puts the title before each sentence; `url`: base URL of the embedder's
endpoint. `late` also has `tokens`: maximum size of a question window by `ragstone.text.estimate_tokens`, with half of
each window overlapping the one before (8).

More vectors are not always better: measure. With `local/e5-small`, MRR@10 of one vector, `multivector` and
`multivector(…,sentences=2)`: 0.64, 0.64, 0.69 on fictional English passages of 250 tokens (60 questions; the index is
15 times as large); 0.59, 0.57, 0.55 on RGB's English snippets of two sentences (100 questions).

The search is exact: as in `nearest.py`, float32 products only select candidates; their scores are those of float64.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np

from ragstone.errors import UsageError
from ragstone.models import open_embedder
from ragstone.models.nested_names import Spec
from ragstone.retrieval.chunkers import chunk
from ragstone.retrieval.embedders import embed_all
from ragstone.retrieval.registry import Building
from ragstone.text import estimate_tokens, sentences
from ragstone.types import Embedder, Passage, Retriever

Array: TypeAlias = np.ndarray[Any, Any]

# Bytes of float32 products in memory at a time.
_BLOCK_BYTES = 96 * 2**20
# Numbers gathered at a time for the exact products.
_GATHERED = 4_000_000


class MaxSim:
    """Exhaustive search over passages with several vectors each, block by block.

    score(query, passage) = mean over the query's vectors of the maximum dot product with the passage's vectors

    With one vector per query this is multi-vector retrieval; with several it is late interaction (Khattab and Zaharia
    2020, https://arxiv.org/abs/2004.12832, who sum instead of averaging; the mean keeps scores in [-1, 1]).

    `matrix`: (m, d) float32, rows of unit length, grouped by passage. `counts`: number of rows of each of the n
    passages, at least 1. `block`: query vectors per block, for tests of block boundaries.
    """

    def __init__(self, matrix: Array, counts: Sequence[int], *, block: int = 0) -> None:
        self._rows = np.ascontiguousarray(matrix, dtype=np.float32)
        self._counts = np.asarray(counts, dtype=np.int64)
        if self._counts.sum() != len(self._rows) or self._counts.min(initial=1) < 1:
            raise ValueError("Each passage needs at least one row, and the counts must add up to the matrix's rows.")
        self._starts = np.concatenate([[0], np.cumsum(self._counts)[:-1]])
        self._block = block or max(1, _BLOCK_BYTES // (4 * max(1, len(self._rows))))
        # Twice the error bound of a float32 product (`nearest.py`); a mean's error is at most its worst term's.
        self._margin = 16 * float(self._rows.shape[1]) ** 0.5 * 2.0**-24

    @property
    def name(self) -> str:
        return f"exact, the best of each passage, numpy {np.__version__}"

    @property
    def nbytes(self) -> int:
        return int(self._rows.nbytes + self._counts.nbytes + self._starts.nbytes)

    def search(self, queries: Sequence[Array], k: int, /) -> list[tuple[Array, Array]]:
        """For each query, a (w, d) float32 array of w ≥ 1 unit vectors: the indices of its min(k, n) best passages,
        best first with ties by index, and their scores (float64)."""
        k = min(k, len(self._counts))
        if k < 1:
            return [(np.empty(0, dtype=np.int64), np.empty(0)) for _ in queries]
        return [hits for some in self._blocks(queries) for hits in self._search(some, k)]

    def _blocks(self, queries: Sequence[Array]) -> Iterator[list[Array]]:
        some: list[Array] = []
        for query in queries:
            if some and sum(map(len, some)) + len(query) > self._block:
                yield some
                some = []
            some.append(query)
        if some:
            yield some

    def _search(self, queries: list[Array], k: int) -> Iterator[tuple[Array, Array]]:
        products = np.concatenate(queries).astype(np.float32, copy=False) @ self._rows.T
        maxima = np.maximum.reduceat(products, self._starts, axis=1)
        del products
        at = 0
        for query in queries:
            rough = maxima[at] if len(query) == 1 else maxima[at : at + len(query)].mean(axis=0)
            at += len(query)
            kth = np.partition(rough, len(rough) - k)[len(rough) - k]
            candidates = np.flatnonzero(rough >= kth - self._margin)
            scores = self._scores(query, candidates)
            order = np.argsort(-scores, kind="stable")[:k]
            yield candidates[order], scores[order]

    def _scores(self, query: Array, passages: Array) -> Array:
        """Exact scores of these passages, in float64."""
        scores = np.empty(len(passages))
        most = max(1, _GATHERED // (self._rows.shape[1] * int(self._counts[passages].max())))
        for start in range(0, len(passages), most):
            some = passages[start : start + most]
            counts = self._counts[some]
            offsets = np.concatenate([[0], np.cumsum(counts)[:-1]])
            # The rows of each passage: its start and the following ones, as many as it has.
            rows = np.arange(counts.sum()) + np.repeat(self._starts[some] - offsets, counts)
            gathered = self._rows[rows].astype(np.float64)
            # A sum over contiguous rows of equal length always adds in the same order, whatever the row's position.
            best = [np.maximum.reduceat((gathered * token).sum(axis=-1), offsets) for token in query]
            scores[start : start + most] = np.mean(best, axis=0)
        return scores


# A shorter "sentence" ("Yes.", "1.", a heading) has too little content and is joined to the next.
_LEAST_TOKENS = 8
# A longer one, such as a table without sentence ends, has too much content for one vector and is split.
_MOST_TOKENS = 128
# Questions used to time the search against one over a single vector per passage.
_TIMED = 64


def parts_of(text: str, *, each: int = 1, whole: bool = False) -> list[str]:
    """The parts of a passage that get a vector, in order: windows of `each` sentences. `whole` puts the whole text
    first, unless it is the only part. Empty for a blank text."""
    units = _units(text)
    last = max(1, len(units) - each + 1)
    parts = [text[units[at][0] : units[min(at + each, len(units)) - 1][1]] for at in range(last)] if units else []
    return [text.strip(), *parts] if whole and len(parts) > 1 else parts


def _units(text: str) -> list[tuple[int, int]]:
    """Ranges of the sentences, in characters: short ones are joined, long ones split."""
    units: list[tuple[int, int]] = []
    start = at = 0
    for sentence in sentences(text):
        at += len(sentence)
        if estimate_tokens(text[start:at].strip()) < _LEAST_TOKENS:
            continue
        units += [(start + piece.start, start + piece.end) for piece in chunk(text[start:at], size=_MOST_TOKENS)]
        start = at
    if text[start:].strip():
        end = len(text.rstrip())
        if units:  # a short last sentence is joined to the one before
            units[-1] = (units[-1][0], end)
        else:
            units.append((len(text) - len(text.lstrip()), end))
    return units


def windows_of(question: str, *, tokens: int) -> list[str]:
    """Windows of a question of at most `tokens` tokens, cut between words; each overlaps the one before by half."""
    return [window.text for window in chunk(question, size=tokens, overlap=tokens // 2, method="token")]


@dataclass(frozen=True)
class _Splitter:
    """Functions that split texts: `parts` of a passage, `windows` of a question. `title`: put it before each part."""

    parts: Callable[[str], list[str]]
    windows: Callable[[str], list[str]]
    title: bool

    def texts(self, passage: Passage) -> list[str]:
        parts = self.parts(passage.text)
        if not (self.title and passage.title.strip()):
            return parts
        return [f"{passage.title} {part}" for part in parts] or [passage.title]


class MultiVector:
    """A retriever with several vectors per passage. `facts` go into reports; the first search adds its timing to
    them."""

    def __init__(
        self,
        name: str,
        embedder: Embedder,
        passages: Sequence[Passage],
        windows: Callable[[str], list[str]],
        index: MaxSim | None,
        single: MaxSim | None,
        facts: dict[str, Any],
    ) -> None:
        """`single`: an index with one vector per passage, as the baseline for timing."""
        self.id, self.facts = name, facts
        self._embedder, self._passages, self._windows, self._index = embedder, passages, windows, index
        self._single = single

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query, best first; ties keep the pool's order. A blank query finds none. Raises the
        embedder's errors."""
        results: list[list[Passage]] = [[] for _ in queries]
        parts = {number: self._windows(query) for number, query in enumerate(queries)}
        nonblank = [number for number in parts if parts[number]]
        if not nonblank or k < 1 or self._index is None:
            return results
        vectors = await embed_all(self._embedder, [part for number in nonblank for part in parts[number]], kind="query")
        ends = _running([len(parts[number]) for number in nonblank])
        several = [vectors[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        best = await asyncio.to_thread(self._search, several, k)
        for number, (rows, scores) in zip(nonblank, best, strict=True):
            results[number] = [
                msgspec.structs.replace(self._passages[row], score=score)
                for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
            ]
        return results

    def _search(self, queries: list[Array], k: int) -> list[tuple[Array, Array]]:
        assert self._index is not None
        if (single := self._single) is None:
            return self._index.search(queries, k)
        self._single = None
        some, rest = queries[:_TIMED], queries[_TIMED:]
        firsts = [query[:1] for query in some]
        for index in (single, self._index):  # warm-up: the first product loads the library
            index.search(firsts[:1], k)
        started = time.perf_counter()
        single.search(firsts, k)
        between = time.perf_counter()
        hits = self._index.search(some, k)
        self.facts |= {
            "search_seconds_per_query": (time.perf_counter() - between) / len(some),
            "single_search_seconds_per_query": (between - started) / len(some),
        }
        return hits + self._index.search(rest, k)


def _running(counts: Sequence[int]) -> list[int]:
    ends, total = [], 0
    for count in counts:
        total += count
        ends.append(total)
    return ends


def open_multivector(spec: Spec, building: Building) -> contextlib.AbstractAsyncContextManager[Retriever]:
    """`multivector(EMBEDDER)`: a passage's best vector counts. Raises UsageError and the embedder's errors."""
    spec.only("sentences", "whole", "title", "url")
    return _open(spec, building, "several vectors per passage, one per question", _question)


def open_late(spec: Spec, building: Building) -> contextlib.AbstractAsyncContextManager[Retriever]:
    """`late(EMBEDDER)`: late interaction. Raises UsageError and the embedder's errors."""
    spec.only("sentences", "whole", "title", "tokens", "url")
    tokens = spec.count("tokens", 8, least=2)
    kind = "late interaction (MaxSim): several vectors per passage and question"
    return _open(spec, building, kind, lambda question: windows_of(question, tokens=tokens))


def _question(question: str) -> list[str]:
    return [question] if question.strip() else []


@contextlib.asynccontextmanager
async def _open(
    spec: Spec, building: Building, kind: str, windows: Callable[[str], list[str]]
) -> AsyncIterator[Retriever]:
    if len(spec.arguments) != 1:
        raise UsageError(f"{spec.name}: give one embedder, for example {spec.function}(local/e5-small).")
    each, whole = spec.count("sentences", 1), spec.flag("whole")
    splitter = _Splitter(lambda text: parts_of(text, each=each, whole=whole), windows, spec.flag("title"))
    async with open_embedder(spec.arguments[0], building.calling(spec)) as embedder:
        started = time.perf_counter()
        texts = await asyncio.to_thread(lambda: [splitter.texts(passage) for passage in building.pool])
        passages = [passage for passage, parts in zip(building.pool, texts, strict=True) if parts]
        counts = [len(parts) for parts in texts if parts]
        vectors = await embed_all(embedder, [part for parts in texts for part in parts], kind="passage")
        embedded = time.perf_counter()
        facts: dict[str, Any] = {"kind": kind, "embedder": embedder.id, "passages": len(passages)}
        index = single = None
        if passages:
            index = MaxSim(vectors, counts)
            # Any rows will do: the time of an exact search depends only on their number.
            single = MaxSim(vectors[: len(passages)], [1] * len(passages))
            facts |= {
                "dimensions": vectors.shape[1],
                "vectors": len(vectors),
                "vectors_per_passage": len(vectors) / len(passages),
                "index": index.name,
                "index_bytes": index.nbytes,
                "single_index_bytes": vectors[: len(passages)].nbytes,
                "exact": True,
            }
        facts |= {"embed_seconds": embedded - started, "index_seconds": time.perf_counter() - embedded}
        yield MultiVector(spec.name, embedder, passages, splitter.windows, index, single, facts)


PLUGINS = {"multivector": open_multivector, "late": open_late}
