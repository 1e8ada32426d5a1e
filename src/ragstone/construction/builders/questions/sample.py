"""Which chunks are read: drawn by the seed, by document and topic, before any model is asked.

The draw is an order of all chunks that does not depend on how many are wanted, so a larger sample begins with the
smaller one."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from msgspec.structs import replace

from ragstone.analysis.topics import topics_of
from ragstone.construction.builders.passes import LocalPass, with_title
from ragstone.construction.builders.pipeline import Kept, Replies, Search
from ragstone.construction.builders.steps import content_id
from ragstone.text import detect
from ragstone.types import Passage

TURN = "turn"
"""The field of a chunk's `meta` with the number of the turn in which it was drawn."""

_NEAREST = 10  # passages among which the second chunk of a turn is looked for
_TOPICAL = 1_000  # chunks whose topics are told apart


@dataclass(frozen=True)
class OrderChunks(LocalPass):
    """Orders the chunks: one of each document, then a second one of each…; among them the languages take turns, and in
    a language the topics."""

    seed: int = 0
    name: str = "order"

    async def finish(self, items: Sequence[Passage], replies: Replies, search: Search, /) -> Kept:
        """All chunks."""
        seed = str(self.seed)
        by_seed = sorted(items, key=lambda chunk: (content_id(seed, document_of(chunk)), content_id(seed, chunk.id)))
        places = _numbers(by_seed, document_of)
        order = sorted(by_seed, key=lambda chunk: places[chunk.id])
        topics = topics_of(map(with_title, order[:_TOPICAL]))
        order = _in_turns(order, places, lambda chunk: topics.get(with_title(chunk), ""))
        return _in_turns(order, places, lambda chunk: detect(chunk.text)), []


def _numbers(chunks: Iterable[Passage], key: Callable[[Passage], Hashable]) -> dict[str, int]:
    """Id → how many earlier chunks have the same key."""
    seen, numbers = Counter[Hashable](), dict[str, int]()
    for chunk in chunks:
        numbers[chunk.id] = seen[key(chunk)]
        seen[key(chunk)] += 1
    return numbers


def _in_turns(
    order: Sequence[Passage], places: Mapping[str, int], stratum: Callable[[Passage], str]
) -> list[Passage]:  # fmt: skip
    """Of the chunks in the same place one of each stratum, then a second one of each…"""
    numbers = _numbers(order, lambda chunk: (places[chunk.id], stratum(chunk)))
    return sorted(order, key=lambda chunk: (places[chunk.id], numbers[chunk.id]))


@dataclass(frozen=True)
class SampleChunks(LocalPass):
    """Takes the ordered chunks in turns: the next one and, if `pairs`, the nearest one of another document, which may
    state a second value or go on from the first. `turns`: of this round; `limit`: of the whole construction."""

    turns: int
    limit: int
    pairs: bool = False
    grows: ClassVar[bool] = True
    name: str = "sample"

    def most(self, entered: int, /) -> int:
        """The chunks of all turns."""
        return min(entered, (1 + self.pairs) * self.limit)

    async def finish(self, items: Sequence[Passage], replies: Replies, search: Search, /) -> Kept:
        """The chunks that are read, turn by turn; the others are not rejected."""
        left, drawn = {chunk.id: chunk for chunk in items}, list[Passage]()
        turn = 0
        while left and turn < self.turns:
            ahead = list(islice(left.values(), self.turns - turn))
            nearest = await search([with_title(chunk) for chunk in ahead], k=_NEAREST) if self.pairs else []
            for number, chunk in enumerate(ahead):
                if chunk.id not in left:  # it was the second one of an earlier turn
                    continue
                del left[chunk.id]
                near = nearest[number] if nearest else []
                other = next((left.pop(one.id) for one in near if one.id in left and _apart(one, chunk)), None)
                both = (chunk,) if other is None else (chunk, other)
                drawn += (replace(one, meta={**one.meta, TURN: turn}) for one in both)
                turn += 1
        return drawn, []


def document_of(chunk: Passage) -> str:
    """The name of the chunk's document."""
    return str(chunk.meta.get("document", chunk.id))


def _apart(chunk: Passage, other: Passage) -> bool:
    return document_of(chunk) != document_of(other)
