"""Many texts to vectors, losing nothing that is done: in small batches, each kept by the embedder's cache as it comes.

An embedder's cache (`models/embedder_cached.py`) keeps what one call brought when that call ends. One call for a whole
pool would therefore keep nothing of what was embedded before an interruption.
"""

import asyncio
import logging
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ragstone.errors import BadReply
from ragstone.models.embedder_cached import unit_vectors
from ragstone.models.work import Pace, duration, track_work
from ragstone.types import Embedder

if TYPE_CHECKING:
    import numpy as np

__all__ = ["embed_all"]

log = logging.getLogger(__name__)

# Texts in one call, and calls under way at one time. An endpoint's own limits hold besides.
_BATCH, _IN_FLIGHT = 64, 4
# What runs on this machine does one thing at a time, a second or so for each text: a call is what an interruption may
# lose, and until the first one ends nobody knows how long it takes.
_LOCAL_BATCH, _LOCAL_IN_FLIGHT = 16, 1
# Seconds between two lines about the progress.
_TELL_EVERY = 10.0
_clock = time.monotonic


async def embed_all(
    embedder: Embedder, texts: Sequence[str], *, kind: Literal["query", "passage"], batch: int | None = None
) -> "np.ndarray[Any, Any]":
    """(n, dimensions) float32, rows of unit length in the order of `texts`; (0, 0) for no text. Equal texts are
    embedded once.

    Raises what the embedder raises; what was under way then is waited for first, so that it is kept. The same call
    again goes on from there."""
    import numpy as np  # noqa: PLC0415

    if not texts:
        return np.empty((0, 0), dtype=np.float32)
    local = embedder.id.startswith("local/")
    batch = batch or (_LOCAL_BATCH if local else _BATCH)
    row = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    different = list(row)
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
            progress.tell(len(some), free=work.cached)

    await asyncio.gather(*(work() for _ in range(_LOCAL_IN_FLIGHT if local else _IN_FLIGHT)))
    if errors:
        progress.stopped()
        raise errors[0]
    if len({part.shape[1] for part in parts.values()}) != 1:
        raise BadReply(f"{embedder.id}: its vectors differ in length. Use another cache folder, or --no-cache.")
    matrix = np.concatenate([parts[start] for start in sorted(parts)])
    return matrix if len(row) == len(texts) else matrix[[row[text] for text in texts]]


def _until(starts: Iterator[int], errors: Sequence[Exception]) -> Iterator[int]:
    """The next batches, for whoever asks first, until an error is there."""
    while not errors and (start := next(starts, None)) is not None:
        yield start


class _Progress:
    """Says now and then how far it is, where it takes long."""

    def __init__(self, name: str, kind: str, total: int) -> None:
        self._what, self._total, self._done = f"{name}: embedding {total:,} texts ({kind})", total, 0
        self._pace, self._last = Pace(_clock), _clock()

    def tell(self, more: int, *, free: int) -> None:
        """So many more are done, `free` of them by a cache."""
        self._done += more
        self._pace.add(free, free=True)
        self._pace.add(more - free)
        rate, left = self._pace.rate, self._pace.seconds_left(self._total - self._done)
        if _clock() - self._last >= _TELL_EVERY and self._done < self._total and rate and left is not None:
            self._last = _clock()
            log.info("%s: %s done, %.1f a second, %s left", self._what, f"{self._done:,}", rate, duration(left))

    def stopped(self) -> None:
        log.info("%s: stopped after %s; where there is a cache, they are kept", self._what, f"{self._done:,}")
