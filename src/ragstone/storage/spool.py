"""A list whose values are on disk, so that data of any size can be gone through several times with flat memory."""

import contextlib
import itertools
import os
import pickle
import tempfile
import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Generic, TypeVar, overload

from ragstone.errors import StorageError

T = TypeVar("T")

_FIRST = 1_024  # values that stay as they are, in memory
_BLOCK = 64  # later ones are read so many at once
_RECENT = 32  # blocks that are kept as they were read: what streams the values often asks for them again soon


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
        self._recent: dict[int, list[T]] = {}  # by the number of the block
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
        self._recent.pop((len(self._ends) - 1) // _BLOCK, None)
        self._ends.append(self._ends[-1] + len(data))

    def __reduce__(self) -> tuple[Any, ...]:
        """As for the workers of a cluster: the values as they are encoded, not one by one."""
        data = b""
        if self._file is not None:
            with _disk_errors():
                self._file.seek(0)
                self._reading = True
                data = self._file.read()
        return _restored, (self._first, self._encode, self._decode, self._ends, data)

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
        block, place = divmod(number - len(self._first), _BLOCK)
        return self._block(block)[place]

    def _block(self, number: int) -> list[T]:
        if number not in self._recent:
            self._recent[number] = self._read(number)
            if len(self._recent) > _RECENT:
                del self._recent[next(iter(self._recent))]
        return self._recent[number]

    def _read(self, block: int) -> list[T]:
        assert self._file is not None
        ends = self._ends[block * _BLOCK : (block + 1) * _BLOCK + 1]
        with _disk_errors():
            self._file.seek(ends[0])
            self._reading = True
            data = self._file.read(ends[-1] - ends[0])
        return [self._decode(data[start - ends[0] : end - ends[0]]) for start, end in itertools.pairwise(ends)]

    def __iter__(self) -> Iterator[T]:
        yield from self._first
        for number in range(-(-(len(self._ends) - 1) // _BLOCK)):
            yield from self._block(number)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


def _restored(
    first: list[T], encode: Callable[[T], bytes], decode: Callable[[bytes], T], ends: "array[int]", data: bytes
) -> Spool[T]:
    """A spool in another process, with a file of its own."""
    spool = Spool(first, encode=encode, decode=decode)
    if data:
        with _disk_errors():
            spool._file = tempfile.TemporaryFile()  # noqa: SIM115
            weakref.finalize(spool, spool._file.close)
            spool._file.write(data)
        spool._ends, spool._reading = ends, True
    return spool


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
