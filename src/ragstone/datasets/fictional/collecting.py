"""The chunks of one question, as pools have them: some state the answer, the others are about the same event, about
other editions or another category of it, or from before it. A language says how each is written."""

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable
from random import Random
from typing import Generic, TypeVar

from ragstone.datasets.fictional.parts import Chunk, Collected, Document, DuplicateEvent, sample, shuffled

__all__ = ["STATING", "Folder", "misleading_kinds"]

E = TypeVar("E")  # what names an edition
STATING = ("plain", "plain", "plain", "far", "far", "brief")


def misleading_kinds(rng: Random, count: int) -> list[str]:
    """So many kinds of misleading chunks, as different as can be."""
    kinds: list[str] = []
    while len(kinds) < count:
        kinds += sample(rng, ("other_year", "rumour", "related", "other_category"), count - len(kinds))
    return kinds


class Folder(ABC, Generic[E]):
    """The chunks of one question as they are collected. `told`: names of events that other questions have."""

    def __init__(self, rng: Random, told: Container[str]) -> None:
        self.rng, self.told = rng, told
        self.chunks: list[Chunk] = []
        self.names: dict[str, None] = {}

    @abstractmethod
    def other_editions(self, count: int) -> list[E]:
        """So many different editions, or as many as there are."""

    @abstractmethod
    def any_edition(self) -> E: ...

    @abstractmethod
    def tell_of_event(self, kind: str) -> None:
        """Adds a chunk about the event itself: a "rumour" from before it, or a "related" one without the answer."""

    @abstractmethod
    def tell_of_edition(self, edition: E) -> None: ...

    @abstractmethod
    def tell_of_category(self) -> None:
        """Adds a chunk about an event of another category."""

    def name(self, *names: str) -> None:
        """That chunks tell of events of these names, before they are written. Raises DuplicateEvent."""
        for one in names:
            if one in self.told:
                raise DuplicateEvent(one)
            self.names[one] = None

    def add(self, documents: Iterable[Document], title: str, *, support: bool = False) -> None:
        """Documents about one event."""
        self.chunks += [Chunk(document, title, support) for document in documents]

    def mislead(self, kinds: Iterable[str]) -> None:
        """A chunk of each of the kinds that does not state the answer."""
        kinds = list(kinds)
        editions = self.other_editions(kinds.count("other_year"))
        for kind in kinds:
            if kind in {"rumour", "related"}:
                self.tell_of_event(kind)
            elif kind == "other_year":
                # There are as many as the domain has steps; more chunks than that tell of a year again.
                self.tell_of_edition(editions.pop() if editions else self.any_edition())
            else:
                self.tell_of_category()

    def close(self, query: str, facts: tuple[tuple[str, ...], ...], needed: tuple[int, ...], domain: str) -> Collected:
        """All of it, the chunks in random order."""
        order = shuffled(self.rng, range(len(self.chunks)))
        chunks = tuple(self.chunks[place] for place in order)
        return Collected(query, facts, chunks, tuple(map(order.index, needed)), tuple(self.names), domain)
