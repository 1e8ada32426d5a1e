"""Exact nearest-neighbour search with the same result on every machine, whatever the library and its threads.

The last bits of float32 matrix products depend on the library, the processor and the block size. They therefore only
select candidates, with a margin above that error. The candidates' scores are recomputed in float64, one product at a
time, and decide the ranking. Equal vectors thus have equal scores, and ties are broken by row.

The default index was chosen by measurement (7,560 queries over 37,800 x 384, top 5). With one thread, numpy and FAISS's
flat index take the same time (numpy 1.02 times FAISS's): nine tenths of it is matrix multiplication. With two threads
FAISS also selects in parallel, and numpy takes a fifth longer. A large pool is therefore searched with FAISS if it is
installed; the results are the same. `bench/retrieval.py` repeats the measurement.
"""

import importlib.util
import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from ragstone.optional import load

Array: TypeAlias = np.ndarray[Any, Any]

# Queries and rows per matrix product: 8 MB of products, which stay in the processor's cache for the comparison.
_BLOCK = 512
_COLUMNS = 4096
# Maximum candidates per block of queries; only masses of equal vectors reach it.
_MOST = 4_000_000
# Candidates requested from FAISS beyond k, to include those within the margin of the k-th.
_SPARE = 8
# Numbers gathered at a time for the exact products.
_GATHERED = 500_000


class Nearest(Protocol):
    """A vector index. `name` includes the library's version; `nbytes` is its size in memory."""

    @property
    def name(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    def search(self, queries: Array, k: int, /) -> tuple[Array, Array]: ...


def _margin(dimensions: int) -> float:
    """Twice the error bound of a float32 product of two unit vectors: eight standard deviations of a random walk of
    rounding errors."""
    return 16 * math.sqrt(dimensions) * 2.0**-24


def empty_result(queries: Array, k: int) -> tuple[Array, Array]:
    """Arrays of rows and scores to be filled."""
    return np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))


