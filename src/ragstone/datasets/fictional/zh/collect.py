"""The chunks of a question, in Chinese: how they are written, and what a series of events is called."""

import functools
import random
import re
from collections.abc import Container

from ragstone.datasets.fictional.collecting import STATING, Folder, misleading_kinds
from ragstone.datasets.fictional.parts import Collected, Stuck, pick, sample
from ragstone.datasets.fictional.texts import read_sections
from ragstone.datasets.fictional.worlds import Series
from ragstone.datasets.fictional.zh.domains import Ask, Domain
from ragstone.datasets.fictional.zh.items import Aliases, event, question, subject, write
from ragstone.datasets.fictional.zh.lines import World
from ragstone.datasets.fictional.zh.writer import Writer

__all__ = ["collect_one", "collect_two"]

# Characters to aim at and not to exceed: 330 tokens are the most that a chunk should have.
CHARACTERS, MOST_CHARACTERS = (330, 430), 490
STEPS = (-4, -3, -2, -1, 1, 2, 3)


@functools.cache
def questions_of_two() -> dict[str, list[tuple[str, str, str]]]:
    """By domain: the field that tells the edition, the field asked for, and the question. ValueError: a broken line."""
    return {
        name: [read_question(line) for line in lines] for name, lines in read_sections("zh", "patterns/two").items()
    }


def read_question(line: str) -> tuple[str, str, str]:
    fields, bar, text = line.partition(" | ")
    if not bar or len(fields.split()) != 2:
        raise ValueError(f"two: no place for {line!r}")
    given, asked = fields.split()
    return given, asked, text


class ChineseFolder(Folder[int]):
    """The chunks of one question. `secret`: what only supporting chunks say."""

    def __init__(
        self, rng: random.Random, domain: Domain, series: Series, secret: tuple[Aliases, ...], told: Container[str],
        ask: Ask, world: World, avoid: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        super().__init__(rng, told)
        self.domain, self.series, self.secret = domain, series, secret
        self.ask, self.world, self.avoid = ask, world, avoid
        self.never = tuple(alias for aliases in secret for alias in aliases)
        self.writer = Writer(rng, domain, CHARACTERS)
        self.events: dict[tuple[int, bool], World] = {}

    def write(
        self, kind: str, ask: Ask, world: World, never: Aliases, *, must: Aliases = (),
        avoid: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """A chunk about a world's event that supports the answer if it must hold something. Raises DuplicateEvent."""
        # 塔洛维亚 and 塔洛维亚共和国 would be taken for one country.
        self.name(re.sub("共和国|联邦", "", world["系"]))
        try:
            document = write(self.writer, kind, ask, world, never, must=must, avoid=avoid, most=MOST_CHARACTERS)
        except Stuck:
            # There is only so much to say: another writer takes over, who does not know what was written.
            self.writer = Writer(self.rng, self.domain, CHARACTERS)
            document = write(self.writer, kind, ask, world, never, must=must, avoid=avoid, most=MOST_CHARACTERS)
        self.add([document], world["题"] if self.domain.name == "产品" else world["事"], support=bool(must))

    def other_editions(self, count: int) -> list[int]:
        return sample(self.rng, STEPS, count)

    def any_edition(self) -> int:
        return pick(self.rng, STEPS)

    def tell_of_event(self, kind: str) -> None:
        self.write(kind, self.ask, self.world, self.never, avoid=self.avoid)

    def tell_of_edition(self, edition: int) -> None:
        self.write("other_year", self.ask, self._event(edition, False), self.never)

    def tell_of_category(self) -> None:
        self.write("other_category", self.ask, self._event(pick(self.rng, (0, 0, -1, 1)), True), self.never)

    def _event(self, years: int, other: bool) -> World:
        key = years, other
        if key not in self.events:
            self.events[key] = event(self.rng, self.domain, self.series, years, other, *self.secret)
        return self.events[key]


def collect_one(rng: random.Random, domain: Domain, chunks: int, supporting: int, told: Container[str]) -> Collected:
    """A question with so many chunks, so many of which support its answer."""
    series, ask = domain.worlds.series(rng), pick(rng, domain.asks)
    world = subject(rng, domain, series, (ask,))
    answer = ask.aliases(world)
    folder = ChineseFolder(rng, domain, series, (answer,), told, ask, world)
    for _ in range(supporting):
        folder.write(pick(rng, STATING), ask, world, (), must=answer)
    folder.mislead(misleading_kinds(rng, chunks - supporting))
    return folder.close(question(rng, ask, world), folder.secret, (0,), domain.name)


def collect_two(rng: random.Random, domain: Domain, chunks: int, told: Container[str]) -> Collected:
    """The question names the series and one fact of an edition, and asks for another fact of that edition."""
    series = domain.worlds.series(rng)
    given, asked, text = pick(rng, questions_of_two()[domain.name])
    first, second = (next(ask for ask in domain.asks if ask.field == field) for field in (given, asked))
    world = subject(rng, domain, series, (first, second))
    named, answer = first.aliases(world), second.aliases(world)
    if any(a in b or b in a for a in named for b in answer):
        raise Stuck
    folder = ChineseFolder(rng, domain, series, (named, answer), told, second, world, first.blocked)
    folder.write(pick(rng, STATING), first, world, answer, must=named, avoid=second.blocked)
    folder.write(pick(rng, STATING), second, world, named, must=answer, avoid=first.blocked)
    # Another edition's answer is always there: only who has read the first chunk can tell which one is right.
    folder.mislead(["other_year", *misleading_kinds(rng, chunks - 3)])
    query = text.format_map(world)
    return folder.close(query, folder.secret, (0, 1), domain.name)
