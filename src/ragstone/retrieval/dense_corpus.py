"""Dense retrieval over documents that never are in memory together: `dense(EMBEDDER,corpus=PATH)`, PATH a file or
folder as of `--corpus`.

The documents are read one after the other, cut into chunks, embedded block by block, and kept in the index on disk with
their text. The index is kept by the content of the files; what was embedded before a kill is in the cache of vectors.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ragstone.errors import StorageError
from ragstone.retrieval.bm25_corpus import Chunks
from ragstone.retrieval.bm25_disk import packed, unpacked
from ragstone.retrieval.embedders import embed_all
from ragstone.retrieval.index_folder import kept_index
from ragstone.retrieval.nearest_disk import OnDisk, build_on_disk, is_on_disk
from ragstone.storage import Layout, connect, transaction
from ragstone.types import Embedder, Passage

if TYPE_CHECKING:
    import numpy as np

log = logging.getLogger(__name__)

_LAYOUT = Layout(
    what="file of passages",
    application_id=0x52475054,  # "RGPT"
    version=1,
    tables=("CREATE TABLE passages (row INTEGER PRIMARY KEY, passage BLOB NOT NULL)",),
    durable=False,
)
_NAME = "passages.sqlite"
_BLOCK = 4096  # passages that are embedded before their vectors are written to disk
_LOG_EVERY = 10.0  # seconds


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
    while block := await asyncio.to_thread(lambda: list(islice(remaining, _BLOCK))):
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
