"""Questions with their passages: which event, which answer, which kinds of documents."""

import random
from collections.abc import Callable, Sequence

from ragstone.datasets.fictional.parts import Document, Item, between, chance, pick, shuffled
from ragstone.datasets.fictional.zh.domains import domains
from ragstone.datasets.fictional.zh.writer import Ask, Domain, World, Writer

__all__ = ["base", "integration"]

Aliases = tuple[str, ...]
TRIES = 12  # rewrites of one passage before the whole question is drawn anew
MIN_CHARACTERS, MAX_CHARACTERS = 60, 450


class Stuck(Exception):
    """A passage could not be written without breaking a rule; the question is drawn anew."""


def base(rng: random.Random) -> Item:
    """A question with one answer: five to eight positives in one group, nine to thirteen negatives."""
    return again(rng, one_answer)


def integration(rng: random.Random) -> Item:
    """A question that needs two facts: of one event, or the same of two events. Three or more documents a slot."""
    return again(rng, two_answers)


def again(rng: random.Random, make: Callable[[random.Random, Domain], Item]) -> Item:
    """Draw until a question comes out right (nearly always the first)."""
    while True:
        try:
            return make(rng, pick(rng, domains()))
        except Stuck:
            continue


def hidden(aliases: Sequence[str], world: World, but: frozenset[str]) -> bool:
    """Does no field of the world, besides those named, hold any of the aliases?"""
    return not any(
        alias in text for key, text in world.items() if key not in but and key[-1] != "#" for alias in aliases
    )


def event(rng: random.Random, domain: Domain, series: World, years: int, other: bool, *secret: Aliases) -> World:
    """An event of the series in which none of the secret answers of another event occurs."""
    for _ in range(40):
        world = domain.edition(rng, series, years, other)
        if all(hidden(aliases, world, frozenset()) for aliases in secret):
            return world
    raise Stuck


def subject(rng: random.Random, domain: Domain, series: World, asks: Sequence[Ask]) -> World:
    """The event asked about: each answer stands in its own fields only, and in no other's."""
    for _ in range(40):
        world = domain.edition(rng, series, 0, False)
        if all(hidden(ask.aliases(world), world, ask.blocked) for ask in asks):
            return world
    raise Stuck


def write(
    writer: Writer, kind: str, ask: Ask, world: World, never: Sequence[str], must: Aliases = (), avoid: frozenset[str] = frozenset()
) -> Document:
    """A document of the right length that holds one of `must` (where given) and none of `never`."""
    for _ in range(TRIES):
        document = writer.document(kind, ask, world, avoid)
        text = document.text
        if not MIN_CHARACTERS <= len(text) <= MAX_CHARACTERS or any(alias in text for alias in never):
            continue
        if must and not any(alias in text for alias in must):
            continue
        return document
    raise Stuck


def topic(world: World) -> str:
    """What a question calls the event."""
    return world.get("题", world["事"])


def question(rng: random.Random, ask: Ask, world: World) -> str:
    """One of the wordings of a question with one answer."""
    if chance(rng, 0.75):
        return pick(rng, pick(rng, ask.query.lines).parts[0]).format_map(world)
    ending = pick(rng, ("？", "？", ""))
    return f"{topic(world)}的{ask.noun}是{ask.wh}{ending}"


def kinds_of_positives(rng: random.Random, count: int) -> list[str]:
    """At least one of each kind, about half plain."""
    kinds = ["plain", "far", "brief"]
    while len(kinds) < count:
        draw = rng.random()
        kinds.append("plain" if draw < 0.55 else "far" if draw < 0.83 else "brief")
    return kinds


def kinds_of_negatives(rng: random.Random, count: int) -> list[str]:
    """Two of each kind, the rest by chance."""
    kinds = ["rumour", "other_year", "other_category", "related"] * 2
    while len(kinds) < count:
        kinds.append(pick(rng, ("rumour", "other_year", "other_category", "related", "related")))
    return kinds


def years_apart(rng: random.Random) -> tuple[int, int]:
    """Two editions near the one asked about."""
    first = pick(rng, (-1, -1, 1, -2))
    return first, pick(rng, tuple(n for n in (-3, -2, -1, 1, 2) if n != first))


