"""Approximate nearest neighbours from disk, for vectors that do not fit into memory: FAISS's inverted lists of vectors
in eight bits a number, which select candidates, and the vectors themselves, by which the candidates are ranked.

A folder has `vectors.f32` (rows of float32), `lists-N.faiss` (the lists of a million rows each, with the same centres),
and `facts.json`. The large files are mapped into memory, so that the system keeps of them what it has room for. The
centres are computed from a sample, so that building takes about as little memory for many vectors as for few.
`docs/decisions/0033-indexes-on-disk.md` has the measurements.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ragstone.errors import BadReply, StorageError
from ragstone.retrieval.index_folder import bytes_of
from ragstone.retrieval.nearest import Exact, empty_result, exact_products, load_faiss

Array: TypeAlias = np.ndarray[Any, Any]

PROBES = 256
"""Lists that are searched for each query."""
_PER_LIST = 40  # vectors per list from which the lists' centres are computed
_ROUNDS = 10  # of k-means
_PART = 1_000_000  # rows of a file of lists
_STEP = 50_000  # rows that are in memory at a time
_SPARE = 16  # candidates beyond twice k
SAMPLED = 200
"""Queries by which the recall is measured."""


class OnDisk:
    """Searches a folder that `build_on_disk` made, `probes` of its lists for each query; 0: exactly, all vectors."""

    def __init__(self, folder: Path, *, probes: int = PROBES) -> None:
        self._faiss = load_faiss()
        facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        self._rows = _mapped(folder, facts["dimensions"])
        self._parts = [
            self._faiss.read_index(str(folder / f"lists-{number}.faiss"), self._faiss.IO_FLAG_MMAP)
            for number in range(math.ceil(len(self._rows) / _PART))
        ]
        self._probes, self.is_exact = min(probes, self._parts[0].nlist), not probes
        for part in self._parts:
            part.nprobe = self._probes or 1
        self.dimensions, self.nbytes, self._vectors = facts["dimensions"], bytes_of(folder), facts["vectors"]

    @property
    def is_whole(self) -> bool:
        """True if every row is in a list."""
        return bool(len(self._rows) == self._vectors == sum(part.ntotal for part in self._parts))

    @property
    def name(self) -> str:
        if self.is_exact:
            return f"on disk, {Exact(self._rows).name}"
        return f"on disk, {self._probes} of {self._parts[0].nlist:,} lists, faiss {self._faiss.__version__}"

    def recall(self, queries: Array | None = None, k: int = 5) -> float:
        """The share of the `k` nearest rows of exact search that is found, for `queries`; without queries, of the
        nearest other rows of `SAMPLED` rows."""
        own = np.full(len(queries), -1) if queries is not None else self._sampled()
        asked = self._rows[own] if queries is None else queries
        expected, _ = Exact(self._rows).search(asked, k + 1)
        found, _ = self.search(asked, k + 1)
        shares = []
        for place, right, its in zip(own.tolist(), expected.tolist(), found.tolist(), strict=True):
            nearest, near = ([row for row in rows if row != place][:k] for rows in (right, its))
            shares.append(len({*nearest} & {*near}) / len(nearest) if nearest else 1.0)
        return sum(shares) / len(shares)

    def _sampled(self) -> Array:
        return np.arange(0, len(self._rows), max(1, len(self._rows) // SAMPLED))[:SAMPLED]

    def search(self, queries: Array, k: int, /) -> tuple[Array, Array]:
        """As `Exact.search`, among the rows in the lists that are searched; -1 and a score of -inf where these have
        fewer."""
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        k = max(0, min(k, len(self._rows)))
        if not len(queries) or not k:
            return empty_result(queries, k)
        if self.is_exact:
            return Exact(self._rows).search(queries, k)
        depth = min(len(self._rows), 2 * k + _SPARE)
        candidates = np.concatenate([part.search(queries, depth)[1] for part in self._parts], axis=1)
        selected = np.repeat(np.arange(len(queries)), candidates.shape[1])
        products = exact_products(self._rows, queries, candidates.ravel(), selected)
        products = np.where(candidates < 0, -np.inf, products.reshape(candidates.shape))
        order = np.lexsort((candidates, -products))[:, :k]
        return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(products, order, axis=1)


def lists_for(rows: int) -> int:
    """The number of lists for so many rows: half of that which is usual (4 √n), for a higher recall."""
    return max(1, min(int(2 * math.sqrt(rows)), rows // _PER_LIST))


def _mapped(folder: Path, dimensions: int) -> Array:
    return np.memmap(folder / "vectors.f32", dtype="<f4", mode="r").reshape(-1, dimensions)


def is_on_disk(folder: Path) -> bool:
    """True for a folder with a whole index."""
    try:
        return OnDisk(folder).is_whole
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return False


async def build_on_disk(folder: Path, blocks: AsyncIterator[Array]) -> None:
    """Writes blocks of unit vectors (float32) and their index into an empty folder. Raises StorageError, BadReply if
    the vectors differ in length, and what `blocks` raises."""
    dimensions = 0
    with (folder / "vectors.f32").open("wb") as stream:
        async for block in blocks:
            if dimensions not in (0, block.shape[1]):
                raise BadReply("The vectors have different dimensions. Use another cache folder or --no-cache.")
            dimensions = block.shape[1]
            await asyncio.to_thread(stream.write, block.astype("<f4").tobytes())
    try:
        await asyncio.to_thread(_index, folder, dimensions)
    except RuntimeError as error:  # how FAISS reports the disk's errors
        line = " ".join(str(error).split())[:200]
        raise StorageError(f"{folder}: the index cannot be written ({line}). Free some space.") from error


def _index(folder: Path, dimensions: int) -> None:
    faiss = load_faiss()
    rows = _mapped(folder, dimensions)
    lists = lists_for(len(rows))
    centres = faiss.IndexFlatIP(dimensions)
    kind = faiss.ScalarQuantizer.QT_8bit
    index = faiss.IndexIVFScalarQuantizer(centres, dimensions, lists, kind, faiss.METRIC_INNER_PRODUCT)
    index.cp.niter, index.cp.max_points_per_centroid, index.cp.min_points_per_centroid = _ROUNDS, _PER_LIST, 1
    sample = np.sort(np.random.default_rng(0).choice(len(rows), min(len(rows), _PER_LIST * lists), replace=False))
    index.train(rows[sample])
    for number, first in enumerate(range(0, len(rows), _PART)):
        index.reset()
        for start in range(first, min(len(rows), first + _PART), _STEP):
            some = np.ascontiguousarray(rows[start : min(start + _STEP, first + _PART)])
            index.add_with_ids(some, np.arange(start, start + len(some)))
        faiss.write_index(index, str(folder / f"lists-{number}.faiss"))
    facts = {"dimensions": dimensions, "vectors": len(rows)}
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")
