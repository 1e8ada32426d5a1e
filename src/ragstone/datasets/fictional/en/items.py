"""Questions with their passages: the world, the question, and the passages of every kind about it."""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from ragstone.datasets.fictional.en.domain import EnglishDomain, World, aliases, near_aliases
from ragstone.datasets.fictional.en.grammar import ROWS, Grammar, Part, load
from ragstone.datasets.fictional.en.names import NEWS_DRAWS, number
from ragstone.datasets.fictional.en.story import Story, spelt
from ragstone.datasets.fictional.pages import DECOYS, About, Beside, Difficulty, Item, with_pages
from ragstone.datasets.fictional.parts import (
    Deck,
    Document,
    Drawn,
    GeneratedItem,
    Unmet,
    between,
    chance,
    pick,
    sample,
    shuffled,
)  # fmt: skip
from ragstone.datasets.fictional.texts import read_toml
from ragstone.datasets.fictional.worlds import EventSeries

_FRAMES = read_toml("en", "frames")
FORMS: dict[str, list[str]] = _FRAMES["forms"]
NEWS_FORMS: dict[str, list[str]] = FORMS | _FRAMES["news"]
# How reports that state something are written, and the kind they count as.
STATEMENTS = {"plain": "plain", "far": "far", "brief": "brief", "talk": "plain", "notice": "plain", "own": "brief"}
# The rows of a look back, and of a table that has the report's own edition among them.
ROW_KEYS = ROWS | {f"o{key}" for key in ROWS} | {"ev", "told_guess"}
# Two passages of a row should not have more than this share of the shorter one in common; so many attempts are made.
COMMON, TRIES = 0.42, 4
# The parts of a page are shorter than passages of one report.
TARGETS_ON_PAGES = {
    "plain": (200, 420),
    "far": (300, 480),
    "brief": (120, 260),
    "rumour": (180, 380),
    "related": (180, 330),
    "confused": (180, 330),
    "talk": (240, 420),
    "notice": (200, 360),
    "own": (200, 360),
}
TARGETS = {"plain": (360, 1100), "far": (620, 1120), "brief": (270, 400), "rumour": (300, 900), "related": (290, 950)}


@dataclasses.dataclass
class RowWriter:
    """Writes the passages of one row. `used_templates`: template → characters, for each passage written so far;
    `targets`: characters to aim at, the least and the most by kind; `uses`: how often each template was used."""

    rng: Random
    domain: EnglishDomain
    grammar: Grammar
    decks: dict[str, Deck[tuple[Part, ...]]]
    used_templates: list[dict[int, int]] = dataclasses.field(default_factory=list)
    targets: Mapping[str, tuple[int, int]] = dataclasses.field(default_factory=lambda: TARGETS)
    uses: dict[int, int] = dataclasses.field(default_factory=dict)
    rivals: Sequence[World] = ()
    siblings: Sequence[World] = ()

    def story(
        self, world: World, field: str, avoid: Iterable[str], *, side: str = "main", before: bool = False,
        back: str = "",
    ) -> Story:  # fmt: skip
        """Stories of this world, the main one or another; `before` puts the report before the event. `back`: what the
        editions of a look back are compared by, if it is not the field."""
        extra = {"guess": world[f"{field}_guess"], "pub": world["early"] if before else world["pub"]}
        if self.rivals:
            series = self.siblings if any(world is other for other in self.siblings) else self.rivals
            own = [other for other in series if other is not world]
            extra |= self._rows(sample(self.rng, self.rivals, 3), back or field)
            extra["told_guess"] = self._told(field, extra["guess"])
            extra["ev"] = self.domain.labels["named"].format(world["event"])
            extra |= {f"o{key}": value for key, value in self._rows([world, *sample(self.rng, own, 2)], field).items()}
        values = Drawn({**world, **extra}, self.rng, NEWS_DRAWS, number)
        return Story(
            self.grammar, values, self.rng, self.decks, field=field, side=side, avoid=avoid,
            varied=bool(self.domain.strong), uses=self.uses,
        )  # fmt: skip

    def _rows(self, worlds: Sequence[World], field: str) -> dict[str, Any]:
        """Values that a template names: of each world in the order of time, by its place from 1."""
        labels = self.domain.labels
        of = labels["named"].format(re.sub(r" \d+$", "", str(worlds[0]["event"])))
        found: dict[str, Any] = {"of": of.removeprefix("the "), "theof": of}
        found |= {"label": labels[field], "key": labels["key"]}
        for place, world in enumerate(sorted(worlds, key=lambda world: int(str(world["year"]))), 1):
            name = str(world["event" if labels["key"] != "Year" else "year"])
            found |= {f"k{place}": name, f"at{place}": labels["at"] + name}
            found[f"e{place}"] = f"{name}: {found['of']}" if labels["key"] == "Year" else name
            if self.domain.answers[field] != "date":
                found[f"d{place}"] = world["date"]
            found[f"v{place}"] = self._told(field, world[field])
        return found

    def _told(self, field: str, value: Any) -> Any:
        """A value of the field as it stands in a sentence."""
        return f'"{value}"' if self.domain.answers[field] == "title" else value

    def around(
        self, world: World, field: str, avoid: Iterable[str], *, rumours: int, related: int, side: str = "main"
    ) -> list[Document]:
        """Negatives about the same event: rumours from before it, and reports without the answer."""
        early, late = (self.story(world, field, avoid, side=side, before=before) for before in (True, False))
        documents = self.documents(early, field, ["rumour"] * rumours)
        return documents + self.documents(late, field, ["related"] * related)

    def documents(self, story: Story, field: str, kinds: Iterable[str], label: str = "") -> list[Document]:
        """A passage of each kind; forms repeat as late as possible. `label` replaces the name of the kind."""
        documents = []
        for kind in kinds:
            deck = self.decks.get(f"form {kind}")
            if deck is None:
                forms = NEWS_FORMS if self.rivals else FORMS
                deck = self.decks[f"form {kind}"] = Deck(self.rng, forms[kind])  # type: ignore[arg-type]
            text, templates = self._passage(story, deck, field, between(self.rng, *self.targets[kind]))
            self.used_templates.append(templates)
            documents.append(Document(text, label or kind))
        return documents

    def _passage(self, story: Story, deck: Deck[Any], field: str, target: int) -> tuple[str, dict[int, int]]:
        """Of a few attempts, the passage that shares least with those of the row so far."""
        best, least, templates = "", 2.0, {}
        for attempt in range(TRIES):
            try:
                text = story.passage(str(deck.draw()).replace("@", field), target)
            except Unmet:  # a form may need a section of which nothing may be said here
                if attempt == TRIES - 1 and not best:
                    raise
                continue
            shared = max((_shared(story.lengths, other) for other in self.used_templates), default=0.0)
            if shared < least:
                best, least, templates = text, shared, story.lengths
            if least <= COMMON:
                break
        return best, templates


