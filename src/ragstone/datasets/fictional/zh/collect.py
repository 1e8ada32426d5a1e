"""The chunks of a question, in Chinese: how they are written, and what a series of events is called."""

import functools
import random
import re
from collections.abc import Callable, Container

from ragstone.datasets.fictional.collecting import STATING, Folder, misleading_kinds
from ragstone.datasets.fictional.parts import Collected, Stuck, pick, sample
from ragstone.datasets.fictional.zh.items import Aliases, event, question, subject, write
from ragstone.datasets.fictional.zh.reading import patterns
from ragstone.datasets.fictional.zh.writer import Ask, Domain, Line, World, Writer

__all__ = ["collect_one", "collect_two"]

# Characters to aim at and not to exceed: 330 tokens are the most that a chunk should have.
CHARACTERS, MOST_CHARACTERS = (330, 430), 490
STEPS = (-4, -3, -2, -1, 1, 2, 3)
YEAR = re.compile(r"^\d{4}年(?:\d+月)?")


def _without_year(world: World) -> str:
    return YEAR.sub("", world["事"])


# What a domain calls a series of events, all editions of it together.
LINES: dict[str, Callable[[World], str]] = {
    "体育": _without_year,
    "奖项": _without_year,
    "展会": _without_year,
    "选举": _without_year,
    "灾害": _without_year,
    "产品": lambda world: world["公司"] + re.sub(r"\d+$", "", world["事"]) + "系列",
    "财报": lambda world: world["公司"],
    "考古": lambda world: world["址"],
    "交通": lambda world: world["甲地"][0] + world["乙地"][0] + world["类"],
    "电影": lambda world: re.sub(r"(?:：序曲|前传|·初篇|：缘起|\d)?》$", "》", world["片"]) + "系列电影",
    "航天": lambda world: world["系列"] + "系列探测任务",
}


@functools.cache
def questions_of_two() -> dict[str, list[tuple[str, str, Line]]]:
    """By domain: the field that tells the edition, the field asked for, and the question. ValueError: a broken line."""
    found: dict[str, list[tuple[str, str, Line]]] = {}
    name = ""
    for line in patterns("two"):
        if line.startswith("== "):
            name = line.removeprefix("== ")
            continue
        fields, bar, text = line.partition(" | ")
        if not bar or len(fields.split()) != 2 or not name:
            raise ValueError(f"two: no place for {line!r}")
        told, asked = fields.split()
        found.setdefault(name, []).append((told, asked, Line(text)))
    return found


class ChineseFolder(Folder[int]):
    """The chunks of one question. `secret`: what only supporting chunks say."""

    def __init__(
        self, rng: random.Random, domain: Domain, series: World, secret: tuple[Aliases, ...], told: Container[str],
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
        self.name(re.sub("共和国|联邦", "", line_of(self.domain, world)))
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


def line_of(domain: Domain, world: World) -> str:
    """What all editions of an event are called together."""
    return LINES[domain.name](world)


def collect_one(rng: random.Random, domain: Domain, chunks: int, supporting: int, told: Container[str]) -> Collected:
    """A question with so many chunks, so many of which support its answer."""
    series, ask = domain.series(rng), pick(rng, domain.asks)
    world = subject(rng, domain, series, (ask,))
    answer = ask.aliases(world)
    folder = ChineseFolder(rng, domain, series, (answer,), told, ask, world)
    for _ in range(supporting):
        folder.write(pick(rng, STATING), ask, world, (), must=answer)
    folder.mislead(misleading_kinds(rng, chunks - supporting))
    return folder.close(question(rng, ask, world), folder.secret, (0,), domain.name)


def collect_two(rng: random.Random, domain: Domain, chunks: int, told: Container[str]) -> Collected:
    """The question names the series and one fact of an edition, and asks for another fact of that edition."""
    series = domain.series(rng)
    given, asked, line = pick(rng, questions_of_two()[domain.name])
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
    query = line.parts[0][0].format_map({**world, "系": line_of(domain, world)})
    return folder.close(query, folder.secret, (0, 1), domain.name)
