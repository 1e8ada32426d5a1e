"""LanceDB, the embedded vector database, as a retriever.

    lancedb(local/e5-small)                                   stores the pool in a temporary table
    lancedb(local/e5-small,uri=DIR)                           stores it in a database that later runs reuse
    lancedb(local/e5-small,uri=DIR,table=NAME,id=COLUMN)      searches your own table, which holds the pool's ids

Options: `uri`; `table`; `id` (name of the id column, "id"); `vector` (name of the vector column, "vector"); `metric`
(cosine, dot or l2: the one your table was built for); `url` (base URL of the embedder's endpoint). Scores are
similarities; for l2, 1 / (1 + distance). A table without a vector index, such as those created here, is searched
exactly. Needs the extra `lancedb`.
"""

import asyncio
import contextlib
import hashlib
import importlib
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragstone.errors import DataError, MissingExtra, UsageError
from ragstone.models import open_embedder
from ragstone.models.concurrency import gather_all
from ragstone.models.nested_names import Spec
from ragstone.retrieval.embedders import embed_all
from ragstone.retrieval.open import Building
from ragstone.text.redaction import redact
from ragstone.types import Embedder, Passage, Retriever

__all__ = ["PLUGINS", "Lance", "open_lancedb"]

METRICS = ("cosine", "dot", "l2")
_IN_FLIGHT = 8  # concurrent searches
_ROWS = 4096  # per write
_ERRORS = (OSError, ValueError, RuntimeError)  # what the library raises


