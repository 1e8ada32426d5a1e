"""LanceDB, the embedded vector database, as a retriever.

    lancedb(local/e5-small)                                   the pool, put into a table of its own that goes afterwards
    lancedb(local/e5-small,uri=DIR)                           the same in a database that stays, and is used again
    lancedb(local/e5-small,uri=DIR,table=NAME,id=COLUMN)      a table of yours that holds the pool's ids

Options: `uri`, `table`, `id` (the column of ids, "id"), `vector` (that of vectors, "vector"), `metric` (cosine, dot or
l2: what your table was built for; scores are similarities, l2 as 1 / (1 + distance)). Without an index in the table, as
in those made here, the search is exact. `url` is the address of the embedder's endpoint. Needs the extra `lancedb`.
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
from ragstone.retrieval.embedders import embed_all
from ragstone.retrieval.names import Spec
from ragstone.retrieval.open import Building
from ragstone.text.redaction import redact
from ragstone.types import Embedder, Passage, Retriever

__all__ = ["PLUGINS", "Lance", "open_lancedb"]

METRICS = ("cosine", "dot", "l2")
_IN_FLIGHT = 8  # searches under way in the database
_ROWS = 4096  # written at once
_ERRORS = (OSError, ValueError, RuntimeError)  # what the library raises


class Lance:
    """A table of vectors whose ids are those of `passages`."""

    def __init__(
        self, name: str, embedder: Embedder, passages: Mapping[str, Passage], table: Any, columns: "Columns",
        facts: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.id, self.facts = name, facts
        self._embedder, self._passages, self._table, self._columns = embedder, passages, table, columns
        self._places = {key: place for place, key in enumerate(passages)}

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages a query, the best first, ties in the order of the pool. A query without a character
        finds none. Raises DataError for an id in the table that is not in the pool."""
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
                f"The table {columns.table} cannot be searched ({_line(error)}). Its column {columns.vector} should "
                f"hold vectors of {self._embedder.id}."
            ) from None
        best = []
        for row in rows:
            key = str(row[columns.id])
            if key not in self._passages:
                raise DataError(
                    columns.table, f"id {key!r} is in the table but not in the pool.",
                    advice=f"It should hold the pool's passages, with their ids in the column {columns.id}.",
                )  # fmt: skip
            best.append((-_similarity(row["_distance"], columns.metric), self._places[key], key))
        return [msgspec.structs.replace(self._passages[key], score=-low) for low, _, key in sorted(best)]


class Columns(msgspec.Struct, frozen=True):
    """names of the columns of a table."""

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
    """LanceDB's distances are 1 - similarity, and for l2 squared lengths."""
    return 1.0 / (1.0 + distance) if metric == "l2" else 1.0 - distance


@contextlib.asynccontextmanager
async def open_lancedb(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """The retriever, its table filled where it is its own. Raises UsageError, MissingExtra, DataError, and what the
    embedder raises."""
    spec.only("uri", "table", "id", "vector", "metric", "url")
    if len(spec.arguments) != 1:
        raise UsageError(f"{spec.name}: LanceDB takes one embedder, for example lancedb(local/e5-small).")
    metric, table = spec.options.get("metric", "cosine"), spec.options.get("table", "")
    if metric not in METRICS:
        raise UsageError(f"{spec.name}: metric={metric} should be one of {', '.join(METRICS)}.")
    if not spec.options.get("uri") and (table or {"id", "vector"} & spec.options.keys()):
        raise UsageError(f"{spec.name}: a table of yours needs its database too: uri=DIR.")
    library = _load()
    passages = {passage.id: passage for passage in building.pool if passage.text.strip()}
    async with open_embedder(spec.arguments[0], building.calling(spec)) as embedder:
        with contextlib.ExitStack() as stack:
            scratch = None if spec.options.get("uri") else stack.enter_context(tempfile.TemporaryDirectory())
            uri = scratch or spec.options["uri"]
            started = time.perf_counter()
            if table and "://" not in uri and not _is_folder(uri):  # connecting would make it
                raise UsageError(f"{spec.name}: there is no folder {uri}. Name that of your database: uri=DIR.")
            try:
                db = await library.connect_async(uri)
                if table:
                    columns = Columns(table, spec.options.get("id", "id"), spec.options.get("vector", "vector"), metric)
                    opened_table = await _yours(db, columns, uri)
                else:
                    columns = Columns(f"ragstone_{_digest(embedder.id, passages)}", metric=metric)
                    opened_table = await _ours(db, columns.table, embedder, passages)
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


async def _yours(db: Any, columns: Columns, uri: str) -> Any:
    """A table that is there already. Raises UsageError where it, or one of its columns, is not."""
    names = await _names(db)
    if columns.table not in names:
        raise UsageError(f"{uri} has no table {columns.table!r}. It has: {', '.join(names) or 'none'}.")
    table = await db.open_table(columns.table)
    present = (await table.schema()).names
    for name in (columns.id, columns.vector):
        if name not in present:
            raise UsageError(f"The table {columns.table} has no column {name!r}. It has: {', '.join(present)}.")
    return table


async def _ours(db: Any, name: str, embedder: Embedder, passages: Mapping[str, Passage]) -> Any:
    """A table of the pool: found whole from an earlier run, or made."""
    import pyarrow as pa  # noqa: PLC0415  (it comes with LanceDB)

    exists = name in await _names(db)
    if exists:
        table = await db.open_table(name)
        if await table.count_rows() == len(passages):
            return table
    vectors = await embed_all(embedder, [passage.text for passage in passages.values()], kind="passage")
    ids = list(passages)
    kind = pa.schema([("id", pa.string()), ("vector", pa.list_(pa.float32(), vectors.shape[1] or 1))])
    # Overwriting what is not there is warned of on standard error.
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
    """What a table of the pool is called: another pool, or another embedder, has another."""
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
