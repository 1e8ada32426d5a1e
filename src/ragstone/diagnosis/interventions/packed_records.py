"""The records of a question in few bytes: a diagnosis of 10,000 questions has a gigabyte of texts, of which the tables
need those of a few questions at a time."""

import pickle
import zlib
from collections.abc import Iterator, Mapping
from copy import copy
from functools import lru_cache

from ragstone.types import Record

_UNPACKED = 64  # questions
_LEVEL = 5  # of zlib: a seventh fewer bytes than 1, in 0.1 ms more


class PackedRecords(Mapping[str, Record]):
    """Records by condition, which are unpacked where one of them is read."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self._names = dict.fromkeys(records)
        self.packed = zlib.compress(pickle.dumps(dict(records), pickle.HIGHEST_PROTOCOL), _LEVEL)

    def __getitem__(self, name: str) -> Record:
        if name not in self._names:
            raise KeyError(name)
        return _unpacked(self.packed)[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def without(records: Mapping[str, Record], name: str) -> Mapping[str, Record]:
    """The records without one, packed if they were."""
    if not isinstance(records, PackedRecords):
        return {key: record for key, record in records.items() if key != name}
    fewer = copy(records)
    fewer._names = {key: None for key in records if key != name}
    return fewer


@lru_cache(maxsize=_UNPACKED)
def _unpacked(packed: bytes) -> dict[str, Record]:
    records: dict[str, Record] = pickle.loads(zlib.decompress(packed))  # made here, never read from a file
    return records