class Lance:
    """A retriever over a table of vectors with the ids of `passages`."""

    def __init__(
        self, name: str, embedder: Embedder, passages: Mapping[str, Passage], table: Any, columns: "Columns",
        facts: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.id, self.facts = name, facts
        self._embedder, self._passages, self._table, self._columns = embedder, passages, table, columns
        self._places = {key: place for place, key in enumerate(passages)}

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query, best first; ties keep the pool's order. A blank query finds none. Raises
        DataError if the table returns an id that is not in the pool."""
        results: list[list[Passage]] = [[] for _ in queries]
        nonblank = [number for number, query in enumerate(queries) if query.strip()]
        if not nonblank or k < 1 or not self._passages:
            return results
        vectors = await embed_all(self._embedder, [queries[number] for number in nonblank], kind="query")
        room = asyncio.Semaphore(_IN_FLIGHT)

        async def search(number: int, vector: Any) -> None:
            async with room:
                results[number] = await self._search(vector, k)

        await gather_all(*(search(number, vector) for number, vector in zip(nonblank, vectors, strict=True)))
        return results

    async def _search(self, vector: Any, k: int) -> list[Passage]:
        columns = self._columns
        search = self._table.query().nearest_to(vector).column(columns.vector).distance_type(columns.metric)
        try:
            rows = await search.limit(k).select([columns.id, "_distance"]).to_list()
        except _ERRORS as error:
            raise UsageError(
                f"The table {columns.table} cannot be searched ({_line(error)}). Its column {columns.vector} must "
                f"hold vectors of {self._embedder.id}."
            ) from None
        best = []
        for row in rows:
            key = str(row[columns.id])
            if key not in self._passages:
                raise DataError(
                    columns.table, f"id {key!r} is in the table but not in the pool.",
                    advice=f"Fill it with the pool's passages, with their ids in the column {columns.id}.",
                )  # fmt: skip
            best.append((-_similarity(row["_distance"], columns.metric), self._places[key], key))
        return [msgspec.structs.replace(self._passages[key], score=-low) for low, _, key in sorted(best)]


class Columns(msgspec.Struct, frozen=True):
    """Name, columns and metric of a table."""

    table: str
    id: str = "id"
    vector: str = "vector"
    metric: str = "cosine"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _is_folder(uri: str) -> bool:
    return Path(uri).is_dir()


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _similarity(distance: float, metric: str) -> float:
    """A similarity from LanceDB's distance, which is 1 - similarity, or for l2 the squared distance."""
    return 1.0 / (1.0 + distance) if metric == "l2" else 1.0 - distance


@contextlib.asynccontextmanager
async def open_lancedb(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the retriever; creates and fills the table if none is named. Raises UsageError, MissingExtra, DataError and
    the embedder's errors."""
    spec.only("uri", "table", "id", "vector", "metric", "url")
    if len(spec.arguments) != 1:
        raise UsageError(f"{spec.name}: lancedb takes one embedder, for example lancedb(local/e5-small).")
    metric, table = spec.options.get("metric", "cosine"), spec.options.get("table", "")
    if metric not in METRICS:
        raise UsageError(f"{spec.name}: metric={metric} should be one of {', '.join(METRICS)}.")
    if not spec.options.get("uri") and (table or {"id", "vector"} & spec.options.keys()):
        raise UsageError(f"{spec.name}: table, id and vector need the database too: uri=DIR.")
    library = _load()
    passages = {passage.id: passage for passage in building.pool if passage.text.strip()}
    async with open_embedder(spec.arguments[0], building.calling(spec)) as embedder:
        with contextlib.ExitStack() as stack:
            scratch = None if spec.options.get("uri") else stack.enter_context(tempfile.TemporaryDirectory())
            uri = scratch or spec.options["uri"]
            started = time.perf_counter()
            if table and "://" not in uri and not _is_folder(uri):  # connecting would create it
                raise UsageError(f"{spec.name}: there is no folder {uri}. Give your database's: uri=DIR.")
            try:
                db = await library.connect_async(uri)
                if table:
                    columns = Columns(table, spec.options.get("id", "id"), spec.options.get("vector", "vector"), metric)
                    opened_table = await _user_table(db, columns, uri)
                else:
                    columns = Columns(f"ragstone_{_digest(embedder.id, passages)}", metric=metric)
                    opened_table = await _pool_table(db, columns.table, embedder, passages)
            except (OSError, ValueError, RuntimeError) as error:
                raise UsageError(f"{spec.name}: {' '.join(redact(str(error)).split())[:200]}") from None
            facts = {
                "embedder": embedder.id, "library": f"lancedb {library.__version__}", "table": columns.table,
                "passages": await opened_table.count_rows(), "build_seconds": time.perf_counter() - started,
                "indices": [index.index_type for index in await opened_table.list_indices()],
            }  # fmt: skip
            if scratch:
                facts["index_bytes"] = _bytes(Path(scratch))
            yield Lance(spec.name, embedder, passages, opened_table, columns, facts)


async def _user_table(db: Any, columns: Columns, uri: str) -> Any:
    """Opens the user's table. Raises UsageError if it or one of its columns is missing."""
    names = await _names(db)
    if columns.table not in names:
        raise UsageError(f"{uri} has no table {columns.table!r}. It has: {', '.join(names) or 'none'}.")
    table = await db.open_table(columns.table)
    present = (await table.schema()).names
    for name in (columns.id, columns.vector):
        if name not in present:
            raise UsageError(f"The table {columns.table} has no column {name!r}. It has: {', '.join(present)}.")
    return table


async def _pool_table(db: Any, name: str, embedder: Embedder, passages: Mapping[str, Passage]) -> Any:
    """The pool's table: a complete one from an earlier run, or a new one."""
    import pyarrow as pa  # noqa: PLC0415  (installed with LanceDB)

    exists = name in await _names(db)
    if exists:
        table = await db.open_table(name)
        if await table.count_rows() == len(passages):
            return table
    vectors = await embed_all(embedder, [passage.text for passage in passages.values()], kind="passage")
    ids = list(passages)
    kind = pa.schema([("id", pa.string()), ("vector", pa.list_(pa.float32(), vectors.shape[1] or 1))])
    # LanceDB warns on standard error if mode="overwrite" finds no table.
    table = await db.create_table(name, schema=kind, mode="overwrite" if exists else "create")
    for start in range(0, len(ids), _ROWS):
        part = vectors[start : start + _ROWS]
        flat = pa.FixedSizeListArray.from_arrays(pa.array(part.reshape(-1)), vectors.shape[1])
        await table.add(pa.table([pa.array(ids[start : start + _ROWS]), flat], schema=kind))
    return table


async def _names(db: Any) -> list[str]:
    listed = await db.list_tables() if hasattr(db, "list_tables") else await db.table_names()
    return list(getattr(listed, "tables", listed))


def _digest(embedder: str, passages: Mapping[str, Passage]) -> str:
    """The part of a table's name that identifies the pool and the embedder."""
    digest = hashlib.sha256(embedder.encode())
    for passage in passages.values():
        digest.update(f"\x00{passage.id}\x01{passage.text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _load() -> Any:
    try:
        return importlib.import_module("lancedb")
    except ModuleNotFoundError:
        raise MissingExtra("LanceDB is not installed. Run: pip install 'ragstone[lancedb]'") from None


PLUGINS = {"lancedb": open_lancedb}
