"""Where the evidence of a fact stands in the documents: document, page, heading and characters."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ragstone.retrieval.corpus import Heading, path_of
from ragstone.structs import Frozen
from ragstone.types import Passage

CUT, HEADINGS = "cut", "headings"
"""The `meta` of a document that says what was cut from it, as pairs of a place in the new text and a number of
characters; and its headings."""


class Place(Frozen, frozen=True):
    """`heading`: the words of all headings above, the highest first, parted by " > ". `start` and `end`: characters of
    the document as `retrieval.corpus` reads it, `end` not included; None where a chunk repeats them from elsewhere."""

    document: str
    page: int | None = None
    heading: str = ""
    start: int | None = None
    end: int | None = None


def with_headings(passages: Iterable[Passage], headings: Mapping[str, tuple[Heading, ...]]) -> list[Passage]:
    """The documents with their headings in their `meta`."""
    return [replace(passage, meta={**passage.meta, HEADINGS: headings.get(passage.id, ())}) for passage in passages]


def place_of(chunk: Passage, start: int, end: int) -> Place:
    """Where these characters of a chunk stand in its document, before anything was cut from it."""
    meta = chunk.meta
    document, page = str(meta.get("document", chunk.id)), meta.get("page")
    first, last = int(meta.get("start", 0)), int(meta.get("end", len(chunk.text)))
    repeated = len(chunk.text) - (last - first)  # the header of a long table, which its later chunks begin with
    at = _uncut(chunk, first + max(start - repeated, 0))
    above = [heading for heading in meta.get(HEADINGS, ()) if heading[0] <= at]
    heading = " > ".join(words for _, words in path_of(above)) or (chunk.title if page is not None else "")
    if start < repeated:
        return Place(document, page, heading)
    return Place(document, page, heading, at, _uncut(chunk, first + end - repeated - 1) + 1)


def _uncut(chunk: Passage, at: int) -> int:
    """A place in the document before lines were cut from it."""
    cut: Sequence[tuple[int, int]] = chunk.meta.get(CUT, ())
    return at + sum(length for place, length in cut if place <= at)
