"""Items: the user's data as samples, each with the system's response."""

import pickle
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragstone.storage import Spool
from ragstone.structs import Frozen, Scalar, plain_text
from ragstone.types import Response, Sample, Turn


class Item(Frozen, frozen=True):
    """A row. `sample` has the question, the references and the labelled passages. `response` has the system's answer
    and the retrieved passages, in order; None if the row has neither. Passages without an answer are a response that
    ends with `types.NO_ANSWER`.

    `where`: position in the file ("line 3", "row 3"). `row`: number of the row in the data, from 1, independent of
    `limit` and `sample`. `extra`: scalar values of unused columns (and of the language column), to group by. `history`:
    messages before the question. `error`: why the system gave no answer; there is no response then. `rest`: lists and
    objects of unused columns, where `read_eval_data` was asked to keep them.
    """

    sample: Sample
    response: Response | None = None
    where: str = ""
    extra: dict[str, Scalar] = msgspec.field(default_factory=dict)
    row: int = 0
    history: tuple[Turn, ...] = ()
    error: str = ""
    rest: dict[str, Any] = msgspec.field(default_factory=dict)


_ENCODER, _DECODER = msgspec.msgpack.Encoder(enc_hook=plain_text), msgspec.msgpack.Decoder(Item)
_PICKLED = b"\x80"  # how a pickle begins, and no item in MessagePack, which is a map of several fields


def spooled(items: Iterable[Item] = ()) -> Spool[Item]:
    """These items, on disk where they are many; more can be appended."""
    return Spool(items, encode=_encoded, decode=_decoded)


def _encoded(item: Item) -> bytes:
    try:
        return _ENCODER.encode(item)
    except (ValueError, TypeError, OverflowError):  # a lone surrogate, or an object that is no JSON
        return pickle.dumps(item)


def _decoded(data: bytes) -> Item:
    return pickle.loads(data) if data[:1] == _PICKLED else _DECODER.decode(data)


class Digests:
    """The ids of rows and the hash of each row's content, in their order, in a few bytes a row."""

    def __init__(self) -> None:
        self._ids, self._ends = bytearray(), array("q", [0])
        self._digests = bytearray()

    def add(self, name: str, digest: bytes) -> None:
        """The next row: its id, and a hash of 8 bytes."""
        self._ids += name.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._ids))
        self._digests += digest

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """The id and the hash, as a hexadecimal number, of each row."""
        for row in range(len(self)):
            name = self._ids[self._ends[row] : self._ends[row + 1]].decode("utf-8", "surrogatepass")
            yield name, self._digests[8 * row : 8 * row + 8].hex()


class EvalData(Frozen, frozen=True):
    """Data as read. `name`: the file's name. `schema`: the detected layout ("ragas", "deepeval"…). `mapping`: field →
    column.

    `sha256` is a hash of the content of all rows, including those excluded by `limit` and `sample`. It does not depend
    on the file format or the order of columns. `digests`: the ids and hashes of the content of all rows, in their
    order. `total`: number of all rows. `path`: the file that was read, if it was one. `warnings`: one line each, for
    users; `of_contexts`: those of them that concern recorded contexts, which a system that is asked does not get.
    """

    name: str
    schema: str
    mapping: dict[str, str]
    items: Sequence[Item]
    sha256: str
    warnings: tuple[str, ...] = ()
    of_contexts: tuple[str, ...] = ()
    total: int = 0
    digests: Digests = msgspec.field(default_factory=Digests)
    path: Path | None = None
