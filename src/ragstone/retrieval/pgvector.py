"""PostgreSQL with pgvector (`retrieval/engine.py` has the options).

    pgvector(postgresql://user@localhost/db,embedder=local/e5-small)            the pool, in a table of its own
    pgvector(postgresql://user@localhost/db,collection=docs,embedder=local/e5-small,vector=embedding,text=body)

`collection` is a table or view, with its schema if that is not the first of the search path (`app.docs`). `id` is the
column "id" and `vector` the column "vector" unless named; `metric` is cosine, dot or l2, that of the table's index. The
password is taken from PGPASSWORD or ~/.pgpass. Needs the extra `pgvector`.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from ragstone.errors import UsageError
from ragstone.optional import load
from ragstone.retrieval.engine import Engine, EngineKind, EngineTarget, Hit, Vectors, similarity
from ragstone.types import Passage

_OPERATORS = {"cosine": "<=>", "dot": "<#>", "l2": "<->"}
_TABLES = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""
_COLUMNS = """
SELECT attname, atttypmod, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
"""
_CANDIDATES = (40, 1000)  # pgvector's default and limit of what a search of its graph considers


class _Postgres:
    def __init__(self, library: Any, connection: Any, target: EngineTarget) -> None:
        self.library = f"psycopg {library.__version__}"
        self._sql, self._connection, self._fields = library.sql, connection, target.fields
        self._id, self._vector = target.fields.id or "id", target.fields.vector or "vector"
        self._metric = target.options.get("metric", "cosine")
        if self._metric not in _OPERATORS:
            raise UsageError(f"metric={self._metric} should be one of {', '.join(_OPERATORS)}.")
        self._read: dict[str, tuple[list[str], str]] = {}  # a table's columns with texts, and the type of its vectors
        self._candidates = 0

    def _table(self, name: str) -> Any:
        return self._sql.Identifier(*name.split("."))

    async def _rows(self, query: Any, values: Sequence[Any] = ()) -> list[Any]:
        return list(await (await self._connection.execute(query, values)).fetchall())

    async def collections(self) -> Sequence[str]:
        return [row[0] for row in await self._rows(_TABLES)]

    async def count(self, collection: str) -> int:
        rows = await self._rows(self._sql.SQL("SELECT count(*) FROM {}").format(self._table(collection)))
        return int(rows[0][0])

    async def _columns(self, collection: str) -> dict[str, tuple[int, str]]:
        name = self._table(collection).as_string(self._connection)
        return {column: (size, kind) for column, size, kind in await self._rows(_COLUMNS, (name,))}

    async def check(self, collection: str, dimensions: int) -> int:
        columns = await self._columns(collection)
        for name in (self._id, self._vector):
            if name not in columns:
                raise UsageError(f"The table {collection} has no column {name!r}. It has: {', '.join(columns)}.")
        size, kind = columns[self._vector]
        if kind.rpartition(".")[2] not in ("vector", "halfvec"):
            raise UsageError(f"The column {self._vector} of {collection} is of type {kind}, not vector or halfvec.")
        return dimensions if size == -1 else size

    async def fill(self, collection: str, passages: Sequence[Passage], vectors: Vectors) -> None:
        assert vectors is not None
        table, sql = self._table(collection), self._sql.SQL
        async with self._connection.transaction():
            await self._connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            await self._connection.execute(sql("DROP TABLE IF EXISTS {}").format(table))
            size = self._sql.Literal(vectors.shape[1])
            await self._connection.execute(
                sql("CREATE TABLE {} (id text PRIMARY KEY, vector vector({}))").format(table, size)
            )
            async with (
                self._connection.cursor() as cursor,
                cursor.copy(sql("COPY {} (id, vector) FROM STDIN").format(table)) as copy,
            ):
                for passage, vector in zip(passages, vectors, strict=True):
                    await copy.write_row((passage.id, _text_of(vector)))

    async def search(self, collection: str, query: str, vector: Vectors, k: int) -> list[Hit]:
        if collection not in self._read:
            present = await self._columns(collection)
            shown = [name for name in (self._fields.text, self._fields.title) if name in present]
            self._read[collection] = shown, present[self._vector][1]
        if (candidates := min(max(k, _CANDIDATES[0]), _CANDIDATES[1])) > self._candidates:
            await self._connection.execute(self._sql.SQL("SET hnsw.ef_search = {}").format(candidates))
            self._candidates = candidates
        (texts, kind), sql, identifier = self._read[collection], self._sql.SQL, self._sql.Identifier
        operator = sql(_OPERATORS[self._metric])
        distance = sql("{} {} %s::{}").format(identifier(self._vector), operator, sql(kind))
        columns = sql(", ").join(map(identifier, [self._id, *texts]))
        statement = sql("SELECT {}, {} AS ragstone_distance FROM {} ORDER BY {} LIMIT %s").format(
            columns, distance, self._table(collection), distance
        )
        asked = _text_of(vector)
        rows = await self._rows(statement, (asked, asked, k))
        return [self._hit(dict(zip(["id", *texts], row, strict=False)), row[-1]) for row in rows]

    async def entries(self, collection: str) -> AsyncIterator[Hit]:
        present = await self._columns(collection)
        texts = [name for name in (self._fields.text, self._fields.title) if name in present]
        if self._id not in present:
            raise UsageError(f"The table {collection} has no column {self._id!r}. It has: {', '.join(present)}.")
        columns = self._sql.SQL(", ").join(map(self._sql.Identifier, [self._id, *texts]))
        statement = self._sql.SQL("SELECT {} FROM {}").format(columns, self._table(collection))
        async with self._connection.cursor() as cursor:
            async for row in cursor.stream(statement):
                yield self._hit(dict(zip(["id", *texts], row, strict=True)), 0.0)

    def _hit(self, row: dict[str, Any], distance: float) -> Hit:
        score = -distance if self._metric == "dot" else similarity(distance, self._metric)
        return self._fields.hit(row["id"], score, row)


def _text_of(vector: Any) -> str:
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


@contextlib.asynccontextmanager
async def _connect(target: EngineTarget) -> AsyncIterator[Engine]:
    library = load("psycopg", extra="pgvector", purpose="A retriever pgvector(…)")
    seconds = max(1, round(target.model_options.timeout))
    connecting = library.AsyncConnection.connect(target.place, autocommit=True, connect_timeout=seconds)
    async with await connecting as connection:
        yield _Postgres(library, connection, target)


PLUGINS = {
    "pgvector": EngineKind(
        "pgvector", "PostgreSQL", _connect, "PGPASSWORD",
        "pgvector(postgresql://user@localhost/db,embedder=local/e5-small)", schemes=("postgresql", "postgres"),
        options=("vector", "metric"), unreachable=("OperationalError",), unauthorized=("InvalidPassword",),
    )
}  # fmt: skip
