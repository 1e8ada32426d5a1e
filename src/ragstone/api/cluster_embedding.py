"""Embeds a pool by the workers of a Ray cluster, with Ray Data: texts go out in blocks, vectors come home in order.

Each worker opens the same embedder with the same cache folder: where that is on a shared disk, what was embedded before
a failure is not embedded again. A share of a GPU is asked for if the command says so; that was not tested with one.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ragstone.models import ModelOptions, open_embedder
from ragstone.retrieval.embedders import embed_all

if TYPE_CHECKING:
    import numpy as np

_BLOCK = 256  # texts that a worker takes at once


class EmbeddingWorker:
    """An actor of Ray Data: opens the embedder once. `keys`: a reference to the keys of the providers."""

    def __init__(self, name: str, options: ModelOptions, kind: Literal["query", "passage"], keys: Any) -> None:
        import ray  # noqa: PLC0415

        known: Mapping[str, str] = ray.get(keys[0])
        os.environ.update(known)
        self._kind: Literal["query", "passage"] = kind
        self._runner, self._stack = asyncio.Runner(), contextlib.AsyncExitStack()
        self._embedder = self._runner.run(self._stack.enter_async_context(open_embedder(name, options)))

    def __call__(self, block: Mapping[str, Any]) -> dict[str, Any]:
        texts = [str(text) for text in block["text"]]
        return {"row": block["row"], "vector": self._runner.run(embed_all(self._embedder, texts, kind=self._kind))}


def embed_on(
    ray: Any, name: str, options: ModelOptions, texts: Sequence[str], kind: str, keys: Mapping[str, str], *,
    workers: int, gpus: float,
) -> "np.ndarray[Any, Any]":  # fmt: skip
    """(n, dimensions) float32, in the order of the texts. Blocks; Ray is connected. The limits of a minute are divided
    among the workers."""
    import numpy as np  # noqa: PLC0415
    import ray.data  # noqa: PLC0415

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    rates = {name: value and value / workers for name, value in (
        ("requests_per_minute", options.requests_per_minute), ("tokens_per_minute", options.tokens_per_minute)
    )}  # fmt: skip
    sent = replace(options, spread=None, allowance=None, **rates)  # type: ignore[arg-type]
    rows = ray.data.from_items([{"row": row, "text": text} for row, text in enumerate(texts)])
    blocks = rows.map_batches(
        EmbeddingWorker, fn_constructor_args=(name, sent, kind, [ray.put(dict(keys))]), batch_size=_BLOCK,
        compute=ray.data.ActorPoolStrategy(size=workers), num_cpus=1, num_gpus=gpus or None,
    )  # fmt: skip
    matrix: np.ndarray[Any, Any] | None = None
    for block in blocks.iter_batches(batch_size=None, batch_format="numpy"):
        vectors = np.stack(block["vector"]).astype(np.float32)
        if matrix is None:
            matrix = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
        matrix[block["row"]] = vectors
    assert matrix is not None
    return matrix
