"""A question with the chunks collected for it, as pools have them: some state the answer, the others are about the same
event, about other editions or another category of it, or from before it."""

import functools
import random
import re
from collections.abc import Callable, Container

from ragstone.datasets.fictional.parts import Chunk, Collected, Told, Unmet, pick, sample, shuffled
from ragstone.datasets.fictional.zh.domains import domains
from ragstone.datasets.fictional.zh.items import Aliases, Stuck, event, question, subject, write
from ragstone.datasets.fictional.zh.reading import patterns
from ragstone.datasets.fictional.zh.writer import Ask, Domain, Line, World, Writer

__all__ = ["SOURCES", "collect"]

# The sections of the paper that the domains belong to: the data sets of a pool.
SOURCES = {
    "public": ("选举", "灾害", "交通"),
    "business": ("产品", "财报", "展会"),
    "culture": ("奖项", "电影"),
    "science": ("航天", "考古"),
    "sport": ("体育",),
}
# Characters to aim at and not to exceed: 330 tokens are the most that a chunk should have.
CHARACTERS, MOST_CHARACTERS = (330, 430), 490
STATING = ("plain", "plain", "plain", "far", "far", "brief")
ATTEMPTS = 8
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


class Folder:
    """The chunks of one question as they are collected. `secret`: what only supporting chunks say."""

    def __init__(
        self, rng: random.Random, domain: Domain, series: World, secret: tuple[Aliases, ...], told: Container[str]
    ) -> None:
        self.told = told
        self.rng, self.domain, self.series, self.secret = rng, domain, series, secret
        self.writer = Writer(rng, domain, CHARACTERS)
        self.chunks: list[Chunk] = []
        self.names: dict[str, None] = {}
        self.events: dict[tuple[int, bool], World] = {}

    def add(
        self, kind: str, ask: Ask, world: World, never: Aliases, *, must: Aliases = (),
        avoid: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """A chunk about the event of a world, which supports the answer where it must hold something. Raises Told."""
        # 塔洛维亚 and 塔洛维亚共和国 would be taken for one country.
        name = re.sub("共和国|联邦", "", line_of(self.domain, world))
        if name in self.told:
            raise Told(name)
        self.names[name] = None
        try:
            document = write(self.writer, kind, ask, world, never, must=must, avoid=avoid, most=MOST_CHARACTERS)
        except Stuck:
            # There is only so much to say: another writer takes over, who does not know what was written.
            self.writer = Writer(self.rng, self.domain, CHARACTERS)
            document = write(self.writer, kind, ask, world, never, must=must, avoid=avoid, most=MOST_CHARACTERS)
        title = world["题"] if self.domain.name == "产品" else world["事"]
        self.chunks.append(Chunk(document, title, bool(must)))

    def mislead(self, ask: Ask, world: World, kinds: list[str], avoid: frozenset[str]) -> None:
        """A chunk of each of the kinds that does not state the answer."""
        never = tuple(alias for aliases in self.secret for alias in aliases)
        steps = sample(self.rng, STEPS, kinds.count("other_year"))
        for kind in kinds:
            if kind in {"rumour", "related"}:
                self.add(kind, ask, world, never, avoid=avoid)
            elif kind == "other_year":
                # There are as many as there are steps; more chunks than that tell of a year again.
                self.add(kind, ask, self._event(steps.pop() if steps else pick(self.rng, STEPS), False), never)
            else:
                self.add(kind, ask, self._event(pick(self.rng, (0, 0, -1, 1)), True), never)

    def _event(self, years: int, other: bool) -> World:
        key = years, other
        if key not in self.events:
            self.events[key] = event(self.rng, self.domain, self.series, years, other, *self.secret)
        return self.events[key]

    def close(self, query: str, needed: tuple[int, ...]) -> Collected:
        """All of it, the chunks in random order."""
        order = shuffled(self.rng, range(len(self.chunks)))
        chunks = tuple(self.chunks[place] for place in order)
        places = tuple(map(order.index, needed))
        return Collected(query, self.secret, chunks, places, tuple(self.names), self.domain.name)


def line_of(domain: Domain, world: World) -> str:
    """What all editions of an event are called together."""
    return LINES[domain.name](world)


def collect(
    rng: random.Random, source: str, chunks: int, supporting: int, *, two: bool = False, told: Container[str] = ()
) -> Collected:
    """A question of one of SOURCES with so many chunks, so many of which support its answer; `two`: one that needs two
    chunks. Raises Unmet where there is not enough to say, Told for an event of a name among `told`."""
    name = pick(rng, SOURCES[source])
    domain = next(domain for domain in domains() if domain.name == name)
    for _ in range(ATTEMPTS):
        try:
            return _two(rng, domain, chunks, told) if two else _one(rng, domain, chunks, supporting, told)
        except Stuck:
            continue
    raise Unmet(f"{name}, {chunks} chunks")


def _one(rng: random.Random, domain: Domain, chunks: int, supporting: int, told: Container[str]) -> Collected:
    series, ask = domain.series(rng), pick(rng, domain.asks)
    world = subject(rng, domain, series, (ask,))
    answer = ask.aliases(world)
    folder = Folder(rng, domain, series, (answer,), told)
    for _ in range(supporting):
        folder.add(pick(rng, STATING), ask, world, (), must=answer)
    folder.mislead(ask, world, _kinds(rng, chunks - supporting), frozenset())
    return folder.close(question(rng, ask, world), (0,))


def _two(rng: random.Random, domain: Domain, chunks: int, past: Container[str]) -> Collected:
    """The question names the series and one fact of an edition, and asks for another fact of that edition."""
    series = domain.series(rng)
    told, asked, line = pick(rng, questions_of_two()[domain.name])
    first, second = (next(ask for ask in domain.asks if ask.field == field) for field in (told, asked))
    world = subject(rng, domain, series, (first, second))
    named, answer = first.aliases(world), second.aliases(world)
    if any(a in b or b in a for a in named for b in answer):
        raise Stuck
    folder = Folder(rng, domain, series, (named, answer), past)
    folder.add(pick(rng, STATING), first, world, answer, must=named, avoid=second.blocked)
    folder.add(pick(rng, STATING), second, world, named, must=answer, avoid=first.blocked)
    # Another edition's answer is always there: only who has read the first chunk can tell which one is right.
    folder.mislead(second, world, ["other_year", *_kinds(rng, chunks - 3)], first.blocked)
    query = line.parts[0][0].format_map({**world, "系": line_of(domain, world)})
    return folder.close(query, (0, 1))


def _kinds(rng: random.Random, count: int) -> list[str]:
    """So many kinds of misleading chunks, as different as can be."""
    kinds: list[str] = []
    while len(kinds) < count:
        kinds += sample(rng, ("other_year", "rumour", "related", "other_category"), count - len(kinds))
    return kinds
