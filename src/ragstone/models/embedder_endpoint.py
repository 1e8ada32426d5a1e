"""Embeddings from an endpoint: in requests as large as it accepts, several at a time, each retried separately."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ragstone.models.client import Client
from ragstone.models.rate_limit import Limiter
from ragstone.models.refusals import Refusals
from ragstone.models.replicas import Replicas
from ragstone.models.retry import Patience, retrying

if TYPE_CHECKING:
    import numpy as np

# Characters in one request: OpenAI takes 300,000 tokens, and a Chinese character may be more than one.
_MAX_CHARACTERS = 200_000


def group_texts(texts: Sequence[str], max_texts: int, characters: int = _MAX_CHARACTERS) -> list[list[str]]:
    """`texts` in order, in groups of at most `max_texts` texts and `characters`, unless one text alone is longer."""
    groups: list[list[str]] = []
    size = 0
    for text in texts:
        if not groups or len(groups[-1]) >= max_texts or size + len(text) > characters:
            groups.append([])
            size = 0
        groups[-1].append(text)
        size += len(text)
    return groups


class EndpointEmbedder:
    """An `Embedder` behind an endpoint. Queries and passages are embedded alike: endpoints do not distinguish them."""

    def __init__(self, client: Client | Replicas, patience: Patience, limiter: Limiter, refusals: Refusals) -> None:
        self._client, self._patience, self._limiter, self._refusals = client, patience, limiter, refusals

    @property
    def id(self) -> str:
        return self._client.id

    async def embed(
        self, texts: Sequence[str], /, *, kind: Literal["query", "passage"] = "passage"
    ) -> "np.ndarray[Any, Any]":
        """(n, dimensions) float32, rows of unit length in the order of `texts`. Raises the errors of a model call."""
        import numpy as np  # noqa: PLC0415

        if not texts:
            return np.empty((0, 0), dtype=np.float32)
        groups = group_texts(texts, self._client.provider.embedding_batch)
        try:
            async with asyncio.TaskGroup() as tasks:
                parts = [tasks.create_task(self._embed(group)) for group in groups]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return np.concatenate([part.result() for part in parts])

    async def _embed(self, group: list[str]) -> "np.ndarray[Any, Any]":
        tokens = sum(len(text.encode("utf-8", "replace")) for text in group) / 3.5

        async def before_retry() -> None:
            await self._limiter.admit(lambda: tokens)

        async with self._limiter.places:
            await self._limiter.admit(lambda: tokens)
            return await self._refusals.guard(
                retrying, lambda: self._client.vectors(group), self._patience, where=self.id, before_retry=before_retry
            )
