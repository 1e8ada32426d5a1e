"""The nearest vectors of a matrix, exactly: the same answer on every machine, whatever the library and its threads.

Products of many vectors at once are taken in float32, and their last bits depend on the library, the processor and how
many are taken together. So they only choose candidates, with a margin above that error; the candidates' scores are then
taken anew, one product at a time in float64, and ranked by them. Equal vectors therefore have equal scores, and ties go
by the order of the rows.

Which index was chosen by measurement (7,560 queries over 37,800 x 384, top 5). With one thread, numpy and FAISS's flat
index take the same time (numpy 1.02 times FAISS's), because both multiply as fast as the processor does, and that is
nine tenths of it. With two, FAISS also chooses in parallel, and numpy takes a fifth longer. So a large pool is searched
by FAISS where it is installed, and nothing depends on it. `bench/retrieval.py` measures it again.
"""

import importlib.util
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ragstone.errors import MissingExtra

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = "np.ndarray[Any, Any]"

__all__ = ["Exact", "Faiss", "Nearest", "has_faiss"]

# Queries and rows multiplied at one time: 8 MB of products, still in the processor's cache when they are compared.
_BLOCK = 512
_COLUMNS = 4096
# Candidates of one block of queries at most: only vectors that are equal without end bring it there.
_MOST = 4_000_000
# Candidates that FAISS is asked for beyond k, so that those within the margin of the k-th are among them.
_SPARE = 8
# Numbers gathered at one time for the exact products.
_GATHERED = 500_000


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


def _nothing(queries: "Array", k: int) -> "tuple[Array, Array]":
    import numpy as np  # noqa: PLC0415

    return np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))


