"""Milvus, a server or embedded as Milvus Lite (`retrieval/engine.py` has the options).

    milvus(embedder=local/e5-small)                                             the pool, in a temporary folder
    milvus(./milvus.db,collection=docs,embedder=local/e5-small)                 a collection of your own
    milvus(http://localhost:19530,collection=docs,embedder=local/e5-small,vector=embedding)

Without `id` the primary key counts; `vector` is the field "vector" unless named. MILVUS_TOKEN, if set, is sent as the
token. Needs the extra `milvus`.
"""

import asyncio
import contextlib
import importlib
import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ragstone.errors import UsageError
from ragstone.optional import load
from ragstone.retrieval.engine import Engine, EngineKind, EngineTarget, Hit, Vectors, similarity
from ragstone.types import Passage

_KEY = "MILVUS_TOKEN"
_ROWS = 1000  # per write
_LONGEST_ID = 65_535  # bytes, Milvus's limit for a text


class _Milvus:
    def __init__(self, library: Any, client: Any, target: EngineTarget) -> None:
        self.library = f"pymilvus {library.__version__}"
        self._types, self._client, self._fields = library.DataType, client, target.fields
        self._vector = target.fields.vector or "vector"
        self._described: dict[str, tuple[Mapping[str, Any], str]] = {}

    def _describe(self, name: str) -> tuple[Mapping[str, Any], str]:
        """A collection's description, and the metric of the index of its vectors."""
        if name not in self._described:
            described = self._client.describe_collection(name)
            metrics = [
                index.get("metric_type", "")
                for index in (self._client.describe_index(name, item) for item in self._client.list_indexes(name))
                if index.get("field_name") == self._vector
            ]
            self._described[name] = described, (metrics or ["COSINE"])[0]
        return self._described[name]

    async def collections(self) -> Sequence[str]:
        return list(await asyncio.to_thread(self._client.list_collections))

    async def count(self, collection: str) -> int:
        stats = await asyncio.to_thread(self._client.get_collection_stats, collection)
        return int(stats["row_count"])

    async def check(self, collection: str, dimensions: int) -> int:
        described, _ = await asyncio.to_thread(self._describe, collection)
        fields = {field["name"]: field for field in described["fields"]}
        if self._vector not in fields:
            raise UsageError(
                f"The collection {collection} has no field {self._vector!r}: name the one with the vectors with "
                f"vector=NAME. It has: {', '.join(fields)}."
            )
        await asyncio.to_thread(self._client.load_collection, collection)
        return int(fields[self._vector]["params"].get("dim", dimensions))

    async def fill(self, collection: str, passages: Sequence[Passage], vectors: Vectors) -> None:
        assert vectors is not None
        await asyncio.to_thread(self._fill, collection, passages, vectors)

    def _fill(self, name: str, passages: Sequence[Passage], vectors: Any) -> None:
        if self._client.has_collection(name):
            self._client.drop_collection(name)
        schema = self._client.create_schema(auto_id=False)
        schema.add_field("place", self._types.INT64, is_primary=True)
        schema.add_field("ragstone_id", self._types.VARCHAR, max_length=_LONGEST_ID)
        schema.add_field("vector", self._types.FLOAT_VECTOR, dim=vectors.shape[1])
        index = self._client.prepare_index_params()
        index.add_index("vector", index_type="FLAT", metric_type="COSINE")
        self._client.create_collection(name, schema=schema, index_params=index)
        for start in range(0, len(passages), _ROWS):
            rows = [
                {"place": place, "ragstone_id": passages[place].id, "vector": vectors[place].tolist()}
                for place in range(start, min(start + _ROWS, len(passages)))
            ]
            self._client.insert(name, rows)
        self._client.flush(name)

    async def search(self, collection: str, query: str, vector: Vectors, k: int) -> list[Hit]:
        return await asyncio.to_thread(self._search, collection, vector, k)

    def _search(self, name: str, vector: Any, k: int) -> list[Hit]:
        _, metric = self._describe(name)
        shown, primary = self._shown(name), self._primary(name)
        found = self._client.search(name, data=[vector.tolist()], limit=k, anns_field=self._vector, output_fields=shown)
        return [self._hit(row, primary, metric) for row in found[0]]

    async def entries(self, collection: str) -> AsyncIterator[Hit]:
        pages = await asyncio.to_thread(self._pages, collection)
        try:
            while rows := await asyncio.to_thread(pages.next):
                for row in rows:
                    yield self._hit({"entity": row, "distance": 0.0}, self._primary(collection), "")
        finally:
            await asyncio.to_thread(pages.close)

    def _pages(self, name: str) -> Any:
        self._client.load_collection(name)
        shown = [*self._shown(name), self._primary(name)]
        return self._client.query_iterator(name, batch_size=_ROWS, output_fields=list(dict.fromkeys(shown)))

    def _primary(self, name: str) -> str:
        """The name of the primary key."""
        described, _ = self._describe(name)
        return str(next((field["name"] for field in described["fields"] if field.get("is_primary")), "id"))

    def _shown(self, name: str) -> list[str]:
        """The fields of id, text and title that a collection has."""
        described, _ = self._describe(name)
        present = {field["name"] for field in described["fields"]}
        wanted = [self._fields.id or "ragstone_id", self._fields.text, self._fields.title]
        return [field for field in wanted if field in present or described.get("enable_dynamic_field")]

    def _hit(self, row: Any, primary: str, metric: str) -> Hit:
        values = row["entity"]
        key = values.get(self._fields.id or "ragstone_id", row.get(primary, row.get("id", values.get(primary))))
        return self._fields.hit(key, similarity(row["distance"], "l2") if metric == "L2" else row["distance"], values)


@contextlib.asynccontextmanager
async def _connect(target: EngineTarget) -> AsyncIterator[Engine]:
    library = load("pymilvus", extra="milvus", purpose="A retriever milvus(…)")
    place = target.place
    if not target.is_address:
        load("milvus_lite", extra="milvus", purpose="A retriever milvus(…) of a file")
        place = place if place.endswith(".db") else f"{place}/milvus.db"  # what tells pymilvus that it is a path
    log = logging.getLogger("pymilvus")  # it logs each error with its traceback
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        token, seconds = os.environ.get(_KEY) or "", target.model_options.timeout
        if target.is_address:
            await _reach(place, seconds)
        client = await asyncio.to_thread(library.MilvusClient, place, token=token, timeout=seconds)
        try:
            yield _Milvus(library, client, target)
        finally:
            await asyncio.to_thread(client.close)
            if place != target.place:  # in a temporary folder, which is about to be deleted
                await asyncio.to_thread(_stop_server, place)
    finally:
        log.setLevel(before)


async def _reach(address: str, seconds: float) -> None:
    """Raises OSError or TimeoutError if nothing answers there; the client itself would try for minutes."""
    parts = urlsplit(address)
    async with asyncio.timeout(seconds):
        _, writer = await asyncio.open_connection(parts.hostname, parts.port or 19530)
    writer.close()


def _stop_server(place: str) -> None:
    """Ends the threads of Milvus Lite, which otherwise live as long as the process."""
    manager = importlib.import_module("milvus_lite.server_manager")
    manager.server_manager_instance.release_server(place)


PLUGINS = {
    "milvus": EngineKind(
        "milvus", "Milvus", _connect, _KEY, "milvus(http://localhost:19530,embedder=local/e5-small)", local=True,
        options=("vector",), unreachable=("MilvusUnavailableException", "ConnectError"),
    )
}  # fmt: skip
