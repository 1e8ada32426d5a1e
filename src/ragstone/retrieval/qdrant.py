"""Qdrant, a server or embedded (`retrieval/engine.py` has the options).

    qdrant(embedder=local/e5-small)                                             the pool, in a temporary folder
    qdrant(http://localhost:6333,collection=docs,embedder=local/e5-small,text=page_content)

`id`, `text` and `title` are keys of the payload, with dots for nested ones (`metadata.source`); without `id` the
points' ids count. `vector` is the name of a named vector. QDRANT_API_KEY, if set, is sent as the key. Needs the extra
`qdrant`.
"""

import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from ragstone.errors import UsageError
from ragstone.optional import load
from ragstone.retrieval.engine import Engine, EngineKind, EngineTarget, Fields, Hit, Vectors, value_at
from ragstone.types import Passage

_KEY = "QDRANT_API_KEY"
_ROWS = 1000  # per write


class _Qdrant:
    def __init__(self, library: Any, client: Any, fields: Fields) -> None:
        self.library = f"qdrant-client {version('qdrant-client')}"
        self._models, self._client, self._fields = library.models, client, fields
        self._by_distance = False  # its scores are distances

    async def collections(self) -> Sequence[str]:
        return [item.name for item in (await self._client.get_collections()).collections]

    async def count(self, collection: str) -> int:
        return int((await self._client.count(collection)).count)

    async def check(self, collection: str, dimensions: int) -> int:
        vectors = (await self._client.get_collection(collection)).config.params.vectors
        if isinstance(vectors, Mapping):
            if self._fields.vector not in vectors:
                names = ", ".join(vectors)
                raise UsageError(f"The collection {collection} has the vectors {names}: name one with vector=NAME.")
            vectors = vectors[self._fields.vector]
        elif self._fields.vector:
            raise UsageError(f"The collection {collection} has one vector without a name: leave vector= out.")
        self._by_distance = vectors.distance.value in ("Euclid", "Manhattan")
        return int(vectors.size)

    async def fill(self, collection: str, passages: Sequence[Passage], vectors: Vectors) -> None:
        assert vectors is not None
        models = self._models
        if await self._client.collection_exists(collection):
            await self._client.delete_collection(collection)
        config = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
        await self._client.create_collection(collection, vectors_config=config)
        for start in range(0, len(passages), _ROWS):
            rows = passages[start : start + _ROWS]
            batch = models.Batch(
                ids=list(range(start, start + len(rows))), vectors=vectors[start : start + len(rows)].tolist(),
                payloads=[{"ragstone_id": passage.id} for passage in rows],
            )  # fmt: skip
            await self._client.upsert(collection, points=batch, wait=True)

    async def search(self, collection: str, query: str, vector: Vectors, k: int) -> list[Hit]:
        assert vector is not None
        found = await self._client.query_points(
            collection, query=vector.tolist(), using=self._fields.vector or None, limit=k, with_payload=True
        )
        return [self._hit(point) for point in found.points]

    async def entries(self, collection: str) -> AsyncIterator[Hit]:
        offset = None
        while True:
            points, offset = await self._client.scroll(collection, limit=_ROWS, offset=offset, with_payload=True)
            for point in points:
                yield self._hit(point)
            if offset is None:
                return

    def _hit(self, point: Any) -> Hit:
        payload, fields = point.payload or {}, self._fields
        own = payload.get("ragstone_id", point.id)
        key = value_at(payload, fields.id) if fields.id else own
        found = getattr(point, "score", 0.0)
        score = 1.0 / (1.0 + found) if self._by_distance else found
        return fields.hit(own if key is None else key, score, payload)


@contextlib.asynccontextmanager
async def _connect(target: EngineTarget) -> AsyncIterator[Engine]:
    library = load("qdrant_client", extra="qdrant", purpose="A retriever qdrant(…)")
    if target.is_address:
        seconds = max(1, round(target.model_options.timeout))
        client = library.AsyncQdrantClient(
            url=target.place, api_key=os.environ.get(_KEY) or None, timeout=seconds, check_compatibility=False
        )
    else:
        client = library.AsyncQdrantClient(path=target.place)
    try:
        yield _Qdrant(library, client, target.fields)
    finally:
        await client.close()


PLUGINS = {
    "qdrant": EngineKind(
        "qdrant", "Qdrant", _connect, _KEY, "qdrant(http://localhost:6333,embedder=local/e5-small)", local=True,
        options=("vector",), unreachable=("ResponseHandlingException", "ConnectError"),
    )
}  # fmt: skip