class Exact:
    """All products, block by block, in memory that does not grow with the rows.

    `matrix`: (n, d) float32, rows of unit length; kept, and copied only where it is not contiguous. `block`, `columns`
    and `most` are the sizes of blocks, for tests of their seams."""

    def __init__(self, matrix: "Array", *, block: int = _BLOCK, columns: int = _COLUMNS, most: int = _MOST) -> None:
        import numpy as np  # noqa: PLC0415

        self._rows = np.ascontiguousarray(matrix, dtype=np.float32)
        self._size, self._columns, self._most = block * columns, columns, most

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
        k = max(0, min(k, len(self._rows)))
        if not len(queries) or not k:
            return _nothing(queries, k)
        columns = min(len(self._rows), max(self._columns, 2 * k))
        step = max(1, self._size // columns)
        room = _Room(min(step, len(queries)), columns)
        parts = [self._block(queries[start : start + step], k, room) for start in range(0, len(queries), step)]
        return np.concatenate([rows for rows, _ in parts]), np.concatenate([scores for _, scores in parts])

    def _block(self, queries: "Array", k: int, room: "_Room") -> "tuple[Array, Array]":
        """Goes through the rows with a bound for each query that rises: the k-th best so far, less the margin."""
        import numpy as np  # noqa: PLC0415

        n, width, margin = len(self._rows), room.columns, np.float32(_margin(queries.shape[1]))
        candidates, fresh, bound = _Candidates(len(queries)), 0, np.empty(0)
        for start in range(0, n, width):
            products, above = room.of(len(queries), min(width, n - start))
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
                parts = [self._block(half, k, room) for half in halves]
                return np.concatenate([rows for rows, _ in parts]), np.concatenate([scores for _, scores in parts])
        return candidates.best(self._rows, queries, k)


class _Room:
    """Memory for the products of a block, and for which of them are above the bound, used again and again."""

    def __init__(self, block: int, columns: int) -> None:
        import numpy as np  # noqa: PLC0415

        self.columns = columns
        self._products = np.empty(block * columns, dtype=np.float32)
        self._above = np.empty(block * columns, dtype=np.bool_)

    def of(self, queries: int, columns: int) -> "tuple[Array, Array]":
        shape, size = (queries, columns), queries * columns
        return self._products[:size].reshape(shape), self._above[:size].reshape(shape)


class _Candidates:
    """Rows that may be among the best of a query, with their float32 products."""

    def __init__(self, queries: int) -> None:
        import numpy as np  # noqa: PLC0415

        self._queries = np.arange(queries)
        self._parts: list[tuple[Array, Array, Array]] = []
        self.size = 0

    def add(self, places: "Array", products: "Array", start: int) -> int:
        """`places` in the flattened `products`, whose first column is the row `start`. How many they are."""
        query = places // products.shape[1]
        self._parts.append((query, places - query * products.shape[1] + start, products.ravel()[places]))
        self.size += len(places)
        return len(places)

    def prune(self, k: int, margin: Any) -> "Array":
        """Leaves what is within the margin of each query's k-th best. The bounds."""
        import numpy as np  # noqa: PLC0415

        query, row, value = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        order = np.lexsort((-value, query))
        first = np.searchsorted(query[order], self._queries)
        bound: Array = value[order][first + (k - 1)] - margin
        above = value >= bound[query]
        self._parts = [(query[above], row[above], value[above])]
        self.size = len(self._parts[0][0])
        return bound

    def best(self, matrix: "Array", queries: "Array", k: int) -> "tuple[Array, Array]":
        """The k best of each query by their exact products."""
        import numpy as np  # noqa: PLC0415

        ((query, row, _),) = self._parts
        score = exact_products(matrix, queries, row, query)
        order = np.lexsort((row, -score, query))
        places = order[np.searchsorted(query[order], self._queries)[:, None] + np.arange(k)]
        return row[places], score[places]


def exact_products(matrix: "Array", queries: "Array", rows: "Array", selected: "Array") -> "Array":
    """The float64 products of `matrix[rows]` and `queries[asked]`, pair by pair: each the same wherever it stands."""
    import numpy as np  # noqa: PLC0415

    scores = np.empty(len(rows))
    for some in _slices(len(rows), matrix.shape[1]):
        gathered = matrix[rows[some]].astype(np.float64)
        gathered *= queries[selected[some]]
        # Contiguous numbers of one length are added up in one order.
        scores[some] = gathered.sum(axis=1)
    return scores


def _slices(n: int, size: int) -> Iterator[slice]:
    step = max(1, _GATHERED // max(1, size))
    return (slice(start, start + step) for start in range(0, n, step))


class Faiss:
    """FAISS's flat index, exact, or its HNSW graph (`links` edges a node, `effort` nodes looked at), approximate.

    Its candidates are scored anew as in `Exact`, so that the flat index gives the same rows and scores. Raises
    MissingExtra where faiss is not installed."""

    def __init__(self, matrix: "Array", *, links: int = 0, effort: int = 128) -> None:
        import numpy as np  # noqa: PLC0415

        self._faiss = faiss = _load_faiss()
        matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        self._links = links
        if links:
            self._index = faiss.IndexHNSWFlat(matrix.shape[1], links, faiss.METRIC_INNER_PRODUCT)
            self._index.hnsw.efConstruction = max(effort, 40)
            self._index.hnsw.efSearch = effort
        else:
            self._index = faiss.IndexFlatIP(matrix.shape[1])
        self._index.add(matrix)
        # The index has its own copy; this is a look at it, so that there are not two.
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

    def search(self, queries: "Array", k: int, /) -> "tuple[Array, Array]":
        """As `Exact.search`; of the approximate index, what it finds."""
        import numpy as np  # noqa: PLC0415

        queries = np.ascontiguousarray(queries, dtype=np.float32)
        n, k = len(self._rows), max(0, min(k, len(self._rows)))
        rows, scores = _nothing(queries, k)
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
            # What was not given is at most the last that was: where that is within the margin, ask for more.
            left = left[values[:, -1] >= values[:, k - 1] - _margin(queries.shape[1])]
            depth = min(n, 4 * depth)
        return rows, scores


def _filled(row: Sequence[int], size: int) -> list[int]:
    """A graph may reach fewer nodes than were asked for: filled up with rows that it did not find."""
    valid = [row_id for row_id in row if row_id >= 0]
    used = set(valid)
    return valid + [row_id for row_id in range(size + len(valid)) if row_id not in used][: size - len(valid)]


def has_faiss() -> bool:
    """Whether FAISS is installed."""
    return importlib.util.find_spec("faiss") is not None


def _load_faiss() -> Any:
    try:
        return importlib.import_module("faiss")
    except ModuleNotFoundError:
        raise MissingExtra(
            "The index faiss needs faiss-cpu, which is not installed. Run: pip install 'ragstone[faiss]'"
        ) from None
