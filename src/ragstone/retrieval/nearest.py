"""The nearest vectors of a matrix, exactly: the same answer on every machine, whatever the library and its threads.

Products of many vectors at once are taken in float32, and their last bits depend on the library, the processor and how
many are taken together. So they only choose candidates, with a margin above that error; the candidates' scores are then
taken anew, one product at a time in float64, and ranked by them. Equal vectors therefore have equal scores, and ties go
by the order of the rows.

Which index: `bench/retrieval.py` measures it. Products of many queries at once take numpy and FAISS's flat index about
the same time, because both multiply as fast as the processor does.
"""

import importlib
import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ragstone.errors import MissingExtra

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = "np.ndarray[Any, Any]"

__all__ = ["Exact", "Faiss", "Nearest"]

# Bytes of float32 products held at one time by one worker.
_BLOCK_BYTES = 96 * 2**20
_MOST_QUERIES = 1024
# Columns of one group, of whose products only the largest is looked at unless it is among the best.
_GROUP = 32
# Candidates beyond k. Where a margin holds more than these, all products of that query are looked at.
_SPARE = 8
# Numbers gathered at one time for the exact products.
_GATHERED = 4_000_000


class Nearest(Protocol):
    """An index of rows. `name` says which, with the library's version; `nbytes` is its size in memory."""

    @property
    def name(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    def search(self, queries: "Array", k: int, /) -> "tuple[Array, Array]": ...


def _margin(dimensions: int) -> float:
    """Twice what the float32 product of two unit vectors may be off: rounding errors add up as a random walk, of which
    these are eight standard deviations."""
    return 16 * math.sqrt(dimensions) * 2.0**-24


class Exact:
    """All products, in blocks. `matrix`: (n, d) float32, rows of unit length; it is kept, not copied, where it can be.

    `group` and `spare` are for tests of the seams."""

    def __init__(
        self, matrix: "Array", *, group: int = _GROUP, spare: int = _SPARE, workers: int | None = None
    ) -> None:
        import numpy as np  # noqa: PLC0415

        self._rows = np.ascontiguousarray(matrix, dtype=np.float32)
        self._group, self._spare = group, spare
        self._workers = min(
            2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
        if workers is not None:
            self._workers = workers

    @property
    def name(self) -> str:
        import numpy as np  # noqa: PLC0415

        return f"exact, numpy {np.__version__}"

    @property
    def nbytes(self) -> int:
        return int(self._rows.nbytes)

    def search(self, queries: "Array", k: int, /) -> "tuple[Array, Array]":
        """(q, d) float32 of unit length → rows (q, min(k, n)) int64 and scores float64, the best first."""
        import numpy as np  # noqa: PLC0415

        queries = np.ascontiguousarray(queries, dtype=np.float32)
        n, k = len(self._rows), min(k, len(self._rows))
        if not len(queries) or not k:
            return np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))
        step = max(8, min(_MOST_QUERIES, _BLOCK_BYTES // (4 * n)))
        blocks = [queries[start : start + step] for start in range(0, len(queries), step)]
        if len(blocks) == 1 or self._workers == 1:
            parts = [self._block(block, k) for block in blocks]
        else:  # While one block is multiplied, the best of another are chosen.
            with ThreadPoolExecutor(self._workers) as pool:
                parts = list(pool.map(partial(self._block, k=k), blocks))
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([scores for _, scores in parts])

    def _block(self, queries: "Array", k: int) -> "tuple[Array, Array]":
        import numpy as np  # noqa: PLC0415

        products = queries @ self._rows.T
        n = products.shape[1]
        wanted = min(n, k + self._spare)
        candidates = _largest(products, wanted, self._group)
        values = np.take_along_axis(products, candidates, axis=1)
        kth = np.partition(values, wanted - k, axis=1)[:, wanted - k]
        bound = kth - _margin(queries.shape[1])
        rows, scores = rescored(self._rows, queries, candidates, k)
        if wanted < n:
            # What is left out is at most the least of the candidates: where that is within the margin, look at all.
            for query in np.flatnonzero(values.min(axis=1) >= bound).tolist():
                every = np.flatnonzero(products[query] >= bound[query])[None]
                (rows[query],), (scores[query],) = rescored(self._rows, queries[query : query + 1], every, k)
        return rows, scores


def _largest(products: "Array", wanted: int, group: int) -> "Array":
    """(q, n) → the columns of the `wanted` largest of each row, in any order.

    The columns are parted into groups of `group` (column c is in group c mod g, so that the maximum of all groups is
    one pass over contiguous memory). The `wanted` largest are all in the `wanted` groups with the largest maxima."""
    import numpy as np  # noqa: PLC0415

    q, n = products.shape
    groups = n // group
    if groups <= wanted:
        return np.argpartition(products, n - wanted, axis=1)[:, n - wanted :]
    grouped = groups * group
    maxima = products[:, :grouped].reshape(q, group, groups).max(axis=1)
    best = np.argpartition(maxima, groups - wanted, axis=1)[:, groups - wanted :]
    columns = (best[:, :, None] + np.arange(grouped, step=groups)).reshape(q, -1)
    rest = np.broadcast_to(np.arange(grouped, n), (q, n - grouped))
    columns = np.concatenate([columns, rest], axis=1)
    values = np.take_along_axis(products, columns, axis=1)
    chosen = np.argpartition(values, values.shape[1] - wanted, axis=1)[:, values.shape[1] - wanted :]
    return np.take_along_axis(columns, chosen, axis=1)


def rescored(matrix: "Array", queries: "Array", candidates: "Array", k: int) -> "tuple[Array, Array]":
    """Of `candidates` (q, c), the k best by their products in float64, ties by the row's number: rows and scores."""
    import numpy as np  # noqa: PLC0415

    candidates = np.sort(candidates, axis=1)
    scores = np.empty(candidates.shape)
    for some in _slices(len(queries), candidates.shape[1] * matrix.shape[1]):
        gathered = matrix[candidates[some]].astype(np.float64)
        gathered *= queries[some, None, :]
        # A sum over contiguous numbers of one length is taken in one order, wherever its row stands.
        scores[some] = gathered.sum(axis=-1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(candidates, order, axis=1).astype(np.int64), np.take_along_axis(scores, order, axis=1)


def _slices(n: int, size: int) -> Iterator[slice]:
    step = max(1, _GATHERED // max(1, size))
    return (slice(start, start + step) for start in range(0, n, step))


class Faiss:
    """FAISS's flat index, exact, or its HNSW graph (`links` edges a node, `effort` nodes looked at), approximate.

    Candidates are scored anew as in `Exact`. Raises MissingExtra where faiss is not installed."""

    def __init__(self, matrix: "Array", *, links: int = 0, effort: int = 128) -> None:
        import numpy as np  # noqa: PLC0415

        self._faiss = _load_faiss()
        self._rows = np.ascontiguousarray(matrix, dtype=np.float32)
        self._links = links
        if links:
            self._index = self._faiss.IndexHNSWFlat(matrix.shape[1], links, self._faiss.METRIC_INNER_PRODUCT)
            self._index.hnsw.efConstruction = max(effort, 40)
            self._index.hnsw.efSearch = effort
        else:
            self._index = self._faiss.IndexFlatIP(matrix.shape[1])
        self._index.add(self._rows)

    @property
    def name(self) -> str:
        kind = f"approximate, HNSW with {self._links} links" if self._links else "exact, flat"
        return f"{kind}, faiss {self._faiss.__version__}"

    @cached_property
    def nbytes(self) -> int:
        return int(self._rows.nbytes) + len(self._faiss.serialize_index(self._index))

    def search(self, queries: "Array", k: int, /) -> "tuple[Array, Array]":
        """As `Exact.search`; of the approximate index, what it finds."""
        import numpy as np  # noqa: PLC0415

        queries = np.ascontiguousarray(queries, dtype=np.float32)
        n, k = len(self._rows), min(k, len(self._rows))
        if not len(queries) or not k:
            return np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))
        rows, scores = np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))
        left, wanted = np.arange(len(queries)), min(n, k + _SPARE)
        while len(left):
            values, candidates = self._index.search(queries[left], wanted)
            if short := np.flatnonzero(candidates.min(axis=1) < 0).tolist():
                candidates[short] = [_filled(row, wanted) for row in candidates[short].tolist()]
            rows[left], scores[left] = rescored(self._rows, queries[left], candidates, k)
            if self._links or wanted == n:
                break
            left = left[values[:, -1] >= values[:, k - 1] - _margin(queries.shape[1])]
            wanted = min(n, 4 * wanted)
        return rows, scores


def _filled(row: Sequence[int], wanted: int) -> list[int]:
    """A graph may reach fewer nodes than were asked for: filled up with rows that it did not find."""
    found = [one for one in row if one >= 0]
    seen = set(found)
    return found + [one for one in range(wanted + len(found)) if one not in seen][: wanted - len(found)]


def _load_faiss() -> Any:
    try:
        return importlib.import_module("faiss")
    except ModuleNotFoundError:
        raise MissingExtra(
            "The index faiss needs faiss-cpu, which is not installed. Run: pip install 'ragstone[faiss]'"
        ) from None
