"""BM25 over documents that never are in memory together: `bm25(corpus=PATH)`, PATH a file or folder as of `--corpus`.

The documents are read one after the other, cut into chunks of `chunk` tokens (330; 0: whole), and kept in the index on
disk with their text. The index is kept by the content of the files.
"""

import asyncio
import contextlib
import logging
from array import array
from collections.abc import AsyncIterator, Callable, Iterator

import numpy as np

from ragstone.errors import DataError
from ragstone.retrieval.bm25_disk import Source, open_disk_index
from ragstone.retrieval.chunkers import chunk_passages
from ragstone.retrieval.corpus import Documents
from ragstone.retrieval.index_folder import key_of
from ragstone.retrieval.own import PoolPassages
from ragstone.retrieval.registry import Building
from ragstone.types import Passage, Retriever

log = logging.getLogger(__name__)


class Chunks:
    """The chunks of the documents, whose ids are checked first. `name` is the retriever's, for the log."""

    def __init__(self, name: str, documents: Documents, size: int) -> None:
        self.name, self._documents, self._size = name, documents, size

    def __iter__(self) -> Iterator[Passage]:
        log.info("%s: %s documents", self.name, f"{_checked_ids(self._documents):,}")
        for warning in self._documents.warnings:
            log.warning("%s: %s", self.name, warning)
        for _, document, _ in self._documents:
            yield from chunk_passages([document], size=self._size)


@contextlib.asynccontextmanager
async def open_corpus(
    name: str, documents: Documents, building: Building, terms: Callable[[str], list[str]], *,
    text: Callable[[Passage], str], kind: str, chunk: int,
) -> AsyncIterator[Retriever]:  # fmt: skip
    """The index of the documents. `kind` identifies `terms` and `text`. Raises DataError for two documents with one id,
    MissingExtra without tantivy, and what reading and writing raise."""
    pool, cache = building.pool, building.options.cache
    key = key_of([await asyncio.to_thread(documents.sha256)], kind, chunk)
    source = Source(Chunks(name, documents, chunk), key, placed=PoolPassages(pool).placed)
    async with open_disk_index(name, source, terms, text=text, cache=cache) as retriever:
        yield retriever


def _checked_ids(documents: Documents) -> int:
    """The number of documents. Raises DataError if two have the same id. It takes eight bytes a document."""
    hashes = np.frombuffer(array("q", (hash(document.id) for _, document, _ in documents)), dtype=np.int64)
    different, counts = np.unique(hashes, return_counts=True)
    suspects, seen = set(different[counts > 1].tolist()), set[str]()
    for file, document, _ in documents if suspects else ():
        if hash(document.id) in suspects:
            if document.id in seen:
                raise DataError(file, f"two documents have the id {document.id!r}. Give each its own.")
            seen.add(document.id)
    return len(hashes)
