"""Makes an item of a domain: the world, the question, and the passages of every kind about it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ragstone.datasets.fictional.en.domain import Domain, World, aliases, near_aliases
from ragstone.datasets.fictional.en.grammar import Grammar, Part, Story, load, spelt
from ragstone.datasets.fictional.parts import Deck, Document, Item, Unmet, between, pick, sample, shuffled
from ragstone.datasets.fictional.texts import read_toml
from ragstone.datasets.fictional.worlds import Series

__all__ = ["Desk", "another_category", "hidden_parts", "open_desk", "other_years", "tell_base", "tell_integration"]

FORMS: dict[str, list[str]] = read_toml("en", "frames")["forms"]
# Two passages of a row should not have more than this share of the shorter one in common; so many attempts are made.
COMMON, TRIES = 0.42, 4
TARGETS = {"plain": (360, 1100), "far": (620, 1120), "brief": (270, 400), "rumour": (300, 900), "related": (290, 950)}


@dataclass
class Desk:
    """What the stories of one row share. `targets`: characters to aim at, the least and the most by kind."""

    rng: Random
    domain: Domain
    grammar: Grammar
    decks: dict[str, Deck[tuple[Part, ...]]]
    told: list[dict[int, int]] = field(default_factory=list)
    targets: Mapping[str, tuple[int, int]] = field(default_factory=lambda: TARGETS)

    def story(
        self, world: World, asked: str, avoid: Iterable[str], *, side: str = "main", before: bool = False
    ) -> Story:
        """A teller of this world, the main one or another; `before` puts the report before the event."""
        more = {"guess": world[f"{asked}_guess"], "pub": world["early"] if before else world["pub"]}
        return Story(self.grammar, {**world, **more}, self.rng, self.decks, asked=asked, side=side, avoid=avoid)

    def around(
        self, world: World, asked: str, avoid: Iterable[str], *, rumours: int, related: int, side: str = "main"
    ) -> list[Document]:
        """Negatives about this very event: rumours from before it, and reports without the answer."""
        early, late = (self.story(world, asked, avoid, side=side, before=before) for before in (True, False))
        out = self.documents(early, asked, ["rumour"] * rumours)
        return out + self.documents(late, asked, ["related"] * related)

    def documents(self, story: Story, asked: str, kinds: Iterable[str], label: str = "") -> list[Document]:
        """A passage for each of the kinds, in forms that repeat as late as they can; `label` renames the kind."""
        out = []
        for kind in kinds:
            deck = self.decks.get(f"form {kind}")
            if deck is None:
                deck = self.decks[f"form {kind}"] = Deck(self.rng, FORMS[kind])  # type: ignore[arg-type]
            text, used = self._passage(story, deck, asked, between(self.rng, *self.targets[kind]))
            self.told.append(used)
            out.append(Document(text, label or kind))
        return out

    def _passage(self, story: Story, deck: Deck[Any], asked: str, target: int) -> tuple[str, dict[int, int]]:
        """The passage of a few attempts that has least in common with those of the row so far."""
        best, least, used = "", 2.0, {}
        for attempt in range(TRIES):
            try:
                text = story.passage(str(deck.draw()).replace("@", asked), target)
            except Unmet:  # a form may need a section of which nothing may be said here
                if attempt == TRIES - 1 and not best:
                    raise
                continue
            common = max((_common(story.taken, other) for other in self.told), default=0.0)
            if common < least:
                best, least, used = text, common, story.taken
            if least <= COMMON:
                break
        return best, used


def _common(one: dict[int, int], other: dict[int, int]) -> float:
    """The share of the shorter passage, by characters, that is made of the same templates as the other."""
    shared = one.keys() & other.keys()
    return sum(map(one.__getitem__, shared)) / min(sum(one.values()), sum(other.values())) if shared else 0.0


def open_desk(
    rng: Random, domain: Domain, targets: Mapping[str, tuple[int, int]] = TARGETS
) -> tuple[Desk, Series, int]:
    """A desk for a row of this domain, the series that the row is about, and the year."""
    desk = Desk(rng, domain, load(domain.name), {}, targets=targets)
    return desk, domain.worlds.series(rng), between(rng, *domain.years)


def hidden_parts(domain: Domain, asked: str, world: World) -> list[str]:
    """What must not be said where what is asked is to stay unknown, in lower case."""
    kind, value = domain.answers[asked], world[asked]
    return [alias.lower() for alias in aliases(kind, value)] + list(near_aliases(kind, value))


def other_years(rng: Random, domain: Domain, year: int, count: int) -> list[int]:
    """So many different years of other editions."""
    return [year + step for step in sample(rng, domain.steps, count)]


def another_category(desk: Desk, series: Series) -> Series:
    """Another category, in the same town where the series has one of its own."""
    return desk.domain.worlds.sibling(desk.rng, series)


def _misleading(desk: Desk, series: Series, year: int, asked: str, avoid: list[str]) -> list[Document]:
    """Concept confusion: the same question answered for other years and another category."""
    out = []
    for other in other_years(desk.rng, desk.domain, year, between(desk.rng, 2, 3)):
        story = desk.story(desk.domain.worlds.edition(desk.rng, series, year=other), asked, avoid, side="other")
        out += desk.documents(story, asked, [pick(desk.rng, ("plain", "plain", "brief", "far"))], "other_year")
    sibling = another_category(desk, series)
    for step in sample(desk.rng, (0, 0, 1, -1), between(desk.rng, 1, 2)):
        story = desk.story(desk.domain.worlds.edition(desk.rng, sibling, year=year + step), asked, avoid, side="other")
        out += desk.documents(story, asked, [pick(desk.rng, ("plain", "brief"))], "other_category")
    return out


def tell_base(rng: Random, domain: Domain) -> Item:
    """A question with one answer: 5 to 7 positives and 8 to 11 negatives, of mixed kinds in random order."""
    desk, series, year = open_desk(rng, domain)
    asked = pick(rng, list(domain.answers))
    world = domain.worlds.edition(rng, series, year=year)
    avoid = hidden_parts(domain, asked, world)
    story = desk.story(world, asked, ())
    query = spelt(story.draw(f"q.{asked}"))
    kinds = ["plain", "plain", "far", "far", "brief", *sample(rng, ("plain", "brief", "far"), between(rng, 0, 2))]
    positive = desk.documents(story, asked, shuffled(rng, kinds))
    negative = _misleading(desk, series, year, asked, avoid)
    negative += desk.around(world, asked, avoid, rumours=between(rng, 2, 3), related=3)
    return Item(
        query,
        (aliases(domain.answers[asked], world[asked]),),
        (tuple(positive),),
        tuple(shuffled(rng, negative)),
        domain.name,
    )


def tell_integration(rng: Random, domain: Domain) -> Item:
    """A question with two answers: about one event, about two editions of it, or about two categories. Each group has 3
    to 5 passages that hold its answer and not the other's."""
    desk, series, year = open_desk(rng, domain)
    first = domain.worlds.edition(rng, series, year=year)
    forms = ["pair"] * len(domain.pairs) + ["years", "cats"] * len(domain.serial)
    form = pick(rng, forms)
    if form == "pair":
        asked_a, asked_b = pick(rng, domain.pairs)
        second, second_series = first, series
        query = spelt(desk.story(first, asked_a, ()).draw(f"q2.{asked_a}+{asked_b}"))
    else:
        asked_a = asked_b = pick(rng, domain.serial)
        second_series = series if form == "years" else another_category(desk, series)
        other = other_years(rng, domain, year, 1)[0] if form == "years" else year
        second = domain.worlds.edition(rng, second_series, year=other)
        both = {**first, "event2": second["event"], "year2": second["year"]}
        query = spelt(desk.story(both, asked_a, ()).draw(f"q2.{form}.{asked_a}"))
    avoid_a, avoid_b = hidden_parts(domain, asked_a, first), hidden_parts(domain, asked_b, second)
    groups = []
    for world, asked, avoid in ((first, asked_a, avoid_b), (second, asked_b, avoid_a)):
        kinds = shuffled(rng, ["plain", "far", "brief", *sample(rng, ("plain", "brief"), between(rng, 0, 2))])
        side = "main" if world is first else "other"
        groups.append(tuple(desk.documents(desk.story(world, asked, avoid, side=side), asked, kinds)))
    avoid = avoid_a + avoid_b
    negative: list[Document] = []
    for world, asked in ((first, asked_a), (second, asked_b)):
        more = between(rng, 0, 1)
        side = "main" if world is first else "other"
        negative += desk.around(world, asked, avoid, rumours=1 + more, related=2 - more, side=side)
    years = [y for y in other_years(rng, domain, year, 4) if str(y) != second["year"]][:2]
    for other in years:
        story = desk.story(domain.worlds.edition(rng, series, year=other), asked_a, avoid, side="other")
        negative += desk.documents(story, asked_a, [pick(rng, ("plain", "brief"))], "other_year")
    slots = (aliases(domain.answers[asked_a], first[asked_a]), aliases(domain.answers[asked_b], second[asked_b]))
    return Item(query, slots, tuple(groups), tuple(shuffled(rng, negative)), domain.name)
