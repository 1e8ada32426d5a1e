"""The chunks of one question, as pools have them: some state the answer, the others are about the same event, about
other editions or another category of it, or from before it. A language says how each is written."""

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable
from random import Random

from ragstone.datasets.fictional.parts import Collected, Document, DuplicateEvent, PoolChunk, sample, shuffled

STATING = ("plain", "plain", "plain", "far", "far", "brief")


def misleading_kinds(rng: Random, count: int) -> list[str]:
    """`count` kinds of misleading chunks, as varied as possible."""
    kinds: list[str] = []
    while len(kinds) < count:
        kinds += sample(rng, ("other_year", "rumour", "related", "other_category"), count - len(kinds))
    return kinds


class ChunkCollector(ABC):
    """Collects the chunks of one question. `reserved`: the names of events that other questions use."""

    def __init__(self, rng: Random, reserved: Container[str]) -> None:
        self.rng, self.reserved = rng, reserved
        self.chunks: list[PoolChunk] = []
        self.names: dict[str, None] = {}

    @abstractmethod
    def other_editions(self, count: int) -> list[int]:
        """`count` different editions (a year, or years from the one asked about); fewer if there are not as many."""

    @abstractmethod
    def any_edition(self) -> int: ...

    @abstractmethod
    def add_event_chunk(self, kind: str) -> None:
        """Adds a chunk about the event itself: a "rumour" from before it, or a "related" one without the answer."""

    @abstractmethod
    def add_edition_chunk(self, edition: int) -> None: ...

    @abstractmethod
    def add_category_chunk(self) -> None:
        """Adds a chunk about an event of another category."""

    def reserve(self, *names: str) -> None:
        """Claims the names of events before chunks about them are written. Raises DuplicateEvent."""
        for name in names:
            if name in self.reserved:
                raise DuplicateEvent(name)
            self.names[name] = None

    def add(self, documents: Iterable[Document], title: str, *, support: bool = False) -> None:
        """Adds documents about one event."""
        self.chunks += [PoolChunk(document, title, support) for document in documents]

    def add_misleading(self, kinds: Iterable[str]) -> None:
        """Adds a chunk of each of these kinds, none of which states the answer."""
        kinds = list(kinds)
        editions = self.other_editions(kinds.count("other_year"))
        for kind in kinds:
            if kind in {"rumour", "related"}:
                self.add_event_chunk(kind)
            elif kind == "other_year":
                # There are as many as the domain has steps; more chunks than that tell of a year again.
                self.add_edition_chunk(editions.pop() if editions else self.any_edition())
            else:
                self.add_category_chunk()

    def collected(
        self, query: str, facts: tuple[tuple[str, ...], ...], needed: tuple[int, ...], domain: str
    ) -> Collected:
        """The question with its chunks, in random order."""
        order = shuffled(self.rng, range(len(self.chunks)))
        chunks = tuple(self.chunks[place] for place in order)
        return Collected(query, facts, chunks, tuple(map(order.index, needed)), tuple(self.names), domain)
