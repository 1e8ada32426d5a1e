"""An embedder whose large jobs the workers of a cluster do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ragstone.types import Embedder

if TYPE_CHECKING:
    import numpy as np

    from ragstone.models.options import ModelOptions, Spread


class SpreadEmbedder:
    """`inner`, opened by its name in this process, for few texts; for many the workers open it too."""

    def __init__(self, inner: Embedder, name: str, options: "ModelOptions", spread: "Spread") -> None:
        self._inner, self._name, self._options, self._spread = inner, name, options, spread
        self.least = spread.least

    @property
    def id(self) -> str:
        return self._inner.id

    async def embed(
        self, texts: Sequence[str], /, *, kind: Literal["query", "passage"] = "passage"
    ) -> "np.ndarray[Any, Any]":
        """As the embedder does."""
        return await self._inner.embed(texts, kind=kind)

    async def embed_many(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> "np.ndarray[Any, Any]":
        """(n, dimensions) float32, one unit vector per text, in order, by the workers."""
        return await self._spread.embed(self._name, self._options, texts, kind)
