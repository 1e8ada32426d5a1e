"""Vectors on disk: no text is embedded twice by one embedder, in this run or the next.

They are content-addressed, as replies are: by the embedder, the kind where it tells kinds apart, and the text. Texts
that somebody else is having embedded at this moment are waited for.
"""

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ragstone.errors import BadReply, ModelError
from ragstone.models.cache import Shared
from ragstone.models.kv_cache import KeyedFile
from ragstone.models.wire import encode
from ragstone.models.work import note
from ragstone.storage import Layout
from ragstone.types import Embedder

if TYPE_CHECKING:
    import numpy as np

    Rows: TypeAlias = dict[bytes, "np.ndarray[Any, Any]"]

__all__ = ["CachedEmbedder"]

log = logging.getLogger(__name__)

Kind: TypeAlias = Literal["query", "passage"]

# Part of every key: a change of what a stored vector means changes it.
_KEY_VERSION = 1
_LAYOUT = Layout(
    what="vector cache",
    application_id=0x52475643,  # "RGVC"
    version=1,
    # Each vector as float32, little end first.
    tables=("CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID",),
    durable=False,
)


class CachedEmbedder:
    """`embedder`, asked for each text once. `folder` None: texts under way are joined, and nothing is kept.

    `identity` is what makes the embedder this one; `kinds`: it embeds a query otherwise than a passage.
    """

    def __init__(self, embedder: Embedder, folder: Path | None, *, identity: Mapping[str, Any], kinds: bool) -> None:
        self._embedder, self._kinds = embedder, kinds
        self._start = hashlib.sha256(encode([_KEY_VERSION, sorted(identity.items())]))
        self._file = KeyedFile(folder / "vectors.sqlite", _LAYOUT, "vectors") if folder is not None else None
        self._under_way: dict[bytes, Shared[Rows]] = {}

    @property
    def id(self) -> str:
        return self._embedder.id

    async def __aenter__(self) -> "CachedEmbedder":
        if self._file is not None:
            self._file.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            await asyncio.to_thread(self._file.close)

    async def embed(self, texts: Sequence[str], /, *, kind: Kind = "passage") -> "np.ndarray[Any, Any]":
        """(n, dimensions) float32, rows of unit length in the order of `texts`. Raises what the embedder raises."""
        import numpy as np  # noqa: PLC0415  (heavy, and only embedders need it)

        if not texts:
            return await self._embedder.embed(texts, kind=kind)
        keys = [self._key(text, kind) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        rows = self._kept(list(wanted))
        note(sent=len(wanted) - len(rows), cached=len(rows))
        joined = {
            other
            for key in wanted
            if key not in rows and (other := self._under_way.get(key)) is not None and not other.abandoned
        }
        others = {key for key in wanted if self._under_way.get(key) in joined}
        rows |= await self._all(
            joined, {key: text for key, text in wanted.items() if key not in others | set(rows)}, kind
        )
        # A request that failed with another's texts in it says nothing about these.
        rows |= await self._all(set(), {key: text for key, text in wanted.items() if key not in rows}, kind)
        if len({rows[key].size for key in wanted}) != 1:
            raise BadReply(
                f"{self.id}: its vectors have changed their length. Use another cache folder, or --no-cache."
            )
        return np.stack([rows[key] for key in keys])

    async def _all(self, joined: "set[Shared[Rows]]", missing: Mapping[bytes, str], kind: Kind) -> "Rows":
        """What others are having embedded, where that goes well, and `missing`."""
        waiting = [_or_nothing(one) for one in joined]
        if missing:
            mine = Shared(asyncio.ensure_future(self._ask(missing, kind)))
            self._under_way.update(dict.fromkeys(missing, mine))
            waiting.append(mine.result())
        if len(waiting) == 1:
            return await waiting[0]
        try:
            async with asyncio.TaskGroup() as tasks:
                done = [tasks.create_task(one) for one in waiting]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        rows: Rows = {}
        for task in done:
            rows |= task.result()
        return rows

    def _key(self, text: str, kind: Kind) -> bytes:
        digest = self._start.copy()
        digest.update(encode([kind if self._kinds else "", text]))
        return digest.digest()

    def _kept(self, keys: Sequence[bytes]) -> "Rows":
        import numpy as np  # noqa: PLC0415

        rows: Rows = {}
        for key, blob in (self._file.get(keys) if self._file is not None else {}).items():
            row = np.frombuffer(blob, dtype="<f4") if len(blob) % 4 == 0 else np.empty(0)
            if row.size and abs(float(row @ row) - 1.0) < 1e-3:
                rows[key] = row.astype(np.float32)
            else:
                log.warning("A vector in the cache is damaged; it is asked for again.")
        return rows

    async def _ask(self, missing: Mapping[bytes, str], kind: Kind) -> "Rows":
        try:
            matrix = await self._embedder.embed(list(missing.values()), kind=kind)
            rows = dict(zip(missing, matrix, strict=True))
            if self._file is not None:
                self._file.put([(key, row.astype("<f4").tobytes()) for key, row in rows.items()])
            return rows
        finally:
            for key in missing:
                self._under_way.pop(key, None)


async def _or_nothing(shared: "Shared[Rows]") -> "Rows":
    try:
        return await shared.result()
    except ModelError:
        return {}
