"""Items: the user's data as samples, each with the system's response."""

from pathlib import Path
from typing import Any

import msgspec

from ragstone.structs import Frozen, Scalar
from ragstone.types import Response, Sample, Turn

__all__ = ["EvalData", "Item"]


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
    response: Response | None
    where: str
    extra: dict[str, Scalar] = msgspec.field(default_factory=dict)
    row: int = 0
    history: tuple[Turn, ...] = ()
    error: str = ""
    rest: dict[str, Any] = msgspec.field(default_factory=dict)


class EvalData(Frozen, frozen=True):
    """Data as read. `name`: the file's name. `schema`: the detected layout ("ragas", "deepeval"…). `mapping`: field →
    column.

    `sha256` is a hash of the content of all rows, including those excluded by `limit` and `sample`. It does not depend
    on the file format or the order of columns. `digests`: id → hash of its content, of all rows in their order.
    `total`: number of all rows. `path`: the file that was read, if it was one. `warnings`: one line each, for users;
    `of_contexts`: those of them that concern recorded contexts, which a system that is asked does not get.
    """

    name: str
    schema: str
    mapping: dict[str, str]
    items: tuple[Item, ...]
    sha256: str
    warnings: tuple[str, ...] = ()
    of_contexts: tuple[str, ...] = ()
    total: int = 0
    digests: dict[str, str] = msgspec.field(default_factory=dict)
    path: Path | None = None
