"""The chunks of a question, in English: how they are written, and what an event is called."""

import re
from collections.abc import Container
from random import Random
from typing import Any

from ragstone.datasets.fictional.collecting import STATING, Folder, misleading_kinds
from ragstone.datasets.fictional.en.domain import Domain, World, aliases
from ragstone.datasets.fictional.en.grammar import spelt
from ragstone.datasets.fictional.en.tell import Desk, another_category, hidden_parts, open_desk, other_years
from ragstone.datasets.fictional.parts import Collected, pick
from ragstone.datasets.fictional.worlds import Series

__all__ = ["collect_one", "collect_two"]

# Characters to aim at: 330 tokens are the most that a chunk should have, and about 1,480 characters of such news.
_LONG = (1150, 1450)
TARGETS = {"plain": _LONG, "far": _LONG, "brief": (420, 800), "rumour": _LONG, "related": _LONG}
MISLEADING = ("plain", "plain", "far", "brief")


class EnglishFolder(Folder[int]):
    """The chunks of one question about the event of a world; editions are years."""

    def __init__(
        self, desk: Desk, series: Series, asked: str, avoid: list[str], told: Container[str], world: World, year: int
    ) -> None:
        super().__init__(desk.rng, told)
        self.desk, self.series, self.asked, self.avoid = desk, series, asked, avoid
        self.world, self.year = world, year
        self.sibling: Series | None = None
        self.editions: dict[int, World] = {}

    def name_of(self, world: World) -> None:
        """That chunks tell of the event of a world. Raises DuplicateEvent."""
        self.name(re.sub(r" \d+$", "", str(world["event"])))
        if "gadget" in world:  # questions that need two chunks name it so
            self.name(f"{world['company']} {world['gadget']}")

    def state(self, asked: str, avoid: list[str], count: int) -> None:
        """So many chunks that state what is asked and nothing to avoid."""
        self.name_of(self.world)
        kinds = [pick(self.rng, STATING) for _ in range(count)]
        story = self.desk.story(self.world, asked, avoid)
        self.add(self.desk.documents(story, asked, kinds), _title(self.world), support=True)

    def other_editions(self, count: int) -> list[int]:
        return other_years(self.rng, self.desk.domain, self.year, count)

    def any_edition(self) -> int:
        return self.year + pick(self.rng, self.desk.domain.steps)

    def tell_of_event(self, kind: str) -> None:
        rumours, related = int(kind == "rumour"), int(kind == "related")
        documents = self.desk.around(self.world, self.asked, self.avoid, rumours=rumours, related=related)
        self.add(documents, _title(self.world))

    def tell_of_edition(self, edition: int) -> None:
        if edition not in self.editions:
            self.editions[edition] = self.desk.domain.worlds.edition(self.rng, self.series, year=edition)
        self._tell_of(self.editions[edition], "other_year")

    def tell_of_category(self) -> None:
        self.sibling = self.sibling or another_category(self.desk, self.series)
        year = self.year + pick(self.rng, (0, 0, 1, -1))
        self._tell_of(self.desk.domain.worlds.edition(self.rng, self.sibling, year=year), "other_category")

    def _tell_of(self, world: World, kind: str) -> None:
        self.name_of(world)
        story = self.desk.story(world, self.asked, self.avoid, side="other")
        self.add(self.desk.documents(story, self.asked, [pick(self.rng, MISLEADING)], kind), _title(world))


def _title(world: World) -> str:
    return f"{world['event']} ({world['year']})"


def collect_one(rng: Random, domain: Domain, chunks: int, supporting: int, told: Container[str]) -> Collected:
    """A question with so many chunks, so many of which support its answer."""
    desk, series, year = open_desk(rng, domain, TARGETS)
    asked = pick(rng, list(domain.answers))
    world = domain.worlds.edition(rng, series, year=year)
    query = spelt(desk.story(world, asked, ()).draw(f"q.{asked}"))
    folder = EnglishFolder(desk, series, asked, hidden_parts(domain, asked, world), told, world, year)
    folder.state(asked, [], supporting)
    folder.mislead(misleading_kinds(rng, chunks - supporting))
    return folder.close(query, (aliases(domain.answers[asked], world[asked]),), (0,), domain.name)


def collect_two(rng: Random, domain: Domain, chunks: int, told: Container[str]) -> Collected:
    """The question names the series and one fact of an edition, and asks for another fact of that edition."""
    desk, series, year = open_desk(rng, domain, TARGETS)
    named, asked = pick(rng, [tuple(name[3:].split("+")) for name in desk.grammar if name.startswith("qh.")])
    world = domain.worlds.edition(rng, series, year=year)
    query = spelt(desk.story(world, named, ()).draw(f"qh.{named}+{asked}"))
    first, second = hidden_parts(domain, named, world), hidden_parts(domain, asked, world)
    folder = EnglishFolder(desk, series, asked, first + second, told, world, year)
    folder.state(named, second, 1)
    folder.state(asked, first, 1)
    # Another edition's answer is always there: only who has read the first chunk can tell which one is right.
    folder.mislead(["other_year", *misleading_kinds(rng, chunks - 3)])
    facts: Any = tuple(aliases(domain.answers[name], world[name]) for name in (named, asked))
    return folder.close(query, facts, (0, 1), domain.name)
