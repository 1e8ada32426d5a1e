"""The chunks of a question, in Chinese: how they are written, and what a series of events is called."""

import functools
import random
import re
from collections.abc import Container

from ragstone.datasets.fictional.collector import STATING, ChunkCollector, misleading_kinds
from ragstone.datasets.fictional.parts import Collected, Stuck, pick, sample
from ragstone.datasets.fictional.texts import read_sections
from ragstone.datasets.fictional.worlds import EventSeries
from ragstone.datasets.fictional.zh.domains import ChineseDomain, QuestionType
from ragstone.datasets.fictional.zh.items import Aliases, event, question, subject, write
from ragstone.datasets.fictional.zh.patterns import World
from ragstone.datasets.fictional.zh.writer import PassageWriter

# Characters to aim at and not to exceed: 330 tokens are the most that a chunk should have.
CHARACTERS, MOST_CHARACTERS = (330, 430), 490
STEPS = (-4, -3, -2, -1, 1, 2, 3)


@functools.cache
def questions_of_two() -> dict[str, list[tuple[str, str, str]]]:
    """By domain: the field that identifies the edition, the field asked for, and the question. ValueError for a bad
    line."""
    return {
        name: [read_question(line) for line in lines] for name, lines in read_sections("zh", "patterns/two").items()
    }


def read_question(line: str) -> tuple[str, str, str]:
    fields, bar, text = line.partition(" | ")
    if not bar or len(fields.split()) != 2:
        raise ValueError(f"two: no place for {line!r}")
    given, asked_field = fields.split()
    return given, asked_field, text


class ChineseCollector(ChunkCollector):
    """Collects the chunks of one question. `secret`: aliases that only supporting chunks may contain."""

    def __init__(
        self, rng: random.Random, domain: ChineseDomain, series: EventSeries, secret: tuple[Aliases, ...],
        reserved: Container[str], qtype: QuestionType, world: World, avoid: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        super().__init__(rng, reserved)
        self.domain, self.series, self.secret = domain, series, secret
        self.ask, self.world, self.avoid = qtype, world, avoid
        self.never = tuple(alias for aliases in secret for alias in aliases)
        self.writer = PassageWriter(rng, domain, CHARACTERS)
        self.events: dict[tuple[int, bool], World] = {}

    def write(
        self, kind: str, qtype: QuestionType, world: World, never: Aliases, *, must: Aliases = (),
        avoid: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """Adds a chunk about a world's event; with `must`, one that supports the answer. Raises DuplicateEvent."""
        # 塔洛维亚 and 塔洛维亚共和国 would be taken for one country.
        self.reserve(re.sub("共和国|联邦", "", world["系"]))
        try:
            document = write(self.writer, kind, qtype, world, never, must=must, avoid=avoid, most=MOST_CHARACTERS)
        except Stuck:
            # There is only so much to say: another writer takes over, who does not know what was written.
            self.writer = PassageWriter(self.rng, self.domain, CHARACTERS)
            document = write(self.writer, kind, qtype, world, never, must=must, avoid=avoid, most=MOST_CHARACTERS)
        self.add([document], world["题"] if self.domain.name == "产品" else world["事"], support=bool(must))

    def other_editions(self, count: int) -> list[int]:
        return sample(self.rng, STEPS, count)

    def any_edition(self) -> int:
        return pick(self.rng, STEPS)

    def add_event_chunk(self, kind: str) -> None:
        self.write(kind, self.ask, self.world, self.never, avoid=self.avoid)

    def add_edition_chunk(self, edition: int) -> None:
        self.write("other_year", self.ask, self._event(edition, False), self.never)

    def add_category_chunk(self) -> None:
        self.write("other_category", self.ask, self._event(pick(self.rng, (0, 0, -1, 1)), True), self.never)

    def _event(self, years: int, other_category: bool) -> World:
        key = years, other_category
        if key not in self.events:
            self.events[key] = event(self.rng, self.domain, self.series, years, other_category, *self.secret)
        return self.events[key]


def collect_one(
    rng: random.Random, domain: ChineseDomain, chunks: int, supporting: int, reserved: Container[str]
) -> Collected:
    """A question with `chunks` chunks, of which `supporting` support its answer."""
    series, qtype = domain.worlds.series(rng), pick(rng, domain.question_types)
    world = subject(rng, domain, series, (qtype,))
    answer = qtype.aliases(world)
    collector = ChineseCollector(rng, domain, series, (answer,), reserved, qtype, world)
    for _ in range(supporting):
        collector.write(pick(rng, STATING), qtype, world, (), must=answer)
    collector.add_misleading(misleading_kinds(rng, chunks - supporting))
    return collector.collected(question(rng, qtype, world), collector.secret, (0,), domain.name)


def collect_two(rng: random.Random, domain: ChineseDomain, chunks: int, reserved: Container[str]) -> Collected:
    """The question names the series and one fact of an edition, and asks for another fact of that edition."""
    series = domain.worlds.series(rng)
    given, asked_field, text = pick(rng, questions_of_two()[domain.name])
    first, second = (
        next(qtype for qtype in domain.question_types if qtype.field == field) for field in (given, asked_field)
    )
    world = subject(rng, domain, series, (first, second))
    given_aliases, answer = first.aliases(world), second.aliases(world)
    if any(a in b or b in a for a in given_aliases for b in answer):
        raise Stuck
    collector = ChineseCollector(rng, domain, series, (given_aliases, answer), reserved, second, world, first.blocked)
    collector.write(pick(rng, STATING), first, world, answer, must=given_aliases, avoid=second.blocked)
    collector.write(pick(rng, STATING), second, world, given_aliases, must=answer, avoid=first.blocked)
    # Another edition's answer is always there: only who has read the first chunk can tell which one is right.
    collector.add_misleading(["other_year", *misleading_kinds(rng, chunks - 3)])
    query = text.format_map(world)
    return collector.collected(query, collector.secret, (0, 1), domain.name)