def one_answer(rng: random.Random, domain: Domain) -> Item:
    series = domain.series(rng)
    ask = pick(rng, domain.asks)
    world = subject(rng, domain, series, (ask,))
    answer = ask.aliases(world)
    years = [event(rng, domain, series, n, False, answer) for n in years_apart(rng)]
    others = [event(rng, domain, series, n, True, answer) for n in (0, pick(rng, (0, -1)))]
    writer = Writer(rng, domain)
    positive = [write(writer, kind, ask, world, (), answer) for kind in kinds_of_positives(rng, between(rng, 5, 7))]
    negative = []
    for kind in kinds_of_negatives(rng, between(rng, 8, 11)):
        about = pick(rng, years) if kind == "other_year" else pick(rng, others) if kind == "other_category" else world
        negative.append(write(writer, kind, ask, about, answer))
    return Item(
        question(rng, ask, world), (answer,), (tuple(shuffled(rng, positive)),), tuple(shuffled(rng, negative)), domain.name
    )


def two_answers(rng: random.Random, domain: Domain) -> Item:
    series = domain.series(rng)
    asks: tuple[Ask, Ask]
    if chance(rng, 0.6):  # two facts of one event
        first, second = shuffled(rng, domain.asks)[:2]
        world = subject(rng, domain, series, (first, second))
        asks, worlds = (first, second), (world, world)
        answers = (first.aliases(world), second.aliases(world))
        query = question_of_two_facts(rng, first, second, world)
    else:  # the same fact of two events
        ask = pick(rng, domain.asks)
        world = subject(rng, domain, series, (ask,))
        other = event(rng, domain, series, *pick(rng, ((-1, False), (-2, False), (1, False), (0, True))), ask.aliases(world))
        if not hidden(ask.aliases(other), world, frozenset()) or not hidden(ask.aliases(other), other, ask.blocked):
            raise Stuck
        asks, worlds = (ask, ask), (world, other)
        answers = (ask.aliases(world), ask.aliases(other))
        query = f"{topic(world)}和{topic(other)}的{ask.noun}分别是{ask.wh}？"
    if worlds[0] is worlds[1] and any(a in b or b in a for a in answers[0] for b in answers[1]):
        raise Stuck
    writer = Writer(rng, domain)
    groups = []
    for i in (0, 1):
        avoid = asks[1 - i].blocked if worlds[0] is worlds[1] else frozenset[str]()
        kinds = kinds_of_positives(rng, between(rng, 3, 4))
        group = [write(writer, kind, asks[i], worlds[i], answers[1 - i], answers[i], avoid) for kind in kinds]
        groups.append(tuple(shuffled(rng, group)))
    years = [event(rng, domain, series, n, False, *answers) for n in (-4, 3)]
    elsewhere = [event(rng, domain, domain.series(rng), n, True, *answers) for n in (0, -1)]
    never = answers[0] + answers[1]
    both = asks[0].blocked | asks[1].blocked
    negative = []
    for kind in kinds_of_negatives(rng, between(rng, 8, 11)):
        side = int(rng.random() * 2)
        about = pick(rng, years) if kind == "other_year" else pick(rng, elsewhere) if kind == "other_category" else worlds[side]
        avoid = frozenset[str]() if kind.startswith("other") else both
        negative.append(write(writer, kind, asks[side], about, never, (), avoid))
    return Item(query, answers, tuple(groups), tuple(shuffled(rng, negative)), domain.name)


def question_of_two_facts(rng: random.Random, first: Ask, second: Ask, world: World) -> str:
    """A question for two facts of one event."""
    if first.wh == second.wh:
        return f"{topic(world)}的{first.noun}和{second.noun}{pick(rng, ('分别是', '各是'))}{first.wh}？"
    return pick(
        rng,
        (
            f"{topic(world)}的{first.noun}是{first.wh}，{second.noun}是{second.wh}？",
            f"{topic(world)}的{first.noun}和{second.noun}分别是什么？",
            f"请问{topic(world)}的{first.noun}是{first.wh}？{second.noun}又是{second.wh}？",
        ),
    )
