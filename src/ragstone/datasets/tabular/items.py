"""What the user's own data become: items, each a sample with the answer that a system gave."""

import msgspec

from ragstone.types import Frozen, Response, Sample, Scalar, Turn

__all__ = ["EvalData", "Item"]


class Item(Frozen, frozen=True):
    """A row. `sample` holds the question, the references and the labelled passages, `response` what the system answered
    and the passages that it retrieved, in order; None where the row has
    neither. Passages without an answer are a response that ends with `types.NO_ANSWER`.

    `where` is the row as its file counts it ("line 3", "row 3"), `row` its place among the rows of the data, from 1,
    whatever `limit` and `sample` chose. `extra` has the single values of columns that nothing else uses (and the
    language as the column names it), to group by. `history` is what was said before the question.
    """

    sample: Sample
    response: Response | None
    where: str
    extra: dict[str, Scalar] = msgspec.field(default_factory=dict)
    row: int = 0
    history: tuple[Turn, ...] = ()


class EvalData(Frozen, frozen=True):
    """What was read. `name` is the file's, `schema` the layout that was recognised ("ragas", "deepeval"…).

    `mapping` says which column is which of our words. `sha256` is over the content of all rows, also of those that
    `limit` and `sample` left out, and not over the bytes of a file: the same rows have the same hash in any order of
    their columns. `total` counts all rows. `warnings` are for a person, one line each.
    """

    name: str
    schema: str
    mapping: dict[str, str]
    items: tuple[Item, ...]
    sha256: str
    warnings: tuple[str, ...] = ()
    total: int = 0