def _shared(passage: dict[int, int], other: dict[int, int]) -> float:
    """The share of the shorter passage, by characters, that is made of the same templates as the other."""
    shared = passage.keys() & other.keys()
    return sum(map(passage.__getitem__, shared)) / min(sum(passage.values()), sum(other.values())) if shared else 0.0


def start_row(
    rng: Random, domain: EnglishDomain, targets: Mapping[str, tuple[int, int]] = TARGETS
) -> tuple[RowWriter, EventSeries, int]:
    """A writer for a row of this domain, the series that the row is about, and the year."""
    writer = RowWriter(rng, domain, load(domain.name, domain.strong), {}, targets=targets)
    return writer, domain.worlds.series(rng), between(rng, *domain.years)


def hidden_parts(domain: EnglishDomain, field: str, world: World) -> list[str]:
    """Texts, in lower case, that must not occur where the field is to stay unknown."""
    kind, value = domain.answers[field], world[field]
    return [alias.lower() for alias in aliases(kind, value)] + list(near_aliases(kind, value))


def other_years(rng: Random, domain: EnglishDomain, year: int, count: int) -> list[int]:
    """`count` different years of other editions."""
    return [year + step for step in sample(rng, domain.steps, count)]


def another_category(writer: RowWriter, series: EventSeries) -> EventSeries:
    """Another category; in the same town, if the series has one."""
    return writer.domain.worlds.sibling(writer.rng, series)


def _beside(
    writer: RowWriter, events: Sequence[tuple[World, str]], others: Sequence[World], avoid: list[str]
) -> Beside:
    """Writes what stands on the pages of one question: of the events asked about, each with its field, of the first of
    the others, or of any of them."""

    def item(item: Item, about: About) -> str:
        rng = writer.rng
        event, field = pick(rng, events)
        world = event if about == "event" else others[0] if about == "rival" else pick(rng, others)
        side = "main" if about == "event" else "other"
        if item == "preview":
            return writer.documents(writer.story(world, field, avoid, before=True), field, ["rumour"])[0].text
        if item == "around":
            return _around(writer, world, field, avoid, side).text
        return _statement(writer, writer.story(world, field, avoid, side=side), field).text

    return item


def _statement(writer: RowWriter, story: Story, field: str, label: str = "") -> Document:
    """A report that states the field."""
    kind = pick(writer.rng, list(STATEMENTS))
    return writer.documents(story, field, [kind], label or STATEMENTS[kind])[0]


