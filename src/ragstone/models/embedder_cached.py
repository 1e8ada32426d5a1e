"""Vectors on disk: no embedder embeds a text twice, in this run or the next.

They are content-addressed like replies: by the embedder, the kind if it distinguishes kinds, and the text. Concurrent
calls for the same text share one request.
"""

import asyncio
import hashlib
import inspect
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ragstone.errors import BadReply, ModelError
from ragstone.models.cache import Shared
from ragstone.models.concurrency import gather_all
from ragstone.models.kv_cache import KeyedFile
from ragstone.models.wire import encode
from ragstone.models.work import count_work
from ragstone.storage import Layout
from ragstone.types import Embedder

if TYPE_CHECKING:
    import numpy as np

    Rows: TypeAlias = dict[bytes, "np.ndarray[Any, Any]"]

log = logging.getLogger(__name__)

Kind: TypeAlias = Literal["query", "passage"]

# Part of every key: to be changed when the meaning of a stored vector changes.
_KEY_VERSION = 1
_LAYOUT = Layout(
    what="vector cache",
    application_id=0x52475643,  # "RGVC"
    version=2,
    # Each vector as little-endian float32. With these pages 384 dimensions take 1.7 kB; with SQLite's own, 2.1.
    tables=("CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)",),
    durable=False,
    page_size=16_384,
)
# The first layout, whose vectors took a page each: 4.7 kB. Such a file is read, and nothing is added to it.
_EARLIER = replace(_LAYOUT, version=1, tables=(f"{_LAYOUT.tables[0]} WITHOUT ROWID",))


class CachedEmbedder:
    """`embedder`, asked once for each text. `folder` None: concurrent requests are shared, but nothing is stored.

    `identity` distinguishes the embedder from others; `kinds`: it embeds queries and passages differently.
    """

    def __init__(self, embedder: Embedder, folder: Path | None, *, identity: Mapping[str, Any], kinds: bool) -> None:
        self._embedder, self._kinds = embedder, kinds
        self._start = hashlib.sha256(encode([_KEY_VERSION, sorted(identity.items())]))
        self._file = self._earlier = None
        if folder is not None:
            self._file = KeyedFile(folder / "vectors-2.sqlite", _LAYOUT, "vectors")
            self._earlier = KeyedFile(folder / "vectors.sqlite", _EARLIER, "vectors", writes=False)
        self._in_flight: dict[bytes, Shared[Rows]] = {}

    @property
    def id(self) -> str:
        return self._embedder.id

    async def __aenter__(self) -> "CachedEmbedder":
        for file in (self._file, self._earlier):
            if file is not None:
                file.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in (self._file, self._earlier):
            if file is not None:
                await asyncio.to_thread(file.close)

    async def embed(self, texts: Sequence[str], /, *, kind: Kind = "passage") -> "np.ndarray[Any, Any]":
        """(n, dimensions) float32, rows of unit length in the order of `texts`. Raises what the embedder raises."""
        import numpy as np  # noqa: PLC0415  (heavy, and only embedders need it)

        if not texts:
            return await self._embedder.embed(texts, kind=kind)
        keys = [self._key(text, kind) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        rows = self._stored(list(wanted))
        count_work(sent=len(wanted) - len(rows), cached=len(rows))
        joined = {
            request
            for key in wanted
            if key not in rows and (request := self._in_flight.get(key)) is not None and not request.abandoned
        }
        shared = {key for key in wanted if self._in_flight.get(key) in joined}
        rows |= await self._embed_all(
            joined, {key: text for key, text in wanted.items() if key not in shared | set(rows)}, kind
        )
        # A shared request may have failed because of other texts in it, so these are tried again.
        rows |= await self._embed_all(set(), {key: text for key, text in wanted.items() if key not in rows}, kind)
        if len({rows[key].size for key in wanted}) != 1:
            raise BadReply(
                f"{self.id}: the length of its vectors has changed. Use another cache folder, or --no-cache."
            )
        return np.stack([rows[key] for key in keys])

    async def _embed_all(self, joined: "set[Shared[Rows]]", missing: Mapping[bytes, str], kind: Kind) -> "Rows":
        """The vectors of shared requests that succeed, and those of `missing`."""
        waiting = [_rows_or_none(request) for request in joined]
        if missing:
            request = Shared(asyncio.ensure_future(self._ask(missing, kind)))
            self._in_flight.update(dict.fromkeys(missing, request))
            waiting.append(request.result())
        if len(waiting) == 1:
            return await waiting[0]
        rows: Rows = {}
        for found in await gather_all(*waiting):
            rows |= found
        return rows

    def _key(self, text: str, kind: Kind) -> bytes:
        digest = self._start.copy()
        digest.update(encode([kind if self._kinds else "", text]))
        return digest.digest()

    def _stored(self, keys: Sequence[bytes]) -> "Rows":
        import numpy as np  # noqa: PLC0415

        rows: Rows = {}
        blobs = self._file.get(keys) if self._file is not None else {}
        if self._earlier is not None and len(blobs) < len(keys):
            blobs |= self._earlier.get([key for key in keys if key not in blobs])
        for key, blob in blobs.items():
            row = np.frombuffer(blob, dtype="<f4") if len(blob) % 4 == 0 else np.empty(0)
            if row.size and abs(float(row @ row) - 1.0) < 1e-3:
                rows[key] = row.astype(np.float32)
            else:
                log.warning("A vector in the cache is damaged; it is requested again.")
        return rows

    async def _ask(self, missing: Mapping[bytes, str], kind: Kind) -> "Rows":
        try:
            matrix = unit_vectors(await self._embedder.embed(list(missing.values()), kind=kind), len(missing), self.id)
            rows = dict(zip(missing, matrix, strict=True))
            if self._file is not None:
                self._file.put([(key, row.astype("<f4").tobytes()) for key, row in rows.items()])
            return rows
        finally:
            for key in missing:
                self._in_flight.pop(key, None)


def unit_vectors(matrix: Any, count: int, name: str) -> "np.ndarray[Any, Any]":
    """The vectors of `count` texts as (count, dimensions) float32 with rows of unit length. `BadReply` where an
    embedder of the user's gave something else: another shape, no finite number, or a vector of length 0."""
    import numpy as np  # noqa: PLC0415

    try:
        vectors = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadReply(f"{name}: its vectors are not rows of numbers of one length.") from None
    if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1] or not np.isfinite(vectors).all():
        raise BadReply(f"{name}: it should give {count} vectors of finite numbers, and gave shape {vectors.shape}.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not lengths.all():
        raise BadReply(f"{name}: it gave a vector of length 0, which has no direction.")
    return np.asarray(vectors / lengths, dtype=np.float32)


def identity_of(embedder: Embedder, place: str = "") -> dict[str, str] | None:
    """What tells an embedder of the user's from others: its id, its class, where it was found, and the source file;
    None where there is no source file, so that its vectors cannot be kept."""
    kind = type(embedder)
    try:
        source = Path(inspect.getfile(kind)).read_bytes()
    except (TypeError, OSError):
        return None
    digest = hashlib.sha256(source).hexdigest()
    return {"id": embedder.id, "class": f"{kind.__module__}.{kind.__qualname__}", "place": place, "source": digest}


async def _rows_or_none(shared: "Shared[Rows]") -> "Rows":
    try:
        return await shared.result()
    except ModelError:
        return {}
