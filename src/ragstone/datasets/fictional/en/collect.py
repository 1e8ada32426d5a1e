"""A question with the chunks collected for it, as pools have them: some state the answer, the others are about the same
event, about other editions or another category of it, or from before it."""

import re
from collections.abc import Container
from random import Random
from typing import Any

from ragstone.datasets.fictional.en.domain import Domain, Series, aliases
from ragstone.datasets.fictional.en.grammar import spelt
from ragstone.datasets.fictional.en.setting import Values
from ragstone.datasets.fictional.en.tell import Desk, another_category, hidden_parts, open_desk, other_years
from ragstone.datasets.fictional.parts import Chunk, Collected, Document, Told, pick, sample, shuffled

__all__ = ["collect"]

# Characters to aim at: 330 tokens are the most that a chunk should have, and about 1,480 characters of such news.
_LONG = (1150, 1450)
TARGETS = {"plain": _LONG, "far": _LONG, "brief": (420, 800), "rumour": _LONG, "related": _LONG}
STATING = ("plain", "plain", "plain", "far", "far", "brief")
MISLEADING = ("plain", "plain", "far", "brief")


class Folder:
    """The chunks of one question as they are collected."""

    def __init__(self, desk: Desk, series: Series, asked: str, avoid: list[str], told: Container[str]) -> None:
        self.desk, self.series, self.asked, self.avoid, self.told = desk, series, asked, avoid, told
        self.chunks: list[Chunk] = []
        self.names: dict[str, None] = {}

    def name(self, world: Values) -> None:
        """That chunks tell of the event of a world, before they are written. Raises Told."""
        names = [re.sub(r" \d+$", "", str(world["event"]))]
        if "gadget" in world:  # questions that need two chunks name it so
            names.append(f"{world['company']} {world['gadget']}")
        for one in names:
            if one in self.told:
                raise Told(one)
            self.names[one] = None

    def add(self, world: Values, documents: list[Document], *, support: bool = False) -> None:
        """Documents about the event of a world."""
        event, year = str(world["event"]), str(world["year"])
        self.chunks += [Chunk(document, f"{event} ({year})", support) for document in documents]

    def state(self, world: Values, asked: str, avoid: list[str], count: int) -> None:
        """So many chunks that state what is asked and nothing to avoid."""
        self.name(world)
        kinds = [pick(self.desk.rng, STATING) for _ in range(count)]
        self.add(world, self.desk.documents(self.desk.story(world, asked, avoid), asked, kinds), support=True)

    def mislead(self, world: Values, year: int, kinds: list[str]) -> None:
        """A chunk of each of the kinds that does not state it."""
        rng, domain = self.desk.rng, self.desk.domain
        years = other_years(rng, domain, year, kinds.count("other_year"))
        sibling: Series | None = None
        for kind in kinds:
            if kind in {"rumour", "related"}:
                one = (1, 0) if kind == "rumour" else (0, 1)
                self.add(world, self.desk.around(world, self.asked, self.avoid, rumours=one[0], related=one[1]))
                continue
            if kind == "other_year":
                # There are as many as the domain has steps; more chunks than that tell of a year again.
                when = years.pop() if years else year + pick(rng, domain.steps)
                other = self._edition(when)
            else:
                sibling = sibling or another_category(self.desk, self.series)
                other = domain.edition(rng, sibling, year + pick(rng, (0, 0, 1, -1)))
            self.name(other)
            story = self.desk.story(other, self.asked, self.avoid, side="other")
            self.add(other, self.desk.documents(story, self.asked, [pick(rng, MISLEADING)], kind))

    def _edition(self, year: int) -> Values:
        rng, domain = self.desk.rng, self.desk.domain
        return self.series.once(f"edition {year}", lambda: domain.edition(rng, self.series, year))


def collect(
    rng: Random, domain: Domain, chunks: int, supporting: int, *, two: bool = False, told: Container[str] = ()
) -> Collected:
    """A question about an invented event with so many chunks, so many of which support the answer, in random order.
    `two`: a question that needs two chunks, `supporting` is of no account then. Raises Told, before most of the work,
    for an event whose name is among `told`."""
    desk, series, year = open_desk(rng, domain, TARGETS)
    return (_two if two else _one)(desk, series, year, chunks, supporting, told)


def _one(desk: Desk, series: Series, year: int, chunks: int, supporting: int, told: Container[str]) -> Collected:
    rng, domain = desk.rng, desk.domain
    asked = pick(rng, list(domain.asked))
    world = domain.edition(rng, series, year)
    query = spelt(desk.story(world, asked, ()).draw(f"q.{asked}"))
    folder = Folder(desk, series, asked, hidden_parts(domain, asked, world), told)
    folder.state(world, asked, [], supporting)
    folder.mislead(world, year, _kinds(rng, chunks - supporting))
    return _shuffled(folder, query, (aliases(domain.asked[asked], world[asked]),), (0,))


def _two(desk: Desk, series: Series, year: int, chunks: int, _: int, told: Container[str]) -> Collected:
    """The question names the series and one fact of an edition, and asks for another fact of that edition."""
    rng, domain = desk.rng, desk.domain
    named, asked = pick(rng, [tuple(name[3:].split("+")) for name in desk.grammar if name.startswith("qh.")])
    world = domain.edition(rng, series, year)
    query = spelt(desk.story(world, named, ()).draw(f"qh.{named}+{asked}"))
    first, second = hidden_parts(domain, named, world), hidden_parts(domain, asked, world)
    folder = Folder(desk, series, asked, first + second, told)
    folder.state(world, named, second, 1)
    folder.state(world, asked, first, 1)
    # Another edition's answer is always there: only who has read the first chunk can tell which one is right.
    folder.mislead(world, year, ["other_year", *_kinds(rng, chunks - 3)])
    facts: Any = tuple(aliases(domain.asked[name], world[name]) for name in (named, asked))
    return _shuffled(folder, query, facts, (0, 1))


def _kinds(rng: Random, count: int) -> list[str]:
    """So many kinds of misleading chunks, as different as can be."""
    kinds: list[str] = []
    while len(kinds) < count:
        kinds += sample(rng, ("other_year", "rumour", "related", "other_category"), count - len(kinds))
    return kinds


def _shuffled(folder: Folder, query: str, facts: tuple[tuple[str, ...], ...], needed: tuple[int, ...]) -> Collected:
    order = shuffled(folder.desk.rng, range(len(folder.chunks)))
    chunks = tuple(folder.chunks[place] for place in order)
    return Collected(
        query, facts, chunks, tuple(map(order.index, needed)), tuple(folder.names), folder.desk.domain.name
    )
