"""The best passages where each has several vectors: a passage is as near as the nearest of its own.

    score(query, passage) = mean over the query's vectors of the maximum over the passage's of their product

With one vector a query that is multi-vector retrieval; with several it is the rule of late interaction, MaxSim (Khattab
and Zaharia 2020, https://arxiv.org/abs/2004.12832; a mean where they sum, so that scores stay within -1 and 1).

As in `nearest.py`, products in float32 only choose candidates; their scores are taken anew in float64.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = "np.ndarray[Any, Any]"

__all__ = ["MaxSim"]

# Bytes of float32 products held at one time.
_BLOCK_BYTES = 96 * 2**20
# Numbers gathered at one time for the exact products.
_GATHERED = 4_000_000


class MaxSim:
    """All products, in blocks.

    `matrix`: (m, d) float32, rows of unit length, the rows of a passage together; `counts`: how many rows each of the
    n passages has, at least one each. `block` is for tests of the seams: how many vectors of queries at one time.
    """

    def __init__(self, matrix: "Array", counts: Sequence[int], *, block: int = 0) -> None:
        import numpy as np  # noqa: PLC0415

        self._rows = np.ascontiguousarray(matrix, dtype=np.float32)
        self._counts = np.asarray(counts, dtype=np.int64)
        if self._counts.sum() != len(self._rows) or self._counts.min(initial=1) < 1:
            raise ValueError("Each passage needs at least one row, and each row a passage.")
        self._starts = np.concatenate([[0], np.cumsum(self._counts)[:-1]])
        self._block = block or max(1, _BLOCK_BYTES // (4 * max(1, len(self._rows))))
        # Twice what a float32 product may be off (`nearest.py`); a mean is off no more than the worst of its terms.
        self._margin = 16 * float(self._rows.shape[1]) ** 0.5 * 2.0**-24

    @property
    def name(self) -> str:
        import numpy as np  # noqa: PLC0415

        return f"exact, the best of each passage, numpy {np.__version__}"

    @property
    def nbytes(self) -> int:
        return int(self._rows.nbytes + self._counts.nbytes + self._starts.nbytes)

    def search(self, queries: Sequence["Array"], k: int, /) -> "list[tuple[Array, Array]]":
        """For each query, (w, d) float32 with w ≥ 1 rows of unit length: the numbers of its min(k, n) best passages,
        the best first and ties by their order, and their scores (float64)."""
        import numpy as np  # noqa: PLC0415

        k = min(k, len(self._counts))
        if k < 1:
            return [(np.empty(0, dtype=np.int64), np.empty(0)) for _ in queries]
        return [hits for some in self._blocks(queries) for hits in self._search(some, k)]

    def _blocks(self, queries: Sequence["Array"]) -> "Iterator[list[Array]]":
        some: list[Array] = []
        for query in queries:
            if some and sum(map(len, some)) + len(query) > self._block:
                yield some
                some = []
            some.append(query)
        if some:
            yield some

    def _search(self, queries: "list[Array]", k: int) -> "Iterator[tuple[Array, Array]]":
        import numpy as np  # noqa: PLC0415

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

    def _scores(self, query: "Array", passages: "Array") -> "Array":
        """The scores of these passages, in float64."""
        import numpy as np  # noqa: PLC0415

        scores = np.empty(len(passages))
        most = max(1, _GATHERED // (self._rows.shape[1] * int(self._counts[passages].max())))
        for start in range(0, len(passages), most):
            some = passages[start : start + most]
            counts = self._counts[some]
            offsets = np.concatenate([[0], np.cumsum(counts)[:-1]])
            # Of each passage its rows: its start, and as many steps from there as it has rows.
            rows = np.arange(counts.sum()) + np.repeat(self._starts[some] - offsets, counts)
            gathered = self._rows[rows].astype(np.float64)
            # A sum over contiguous numbers of one length is taken in one order, wherever its row stands.
            best = [np.maximum.reduceat((gathered * token).sum(axis=-1), offsets) for token in query]
            scores[start : start + most] = np.mean(best, axis=0)
        return scores