def _around(writer: RowWriter, world: World, field: str, avoid: list[str], side: str = "main") -> Document:
    """A text about an event that does not state the field: in half of the cases it states another one."""
    fields = [other for other in writer.domain.answers if other != field]
    if fields and chance(writer.rng, 0.5):
        other = pick(writer.rng, fields)
        try:
            story = writer.story(world, other, avoid, side=side, back=field)
            return writer.documents(story, other, ["confused"], "related")[0]
        except Unmet:
            pass
    return writer.documents(writer.story(world, field, avoid, side=side), field, ["related"])[0]


def _one_on_pages(rng: Random, domain: EnglishDomain, difficulty: Difficulty) -> GeneratedItem:
    """A question with one answer, as `one_answer`, with passages of pages."""
    writer, series, year = start_row(rng, domain, TARGETS_ON_PAGES)
    field = pick(rng, list(domain.answers))
    world = domain.worlds.edition(rng, series, year=year)
    avoid = hidden_parts(domain, field, world)
    sibling = another_category(writer, series)
    editions = [domain.worlds.edition(rng, series, year=other) for other in other_years(rng, domain, year, 4)]
    step = pick(rng, (1, -1))
    siblings = [domain.worlds.edition(rng, sibling, year=year + by) for by in (0, step, 2 * step)]
    writer.rivals, writer.siblings = editions, siblings
    story = writer.story(world, field, ())
    query = spelt(story.draw(f"q.{field}"))
    positive = [_statement(writer, story, field) for _ in range(between(rng, 5, 7))]
    negative = writer.documents(writer.story(world, field, avoid, before=True), field, ["rumour"] * between(rng, 2, 3))
    negative += [_around(writer, world, field, avoid) for _ in range(3)]
    for worlds, label in ((editions, "other_year"), (siblings, "other_category")):
        for other in worlds[: between(rng, 2, 3)]:
            told = writer.story(other, field, avoid, side="other")
            negative.append(_statement(writer, told, field, label))
    others = shuffled(rng, [*editions, *siblings, *siblings])
    beside = _beside(writer, [(world, field)], others, avoid)
    both = with_pages(rng, [*positive, *shuffled(rng, negative)], beside, DECOYS[difficulty])
    slot = aliases(domain.answers[field], world[field])
    return GeneratedItem(query, (slot,), (tuple(both[: len(positive)]),), tuple(both[len(positive) :]), domain.name)


def _misleading(writer: RowWriter, series: EventSeries, year: int, field: str, avoid: list[str]) -> list[Document]:
    """Concept confusion: the same question answered for other years and another category."""
    documents = []
    for other_year in other_years(writer.rng, writer.domain, year, between(writer.rng, 2, 3)):
        story = writer.story(
            writer.domain.worlds.edition(writer.rng, series, year=other_year), field, avoid, side="other"
        )
        documents += writer.documents(
            story, field, [pick(writer.rng, ("plain", "plain", "brief", "far"))], "other_year"
        )
    sibling = another_category(writer, series)
    for step in sample(writer.rng, (0, 0, 1, -1), between(writer.rng, 1, 2)):
        story = writer.story(
            writer.domain.worlds.edition(writer.rng, sibling, year=year + step), field, avoid, side="other"
        )
        documents += writer.documents(story, field, [pick(writer.rng, ("plain", "brief"))], "other_category")
    return documents


def one_answer(rng: Random, domain: EnglishDomain, difficulty: Difficulty) -> GeneratedItem:
    """A question with one answer: 5 to 7 positives and 8 to 11 negatives, of mixed kinds in random order."""
    if difficulty != "easy":
        return _one_on_pages(rng, domain, difficulty)
    writer, series, year = start_row(rng, domain)
    field = pick(rng, list(domain.answers))
    world = domain.worlds.edition(rng, series, year=year)
    avoid = hidden_parts(domain, field, world)
    story = writer.story(world, field, ())
    query = spelt(story.draw(f"q.{field}"))
    kinds = ["plain", "plain", "far", "far", "brief", *sample(rng, ("plain", "brief", "far"), between(rng, 0, 2))]
    positive = writer.documents(story, field, shuffled(rng, kinds))
    negative = _misleading(writer, series, year, field, avoid)
    negative += writer.around(world, field, avoid, rumours=between(rng, 2, 3), related=3)
    return GeneratedItem(
        query,
        (aliases(domain.answers[field], world[field]),),
        (tuple(positive),),
        tuple(shuffled(rng, negative)),
        domain.name,
    )


class _Pair(NamedTuple):
    """What a question with two answers asks: each world with its field; `form`: about one event ("pair"), about two
    editions of it ("years") or about two categories ("cats")."""

    query: str
    first: tuple[World, str]
    second: tuple[World, str]
    second_series: EventSeries
    form: str


