"""The samples that many values belong to, in a few bytes each."""

from array import array
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

Indices: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
_WIDEST = 48  # bytes of the longest id, up to which ids are sorted as they are in memory


def draw_of(sample: str) -> bytes:
    """A fair draw among samples that are equal in all else: the greatest comes first."""
    return blake2b(sample.encode("utf-8", "surrogatepass"), digest_size=8).digest()


class Samples:
    """The ids of samples, one after the other in one text, by place. A sample that comes again later, after others,
    has several places, of which `groups` tells that they are of one sample."""

    def __init__(self) -> None:
        self._text, self._ends = bytearray(), array("q", [0])
        self._hashes = array("q")
        self._last: str | None = None

    def add(self, sample: str) -> int:
        """The place of this id; that of the last one if it is the same."""
        if sample != self._last:
            self._last = sample
            self._text += sample.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._text))
            self._hashes.append(hash(sample))
        return len(self._hashes) - 1

    def __getitem__(self, place: int) -> str:
        return self._id(place).decode("utf-8", "surrogatepass")

    def _id(self, place: int) -> bytes:
        return bytes(self._text[self._ends[place] : self._ends[place + 1]])

    def groups(self, places: Sequence[int] | Numbers) -> Indices:
        """A number for each place, equal for places of one sample."""
        return np.frombuffer(self._hashes, dtype=np.int64)[np.asarray(places, dtype=np.int64)]

    def order(self, places: Numbers) -> Indices:
        """The order of these places by their ids; of one id, as they are."""
        widest = int(np.diff(np.frombuffer(self._ends, dtype=np.int64)).max(initial=0))
        kind: Any = f"S{max(1, widest)}" if widest <= _WIDEST else object
        return np.argsort(np.fromiter(map(self._id, places), dtype=kind, count=len(places)), kind="stable")
