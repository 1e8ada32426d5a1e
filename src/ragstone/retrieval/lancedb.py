"""LanceDB, the embedded vector database (`retrieval/engine.py` has the options).

    lancedb(embedder=local/e5-small)                             stores the pool in a temporary folder
    lancedb(DIR,embedder=local/e5-small)                         stores it in a database that later runs reuse
    lancedb(DIR,collection=TABLE,embedder=local/e5-small,id=COLUMN)      searches your own table

`id` is the column "id" and `vector` the column "vector" unless named; `metric` is cosine, dot or l2: the one your table
was built for. A table without a vector index, such as those created here, is searched exactly. Needs the extra
`lancedb`.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from ragstone.errors import UsageError
from ragstone.optional import load
from ragstone.retrieval.engine import Engine, EngineKind, EngineTarget, Hit, Vectors, similarity
from ragstone.types import Passage

METRICS = ("cosine", "dot", "l2")
_ROWS = 4096  # per write


class _Lance:
    def __init__(self, library: Any, database: Any, target: EngineTarget) -> None:
        self.library = f"lancedb {library.__version__}"
        self._database, self._fields = database, target.fields
        self._id, self._vector = target.fields.id or "id", target.fields.vector or "vector"
        self._metric = target.options.get("metric", "cosine")
        if self._metric not in METRICS:
            raise UsageError(f"metric={self._metric} should be one of {', '.join(METRICS)}.")
        self._tables: dict[str, Any] = {}
        self._shown: list[str] = [self._id]

    async def _table(self, name: str) -> Any:
        if name not in self._tables:
            table = self._tables[name] = await self._database.open_table(name)
            names = (await table.schema()).names
            texts = [column for column in (self._fields.text, self._fields.title) if column in names]
            self._shown = [self._id, *texts]
        return self._tables[name]

    async def collections(self) -> Sequence[str]:
        if hasattr(self._database, "list_tables"):
            listed = await self._database.list_tables()
            return list(getattr(listed, "tables", listed))
        return list(await self._database.table_names())

    async def count(self, collection: str) -> int:
        return int(await (await self._table(collection)).count_rows())

    async def check(self, collection: str, dimensions: int) -> int:
        schema = await (await self._table(collection)).schema()
        for name in (self._id, self._vector):
            if name not in schema.names:
                raise UsageError(f"The table {collection} has no column {name!r}. It has: {', '.join(schema.names)}.")
        return int(getattr(schema.field(self._vector).type, "list_size", dimensions))

    async def fill(self, collection: str, passages: Sequence[Passage], vectors: Vectors) -> None:
        import pyarrow as pa  # noqa: PLC0415  (installed with LanceDB)

        assert vectors is not None
        kind = pa.schema([("id", pa.string()), ("vector", pa.list_(pa.float32(), vectors.shape[1] or 1))])
        # LanceDB warns on standard error if mode="overwrite" finds no table.
        mode = "overwrite" if collection in await self.collections() else "create"
        table = await self._database.create_table(collection, schema=kind, mode=mode)
        for start in range(0, len(passages), _ROWS):
            part = vectors[start : start + _ROWS]
            flat = pa.FixedSizeListArray.from_arrays(pa.array(part.reshape(-1)), vectors.shape[1])
            ids = pa.array([passage.id for passage in passages[start : start + _ROWS]])
            await table.add(pa.table([ids, flat], schema=kind))

    async def search(self, collection: str, query: str, vector: Vectors, k: int) -> list[Hit]:
        table = await self._table(collection)
        search = table.query().nearest_to(vector).column(self._vector).distance_type(self._metric)
        rows = await search.limit(k).select([*self._shown, "_distance"]).to_list()
        return [self._fields.hit(row[self._id], similarity(row["_distance"], self._metric), row) for row in rows]

    async def entries(self, collection: str) -> AsyncIterator[Hit]:
        table = await self._table(collection)
        async for batch in await table.query().select(self._shown).to_batches(max_batch_length=_ROWS):
            for row in batch.to_pylist():
                yield self._fields.hit(row[self._id], 0.0, row)


@contextlib.asynccontextmanager
async def _connect(target: EngineTarget) -> AsyncIterator[Engine]:
    library = load("lancedb", extra="lancedb", purpose="A retriever lancedb(…)")
    database = await library.connect_async(target.place)
    yield _Lance(library, database, target)


PLUGINS = {
    "lancedb": EngineKind(
        "lancedb", "LanceDB", _connect, "of its store", "lancedb(DIR,embedder=local/e5-small)",
        schemes=("s3", "gs", "az"), local=True, options=("vector", "metric"),
    )
}  # fmt: skip