class Exact:
    """Exhaustive search, block by block, with a working memory that does not grow with the number of rows.

    `matrix`: (n, d) float32, rows of unit length; copied only if it is not contiguous. `block`, `columns` and `most`
    are block sizes, for tests of block boundaries."""

    def __init__(self, matrix: Array, *, block: int = _BLOCK, columns: int = _COLUMNS, most: int = _MOST) -> None:
        self._rows = np.ascontiguousarray(matrix, dtype=np.float32)
        self._size, self._columns, self._most = block * columns, columns, most

    @property
    def name(self) -> str:
        return f"exact, numpy {np.__version__}"

    @property
    def nbytes(self) -> int:
        return int(self._rows.nbytes)

    def search(self, queries: Array, k: int, /) -> tuple[Array, Array]:
        """(q, d) float32 unit vectors → rows (q, min(k, n)) int64 and scores float64, best first."""
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        k = max(0, min(k, len(self._rows)))
        if not len(queries) or not k:
            return empty_result(queries, k)
        columns = min(len(self._rows), max(self._columns, 2 * k))
        step = max(1, self._size // columns)
        buffers = _Buffers(min(step, len(queries)), columns)
        parts = [self._block(queries[start : start + step], k, buffers) for start in range(0, len(queries), step)]
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([scores for _, scores in parts])

    def _block(self, queries: Array, k: int, buffers: "_Buffers") -> tuple[Array, Array]:
        """Scans the rows with a rising bound per query: the k-th best so far, minus the margin."""
        n, width, margin = len(self._rows), buffers.columns, np.float32(_margin(queries.shape[1]))
        candidates, fresh, bound = _Candidates(len(queries)), 0, np.empty(0)
        for start in range(0, n, width):
            products, above = buffers.of(len(queries), min(width, n - start))
            np.matmul(queries, self._rows[start : start + width].T, out=products)
            if not start:
                least = products.shape[1] - k
                bound = np.partition(products, least, axis=1)[:, least] - margin
            np.greater_equal(products, bound[:, None], out=above)
            fresh += candidates.add(np.flatnonzero(above), products, start)
            if start + width >= n or fresh > 3 * k * len(queries):
                bound, fresh = candidates.prune(k, margin), 0
            if candidates.size > self._most and len(queries) > 1:
                halves = np.array_split(queries, 2)
                parts = [self._block(half, k, buffers) for half in halves]
                return np.concatenate([rows for rows, _ in parts]), np.concatenate([scores for _, scores in parts])
        return candidates.best(self._rows, queries, k)


class _Buffers:
    """Reusable memory for the products of a block and the mask of those above the bound."""

    def __init__(self, block: int, columns: int) -> None:
        self.columns = columns
        self._products = np.empty(block * columns, dtype=np.float32)
        self._above = np.empty(block * columns, dtype=np.bool_)

    def of(self, queries: int, columns: int) -> tuple[Array, Array]:
        shape, size = (queries, columns), queries * columns
        return self._products[:size].reshape(shape), self._above[:size].reshape(shape)


class _Candidates:
    """Rows that may be among the k best of a query, with their float32 products."""

    def __init__(self, queries: int) -> None:
        self._queries = np.arange(queries)
        self._parts: list[tuple[Array, Array, Array]] = []
        self.size = 0

    def add(self, places: Array, products: Array, start: int) -> int:
        """Adds `places`, indices into the flattened `products`, whose first column is the row `start`. Returns their
        number."""
        query = places // products.shape[1]
        self._parts.append((query, places - query * products.shape[1] + start, products.ravel()[places]))
        self.size += len(places)
        return len(places)

    def prune(self, k: int, margin: Any) -> Array:
        """Keeps the candidates within the margin of each query's k-th best. Returns the new bounds."""
        query, row, value = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        order = np.lexsort((-value, query))
        first = np.searchsorted(query[order], self._queries)
        bound: Array = value[order][first + (k - 1)] - margin
        above = value >= bound[query]
        self._parts = [(query[above], row[above], value[above])]
        self.size = len(self._parts[0][0])
        return bound

    def best(self, matrix: Array, queries: Array, k: int) -> tuple[Array, Array]:
        """The k best rows of each query by exact product, and their scores."""
        ((query, row, _),) = self._parts
        score = exact_products(matrix, queries, row, query)
        order = np.lexsort((row, -score, query))
        places = order[np.searchsorted(query[order], self._queries)[:, None] + np.arange(k)]
        return row[places], score[places]


def exact_products(matrix: Array, queries: Array, rows: Array, selected: Array) -> Array:
    """Float64 products of `matrix[rows]` and `queries[selected]`, pair by pair; independent of the other pairs."""
    scores = np.empty(len(rows))
    for some in _slices(len(rows), matrix.shape[1]):
        gathered = matrix[rows[some]].astype(np.float64)
        gathered *= queries[selected[some]]
        # Contiguous rows of equal length are always summed in the same order.
        scores[some] = gathered.sum(axis=1)
    return scores


def _slices(n: int, size: int) -> Iterator[slice]:
    step = max(1, _GATHERED // max(1, size))
    return (slice(start, start + step) for start in range(0, n, step))


class Faiss:
    """FAISS's exact flat index or, with `links`, its approximate HNSW graph (`links` edges per node, `effort` nodes
    visited).

    Candidates are rescored as in `Exact`, so the flat index gives the same rows and scores. Raises MissingExtra if
    faiss is not installed."""

    def __init__(self, matrix: Array, *, links: int = 0, effort: int = 128) -> None:
        self._faiss = faiss = load_faiss()
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        self._links = links
        if links:
            self._index = faiss.IndexHNSWFlat(matrix.shape[1], links, faiss.METRIC_INNER_PRODUCT)
            self._index.hnsw.efConstruction = max(effort, 40)
            self._index.hnsw.efSearch = effort
        else:
            self._index = faiss.IndexFlatIP(matrix.shape[1])
        self._index.add(matrix)
        # A view of the index's own copy, to keep only one in memory.
        storage = faiss.downcast_index(self._index.storage) if links else self._index
        self._rows = faiss.rev_swig_ptr(storage.get_xb(), matrix.size).reshape(matrix.shape)

    @property
    def name(self) -> str:
        kind = f"approximate, HNSW with {self._links} links" if self._links else "exact, flat"
        return f"{kind}, faiss {self._faiss.__version__}"

    @property
    def nbytes(self) -> int:
        graph = self._index.hnsw if self._links else None
        links = 4 * graph.neighbors.size() + 8 * graph.offsets.size() + 4 * graph.levels.size() if graph else 0
        return int(self._rows.nbytes) + int(links)

    def search(self, queries: Array, k: int, /) -> tuple[Array, Array]:
        """As `Exact.search`; with the approximate index, among the rows that it finds."""
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        n, k = len(self._rows), max(0, min(k, len(self._rows)))
        rows, scores = empty_result(queries, k)
        left, depth = np.arange(len(queries)), min(n, k + _SPARE)
        while k and len(left):
            values, candidates = self._index.search(queries[left], depth)
            if short := np.flatnonzero(candidates.min(axis=1) < 0).tolist():
                candidates[short] = [_filled(row, depth) for row in candidates[short].tolist()]
            pending = np.repeat(left, depth)
            products = exact_products(self._rows, queries, candidates.ravel(), pending).reshape(candidates.shape)
            order = np.lexsort((candidates, -products))[:, :k]
            rows[left] = np.take_along_axis(candidates, order, axis=1)
            scores[left] = np.take_along_axis(products, order, axis=1)
            if self._links or depth == n:
                break
            # Rows beyond the last candidate score no higher than it: if it is within the margin, request more.
            left = left[values[:, -1] >= values[:, k - 1] - _margin(queries.shape[1])]
            depth = min(n, 4 * depth)
        return rows, scores


def _filled(row: Sequence[int], size: int) -> list[int]:
    """Fills up a result with rows that were not found: the graph may reach fewer nodes than requested."""
    valid = [row_id for row_id in row if row_id >= 0]
    used = set(valid)
    return valid + [row_id for row_id in range(size + len(valid)) if row_id not in used][: size - len(valid)]


def has_faiss() -> bool:
    """True if FAISS is installed."""
    return importlib.util.find_spec("faiss") is not None


def load_faiss() -> Any:
    """The module. Raises MissingExtra."""
    return load("faiss", extra="faiss", purpose="The index faiss", package="faiss-cpu")
