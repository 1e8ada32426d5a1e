"""Exact search over passages with several vectors each (MaxSim).

    score(query, passage) = mean over the query's vectors of the maximum dot product with the passage's vectors

With one vector per query this is multi-vector retrieval; with several it is late interaction (Khattab and Zaharia 2020,
https://arxiv.org/abs/2004.12832, who sum instead of averaging; the mean keeps scores in [-1, 1]).

As in `nearest.py`, float32 products only select candidates; their scores are recomputed in float64.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

# Bytes of float32 products in memory at a time.
_BLOCK_BYTES = 96 * 2**20
# Numbers gathered at a time for the exact products.
_GATHERED = 4_000_000


class MaxSim:
    """Exhaustive search, block by block.

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
