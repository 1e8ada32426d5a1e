"""Embeds a pool by the workers of a Ray cluster, with Ray Data: texts go out in blocks, vectors come home in order.

Each worker opens the same embedder with the same cache folder: where that is on a shared disk, what was embedded before
a failure is not embedded again. A share of a GPU is asked for if the command says so; that was not tested with one.
"""

import asyncio
import contextlib
import logging
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ragstone.cluster.cluster_limits import limited_by
from ragstone.errors import RagstoneError
from ragstone.models import ModelOptions, open_embedder
from ragstone.retrieval.embedders import embed_all

if TYPE_CHECKING:
    import numpy as np

    from ragstone.types import Embedder

_BLOCK = 256  # texts that a worker takes at once


class EmbeddingWorker:
    """An actor of Ray Data: opens the embedder once. `keys`: a reference to the keys of the providers; `keeper`: that
    of the limits, or None. Errors of ours go home in the column `error`: Ray Data would make texts of them."""

    def __init__(
        self, name: str, options: ModelOptions, kind: Literal["query", "passage"], keys: Any, keeper: Any
    ) -> None:
        import ray  # noqa: PLC0415

        known: Mapping[str, str] = ray.get(keys[0])
        os.environ.update(known)
        self._kind: Literal["query", "passage"] = kind
        self._runner, self._stack = asyncio.Runner(), contextlib.AsyncExitStack()
        self._open = open_embedder(name, limited_by(keeper, options))
        self._embedder: Embedder | None = None

    def __call__(self, block: Mapping[str, Any]) -> dict[str, Any]:
        import numpy as np  # noqa: PLC0415

        texts, error = [str(text) for text in block["text"]], b""
        try:
            vectors = self._runner.run(self._embedded(texts))
        except RagstoneError as problem:
            vectors, error = np.zeros((len(texts), 1), dtype=np.float32), pickle.dumps(problem)
        return {"row": block["row"], "vector": vectors, "error": [error] * len(texts)}

    async def _embedded(self, texts: Sequence[str]) -> "np.ndarray[Any, Any]":
        if self._embedder is None:
            self._embedder = await self._stack.enter_async_context(self._open)
        return await embed_all(self._embedder, texts, kind=self._kind)


def embed_on(
    ray: Any, name: str, options: ModelOptions, texts: Sequence[str], kind: str, keys: Mapping[str, str], keeper: Any,
    *, workers: int, gpus: float,
) -> "np.ndarray[Any, Any]":  # fmt: skip
    """(n, dimensions) float32, in the order of the texts. Blocks; Ray is connected. `keeper`: that of the limits, or
    None. Raises what the embedder raises in a worker."""
    import numpy as np  # noqa: PLC0415
    import ray.data  # noqa: PLC0415

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    sent = replace(options, spread=None)
    rows = ray.data.from_items([{"row": row, "text": text} for row, text in enumerate(texts)])
    blocks = rows.map_batches(
        EmbeddingWorker, fn_constructor_args=(name, sent, kind, [ray.put(dict(keys))], keeper), batch_size=_BLOCK,
        compute=ray.data.ActorPoolStrategy(size=workers), num_cpus=1, num_gpus=gpus or None,
    )  # fmt: skip
    matrix: np.ndarray[Any, Any] | None = None
    for block in blocks.iter_batches(batch_size=None, batch_format="numpy"):
        if error := block["error"][0]:
            raise pickle.loads(error)
        vectors = np.stack(block["vector"]).astype(np.float32)
        if matrix is None:
            matrix = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
        matrix[block["row"]] = vectors
    assert matrix is not None
    return matrix
