"""Embeds many texts in small batches, so that an interruption loses at most the batches in flight.

An embedder's cache (`models/embedder_cached.py`) stores the result of a call when the call returns. A single call for a
whole pool would lose everything on an interruption.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from ragstone.errors import BadReply
from ragstone.models.embedder_cached import unit_vectors
from ragstone.models.embedder_spread import SpreadEmbedder
from ragstone.models.work import Pace, duration, track_work
from ragstone.types import Embedder

log = logging.getLogger(__name__)

# Texts per call and concurrent calls. The endpoint's own limits apply too.
_BATCH, _IN_FLIGHT = 64, 4
# A local model handles one call at a time and may take a second per text: small batches lose less on an interruption
# and give an early estimate of the remaining time.
_LOCAL_BATCH, _LOCAL_IN_FLIGHT = 16, 1
# Seconds between progress lines.
_LOG_EVERY = 10.0
_clock = time.monotonic


async def embed_all(
    embedder: Embedder, texts: Sequence[str], *, kind: Literal["query", "passage"], batch: int | None = None
) -> np.ndarray[Any, Any]:
    """(n, dimensions) float32, one unit vector per text, in order; (0, 0) without texts. Equal texts are embedded once.

    Raises the embedder's errors, after the other calls in flight have finished and are cached. Calling it again resumes
    from there."""
    if not texts:
        return np.empty((0, 0), dtype=np.float32)
    local = embedder.id.startswith("local/")
    batch = batch or (_LOCAL_BATCH if local else _BATCH)
    row = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    different = list(row)
    if isinstance(embedder, SpreadEmbedder) and len(different) >= embedder.least:
        matrix = unit_vectors(await embedder.embed_many(different, kind), len(different), embedder.id)
        return matrix if len(row) == len(texts) else matrix[[row[text] for text in texts]]
    progress = _Progress(embedder.id, kind, len(different))
    starts = iter(range(0, len(different), batch))
    parts: dict[int, np.ndarray[Any, Any]] = {}
    errors: list[Exception] = []

    async def work() -> None:
        for start in _until(starts, errors):
            some = different[start : start + batch]
            try:
                with track_work() as work:
                    parts[start] = unit_vectors(await embedder.embed(some, kind=kind), len(some), embedder.id)
            except Exception as error:
                errors.append(error)
                return
            progress.add(len(some), free=work.cached)

    await asyncio.gather(*(work() for _ in range(_LOCAL_IN_FLIGHT if local else _IN_FLIGHT)))
    if errors:
        progress.stopped()
        raise errors[0]
    if len({part.shape[1] for part in parts.values()}) != 1:
        raise BadReply(f"{embedder.id}: its vectors have different dimensions. Use another cache folder or --no-cache.")
    matrix = np.concatenate([parts[start] for start in sorted(parts)])
    return matrix if len(row) == len(texts) else matrix[[row[text] for text in texts]]


def _until(starts: Iterator[int], errors: Sequence[Exception]) -> Iterator[int]:
    """Batch starts, shared by all workers, until there is an error."""
    while not errors and (start := next(starts, None)) is not None:
        yield start


class _Progress:
    """Logs the progress of a long embedding now and then."""

    def __init__(self, name: str, kind: str, total: int) -> None:
        self._what, self._total, self._done = f"{name}: embedding {total:,} texts ({kind})", total, 0
        self._pace, self._last = Pace(_clock), _clock()

    def add(self, more: int, *, free: int) -> None:
        """Counts `more` embedded texts, `free` of them from the cache, and logs if it is time."""
        self._done += more
        self._pace.add(free, free=True)
        self._pace.add(more - free)
        rate, left = self._pace.rate, self._pace.seconds_left(self._total - self._done)
        if _clock() - self._last >= _LOG_EVERY and self._done < self._total and rate and left is not None:
            self._last = _clock()
            log.info("%s: %s done, %.1f a second, %s left", self._what, f"{self._done:,}", rate, duration(left))

    def stopped(self) -> None:
        log.info("%s: stopped after %s; a cache, if enabled, keeps them", self._what, f"{self._done:,}")
