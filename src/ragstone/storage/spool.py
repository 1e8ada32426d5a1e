"""A list whose values are on disk, so that data of any size can be gone through several times with flat memory."""

import contextlib
import os
import pickle
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Generic, TypeVar, overload

from ragstone.errors import StorageError

__all__ = ["Spool"]

T = TypeVar("T")

_FIRST = 4_096  # values that stay as they are, in memory
_RECENT = 2_048  # later ones that are kept as they were read: what streams them often asks for them again soon


class Spool(Sequence[T], Generic[T]):
    """Values in the order in which they were appended. The first ones stay in memory; of later ones reading gives equal
    objects, not the same ones.

    `encode` and `decode` turn a value into bytes and back (by default pickle: the file is temporary, has no name, and
    nobody else can write it). StorageError where the disk is full.
    """

    def __init__(
        self,
        values: Iterable[T] = (),
        *,
        encode: Callable[[T], bytes] = pickle.dumps,
        decode: Callable[[bytes], T] = pickle.loads,
    ) -> None:
        self._encode, self._decode = encode, decode
        self._first: list[T] = []
        self._file: IO[bytes] | None = None
        self._ends = array("q", [0])
        self._reading = False
        self._recent: dict[int, T] = {}
        for value in values:
            self.append(value)

    def append(self, value: T) -> None:
        """Adds a value at the end."""
        if len(self._first) < _FIRST:
            self._first.append(value)
            return
        data = self._encode(value)
        with _disk_errors():
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            if self._reading:
                self._file.seek(0, os.SEEK_END)
                self._reading = False
            self._file.write(data)
        self._ends.append(self._ends[-1] + len(data))

    def __len__(self) -> int:
        return len(self._first) + len(self._ends) - 1

    @overload
    def __getitem__(self, place: int, /) -> T: ...
    @overload
    def __getitem__(self, place: slice, /) -> "Spool[T]": ...
    def __getitem__(self, place: int | slice, /) -> "T | Spool[T]":
        if isinstance(place, slice):
            return Spool(
                (self[number] for number in range(*place.indices(len(self)))), encode=self._encode, decode=self._decode
            )
        number = range(len(self))[place]
        if number < len(self._first):
            return self._first[number]
        if number not in self._recent:
            self._recent[number] = self._read(number - len(self._first))
            if len(self._recent) > _RECENT:
                del self._recent[next(iter(self._recent))]
        return self._recent[number]

    def _read(self, number: int) -> T:
        assert self._file is not None
        start, end = self._ends[number], self._ends[number + 1]
        with _disk_errors():
            self._file.seek(start)
            self._reading = True
            return self._decode(self._file.read(end - start))

    def __iter__(self) -> Iterator[T]:
        for number in range(len(self)):
            yield self[number]

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


@contextlib.contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = tempfile.gettempdir()
        raise StorageError(
            f"{where}: the data could not be kept there while they are read ({error.strerror}). Make space, or name "
            "another folder in TMPDIR."
        ) from error
