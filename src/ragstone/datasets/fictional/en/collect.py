"""The chunks of a question, in English: how they are written, and what an event is called."""

import re
from collections.abc import Container
from random import Random
from typing import Any

from ragstone.datasets.fictional.collector import STATING, ChunkCollector, misleading_kinds
from ragstone.datasets.fictional.en.domain import EnglishDomain, World, aliases
from ragstone.datasets.fictional.en.items import RowWriter, another_category, hidden_parts, other_years, start_row
from ragstone.datasets.fictional.en.story import spelt
from ragstone.datasets.fictional.parts import Collected, pick
from ragstone.datasets.fictional.worlds import EventSeries

# Characters to aim at: 330 tokens are the most that a chunk should have, and about 1,480 characters of such news.
_LONG = (1150, 1450)
TARGETS = {"plain": _LONG, "far": _LONG, "brief": (420, 800), "rumour": _LONG, "related": _LONG}
MISLEADING = ("plain", "plain", "far", "brief")


class EnglishCollector(ChunkCollector):
    """Collects the chunks of one question about the event of a world; an edition is a year."""

    def __init__(
        self,
        writer: RowWriter,
        series: EventSeries,
        field: str,
        avoid: list[str],
        reserved: Container[str],
        world: World,
        year: int,
    ) -> None:
        super().__init__(writer.rng, reserved)
        self.writer, self.series, self.field, self.avoid = writer, series, field, avoid
        self.world, self.year = world, year
        self.sibling: EventSeries | None = None
        self.editions: dict[int, World] = {}

    def reserve_event(self, world: World) -> None:
        """Claims the name of a world's event. Raises DuplicateEvent."""
        self.reserve(re.sub(r" \d+$", "", str(world["event"])))
        if "gadget" in world:  # questions that need two chunks name it so
            self.reserve(f"{world['company']} {world['gadget']}")

    def add_supporting(self, field: str, avoid: list[str], count: int) -> None:
        """Adds `count` chunks that state the field and nothing of `avoid`."""
        self.reserve_event(self.world)
        kinds = [pick(self.rng, STATING) for _ in range(count)]
        story = self.writer.story(self.world, field, avoid)
        self.add(self.writer.documents(story, field, kinds), _title(self.world), support=True)

    def other_editions(self, count: int) -> list[int]:
        return other_years(self.rng, self.writer.domain, self.year, count)

    def any_edition(self) -> int:
        return self.year + pick(self.rng, self.writer.domain.steps)

    def add_event_chunk(self, kind: str) -> None:
        rumours, related = int(kind == "rumour"), int(kind == "related")
        documents = self.writer.around(self.world, self.field, self.avoid, rumours=rumours, related=related)
        self.add(documents, _title(self.world))

    def add_edition_chunk(self, edition: int) -> None:
        if edition not in self.editions:
            self.editions[edition] = self.writer.domain.worlds.edition(self.rng, self.series, year=edition)
        self._add_other_event(self.editions[edition], "other_year")

    def add_category_chunk(self) -> None:
        self.sibling = self.sibling or another_category(self.writer, self.series)
        year = self.year + pick(self.rng, (0, 0, 1, -1))
        self._add_other_event(self.writer.domain.worlds.edition(self.rng, self.sibling, year=year), "other_category")

    def _add_other_event(self, world: World, kind: str) -> None:
        self.reserve_event(world)
        story = self.writer.story(world, self.field, self.avoid, side="other")
        self.add(self.writer.documents(story, self.field, [pick(self.rng, MISLEADING)], kind), _title(world))


def _title(world: World) -> str:
    return f"{world['event']} ({world['year']})"


def collect_one(
    rng: Random, domain: EnglishDomain, chunks: int, supporting: int, reserved: Container[str]
) -> Collected:
    """A question with `chunks` chunks, of which `supporting` support its answer."""
    writer, series, year = start_row(rng, domain, TARGETS)
    field = pick(rng, list(domain.answers))
    world = domain.worlds.edition(rng, series, year=year)
    query = spelt(writer.story(world, field, ()).draw(f"q.{field}"))
    collector = EnglishCollector(writer, series, field, hidden_parts(domain, field, world), reserved, world, year)
    collector.add_supporting(field, [], supporting)
    collector.add_misleading(misleading_kinds(rng, chunks - supporting))
    return collector.collected(query, (aliases(domain.answers[field], world[field]),), (0,), domain.name)


def collect_two(rng: Random, domain: EnglishDomain, chunks: int, reserved: Container[str]) -> Collected:
    """The question names the series and one fact of an edition, and asks for another fact of that edition."""
    writer, series, year = start_row(rng, domain, TARGETS)
    given, field = pick(rng, [tuple(name[3:].split("+")) for name in writer.grammar if name.startswith("qh.")])
    world = domain.worlds.edition(rng, series, year=year)
    query = spelt(writer.story(world, given, ()).draw(f"qh.{given}+{field}"))
    first, second = hidden_parts(domain, given, world), hidden_parts(domain, field, world)
    collector = EnglishCollector(writer, series, field, first + second, reserved, world, year)
    collector.add_supporting(given, second, 1)
    collector.add_supporting(field, first, 1)
    # Another edition's answer is always there: only who has read the first chunk can tell which one is right.
    collector.add_misleading(["other_year", *misleading_kinds(rng, chunks - 3)])
    facts: Any = tuple(aliases(domain.answers[name], world[name]) for name in (given, field))
    return collector.collected(query, facts, (0, 1), domain.name)
