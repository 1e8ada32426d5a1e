"""Chroma, a server or embedded (`retrieval/engine.py` has the options).

    chroma(embedder=local/e5-small)                                             the pool, in a temporary folder
    chroma(./db,collection=docs,embedder=local/e5-small)                        a collection of your own
    chroma(http://localhost:8000,collection=docs,embedder=openai/text-embedding-3-small)

The text is the document of an entry, or the metadata `text=KEY`; `id` and `title` are keys of the metadata, without
`id` the entries' ids count. CHROMA_API_KEY, if set, is sent as the key (X-Chroma-Token). Needs the extra `chroma`.
"""

import asyncio
import contextlib
import functools
import itertools
import os
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from ragstone.optional import load
from ragstone.retrieval.engine import Engine, EngineKind, EngineTarget, Hit, Vectors, similarity
from ragstone.types import Passage

_KEY = "CHROMA_API_KEY"
_ROWS = 1000  # per write and per page


class _Chroma:
    def __init__(self, library: Any, client: Any, target: EngineTarget) -> None:
        self.library = f"chromadb {library.__version__}"
        self._client, self._fields = client, target.fields
        self._text = target.options.get("text", "")  # "": the document
        self._opened: dict[str, tuple[Any, str]] = {}

    def _open(self, name: str) -> tuple[Any, str]:
        """A collection and its metric. Without an embedding function, which would be the library's own."""
        if name not in self._opened:
            collection = self._client.get_collection(name, embedding_function=None)
            index = collection.configuration.get("hnsw") or collection.configuration.get("spann") or {}
            self._opened[name] = collection, str(index.get("space", "l2"))
        return self._opened[name]

    async def collections(self) -> Sequence[str]:
        return [item.name for item in await asyncio.to_thread(self._client.list_collections)]

    async def count(self, collection: str) -> int:
        opened, _ = await asyncio.to_thread(self._open, collection)
        return int(await asyncio.to_thread(opened.count))

    async def check(self, collection: str, dimensions: int) -> int:
        opened, _ = await asyncio.to_thread(self._open, collection)
        first = await asyncio.to_thread(lambda: opened.get(limit=1, include=["embeddings"]))
        return len(first["embeddings"][0]) if len(first["ids"]) else dimensions

    async def fill(self, collection: str, passages: Sequence[Passage], vectors: Vectors) -> None:
        assert vectors is not None
        await asyncio.to_thread(self._fill, collection, passages, vectors)

    def _fill(self, name: str, passages: Sequence[Passage], vectors: Any) -> None:
        if name in [item.name for item in self._client.list_collections()]:
            self._client.delete_collection(name)
        # `search_ef` bounds the depth of a search; the default of 100 is that of recall@100.
        index = {"space": "cosine", "ef_search": 400, "ef_construction": 200}
        collection = self._client.create_collection(name, configuration={"hnsw": index}, embedding_function=None)
        rows = min(_ROWS, self._client.get_max_batch_size())
        for start in range(0, len(passages), rows):
            batch = passages[start : start + rows]
            collection.add(
                ids=[f"{place}" for place in range(start, start + len(batch))],
                embeddings=vectors[start : start + len(batch)],
                metadatas=[{"ragstone_id": passage.id} for passage in batch],
            )

    async def search(self, collection: str, query: str, vector: Vectors, k: int) -> list[Hit]:
        return await asyncio.to_thread(self._search, collection, vector, k)

    def _search(self, name: str, vector: Any, k: int) -> list[Hit]:
        collection, metric = self._open(name)
        found = collection.query(
            query_embeddings=[vector], n_results=k, include=["documents", "metadatas", "distances"]
        )
        rows = zip(*(found[key][0] for key in ("ids", "documents", "metadatas", "distances")), strict=True)
        return [self._hit(own, document, values, distance, metric) for own, document, values, distance in rows]

    async def entries(self, collection: str) -> AsyncIterator[Hit]:
        opened, _ = await asyncio.to_thread(self._open, collection)
        for start in itertools.count(0, _ROWS):
            get = functools.partial(opened.get, limit=_ROWS, offset=start, include=["documents", "metadatas"])
            found = await asyncio.to_thread(get)
            if not found["ids"]:
                return
            for own, document, values in zip(found["ids"], found["documents"], found["metadatas"], strict=True):
                yield self._hit(own, document, values, 1.0, "cosine")

    def _hit(self, own: str, document: str | None, metadata: Any, distance: float, metric: str) -> Hit:
        values = metadata or {}
        hit = self._fields.hit(values.get(self._fields.id or "ragstone_id", own), similarity(distance, metric), values)
        return hit if self._text else hit._replace(text=document or "")


@contextlib.asynccontextmanager
async def _connect(target: EngineTarget) -> AsyncIterator[Engine]:
    library = load("chromadb", extra="chroma", purpose="A retriever chroma(…)")
    settings = library.config.Settings(anonymized_telemetry=False)
    if target.is_address:
        parts = urlsplit(target.place)
        key = os.environ.get(_KEY)
        connect = functools.partial(
            library.HttpClient, host=parts.hostname, port=parts.port or (443 if parts.scheme == "https" else 80),
            ssl=parts.scheme == "https", headers={"X-Chroma-Token": key} if key else None, settings=settings,
        )  # fmt: skip
        try:
            client = await asyncio.to_thread(connect)
        except ValueError as error:
            raise ConnectionError(str(error)) from error  # what it means by that
    else:
        client = await asyncio.to_thread(library.PersistentClient, path=target.place, settings=settings)
    try:
        yield _Chroma(library, client, target)
    finally:
        close = getattr(client, "close", None)
        if close is not None:
            await asyncio.to_thread(close)


PLUGINS = {
    "chroma": EngineKind(
        "chroma", "Chroma", _connect, _KEY, "chroma(http://localhost:8000,embedder=local/e5-small)", local=True,
        unreachable=("ConnectError",), unauthorized=("ChromaAuthError", "AuthorizationError"),
    )
}  # fmt: skip