def _pair(writer: RowWriter, series: EventSeries, year: int) -> _Pair:
    rng, domain = writer.rng, writer.domain
    first = domain.worlds.edition(rng, series, year=year)
    form = pick(rng, ["pair"] * len(domain.pairs) + ["years", "cats"] * len(domain.serial))
    if form == "pair":
        first_field, second_field = pick(rng, domain.pairs)
        query = spelt(writer.story(first, first_field, ()).draw(f"q2.{first_field}+{second_field}"))
        return _Pair(query, (first, first_field), (first, second_field), series, form)
    field = pick(rng, domain.serial)
    second_series = series if form == "years" else another_category(writer, series)
    second_year = other_years(rng, domain, year, 1)[0] if form == "years" else year
    second = domain.worlds.edition(rng, second_series, year=second_year)
    questioned = {**first, "event2": second["event"], "year2": second["year"]}
    query = spelt(writer.story(questioned, field, ()).draw(f"q2.{form}.{field}"))
    return _Pair(query, (first, field), (second, field), second_series, form)


def _two_on_pages(rng: Random, domain: EnglishDomain, difficulty: Difficulty) -> GeneratedItem:
    """A question with two answers, as `two_answers`, with passages of pages."""
    writer, series, year = start_row(rng, domain, TARGETS_ON_PAGES)
    pair = _pair(writer, series, year)
    second = pair.second[0]
    years = [other for other in other_years(rng, domain, year, 4) if str(other) != second["year"]]
    writer.rivals = [domain.worlds.edition(rng, series, year=other) for other in years]
    if pair.form == "cats":
        more = [domain.worlds.edition(rng, pair.second_series, year=year + step) for step in (1, 2)]
        writer.siblings = [second, *more]
    slots, hidden, groups, negative = [], [], [], list[Document]()
    for world, field in (pair.first, pair.second):
        slots.append(aliases(domain.answers[field], world[field]))
        hidden.append(hidden_parts(domain, field, world))
    avoid = hidden[0] + hidden[1]
    for (world, field), other in zip((pair.first, pair.second), reversed(hidden), strict=True):
        side = "main" if world is pair.first[0] else "other"
        story = writer.story(world, field, other, side=side)
        groups.append([_statement(writer, story, field) for _ in range(between(rng, 3, 5))])
        rumours = 1 + between(rng, 0, 1)
        early = writer.story(world, field, avoid, side=side, before=True)
        negative += writer.documents(early, field, ["rumour"] * rumours)
        negative += [_around(writer, world, field, avoid, side) for _ in range(3 - rumours)]
    for rival in writer.rivals[:2]:
        story = writer.story(rival, pair.first[1], avoid, side="other")
        negative.append(_statement(writer, story, pair.first[1], "other_year"))
    beside = _beside(writer, (pair.first, pair.second), writer.rivals, avoid)
    paged = [tuple(with_pages(rng, group, beside, DECOYS[difficulty])) for group in groups]
    negative = with_pages(rng, negative, beside, DECOYS[difficulty])
    return GeneratedItem(pair.query, tuple(slots), tuple(paged), tuple(shuffled(rng, negative)), domain.name)


def two_answers(rng: Random, domain: EnglishDomain, difficulty: Difficulty) -> GeneratedItem:
    """A question with two answers: about one event, about two editions of it, or about two categories. Each group has 3
    to 5 passages that hold its answer and not the other's."""
    if difficulty != "easy":
        return _two_on_pages(rng, domain, difficulty)
    writer, series, year = start_row(rng, domain)
    pair = _pair(writer, series, year)
    (first, first_field), (second, second_field) = pair.first, pair.second
    hidden_first, hidden_second = (hidden_parts(domain, first_field, first), hidden_parts(domain, second_field, second))
    groups = []
    for world, field, avoid in ((first, first_field, hidden_second), (second, second_field, hidden_first)):
        kinds = shuffled(rng, ["plain", "far", "brief", *sample(rng, ("plain", "brief"), between(rng, 0, 2))])
        side = "main" if world is first else "other"
        groups.append(tuple(writer.documents(writer.story(world, field, avoid, side=side), field, kinds)))
    avoid = hidden_first + hidden_second
    negative: list[Document] = []
    for world, field in ((first, first_field), (second, second_field)):
        shift = between(rng, 0, 1)
        side = "main" if world is first else "other"
        negative += writer.around(world, field, avoid, rumours=1 + shift, related=2 - shift, side=side)
    years = [y for y in other_years(rng, domain, year, 4) if str(y) != second["year"]][:2]
    for other_year in years:
        story = writer.story(domain.worlds.edition(rng, series, year=other_year), first_field, avoid, side="other")
        negative += writer.documents(story, first_field, [pick(rng, ("plain", "brief"))], "other_year")
    slots = (
        aliases(domain.answers[first_field], first[first_field]),
        aliases(domain.answers[second_field], second[second_field]),
    )
    return GeneratedItem(pair.query, slots, tuple(groups), tuple(shuffled(rng, negative)), domain.name)
