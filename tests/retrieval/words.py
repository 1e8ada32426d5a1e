"""An embedder for tests: texts that share words are near."""

import contextlib
import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import numpy as np

from ragstone.models import ModelOptions
from ragstone.types import Embedder

__all__ = ["WordEmbedder", "opening"]


class WordEmbedder:
    """A direction for each word, those of a text added up. `asked` are the calls; `fail_at`: the number of the call
    that raises `error`."""

    id = "test/words"

    def __init__(self, dimensions: int = 64, *, fail_at: int = -1, error: Exception | None = None) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self._dimensions, self._fail_at, self._error = dimensions, fail_at, error

    async def embed(self, texts: Sequence[str], /, *, kind: Literal["query", "passage"]) -> "np.ndarray[Any, Any]":
        self.asked.append((kind, list(texts)))
        if self._error is not None and len(self.asked) == self._fail_at + 1:
            raise self._error
        rows = np.stack([self._row(text) for text in texts])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    def _row(self, text: str) -> "np.ndarray[Any, Any]":
        total = np.full(self._dimensions, 1e-6)
        for word in re.findall(r"[a-z]+|[一-鿿]", text.lower()):
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4])
            total += np.random.default_rng(seed).standard_normal(self._dimensions)
        return total


def opening(embedder: Embedder) -> Any:
    """What stands in for `open_embedder`."""

    @contextlib.asynccontextmanager
    async def opened(name: str, options: ModelOptions) -> AsyncIterator[Embedder]:
        yield embedder

    return opened
