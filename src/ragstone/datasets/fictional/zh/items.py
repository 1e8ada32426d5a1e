"""Questions with their passages: which event, which answer, which kinds of documents."""

import random
from collections.abc import Sequence

from ragstone.datasets.fictional.parts import Document, Item, Stuck, between, chance, pick, shuffled
from ragstone.datasets.fictional.worlds import Series
from ragstone.datasets.fictional.zh.domains import Ask, Domain
from ragstone.datasets.fictional.zh.lines import World
from ragstone.datasets.fictional.zh.writer import Writer

__all__ = ["Aliases", "event", "one_answer", "question", "subject", "two_answers", "write"]

Aliases = tuple[str, ...]
TRIES = 12  # rewrites of one passage before the whole question is drawn anew
MIN_CHARACTERS, MAX_CHARACTERS = 60, 450


def hidden(aliases: Sequence[str], world: World, but: frozenset[str]) -> bool:
    """Does no field of the world, besides those named, hold any of the aliases?"""
    return not any(
        alias in text for key, text in world.items() if key not in but and key[-1] != "#" for alias in aliases
    )


def event(rng: random.Random, domain: Domain, series: Series, years: int, other: bool, *secret: Aliases) -> World:
    """An event of the series in which none of the secret answers of another event occurs."""
    for _ in range(40):
        world = domain.worlds.edition(rng, series, _years=years, _other=other)
        if all(hidden(aliases, world, frozenset()) for aliases in secret):
            return world
    raise Stuck


def subject(rng: random.Random, domain: Domain, series: Series, asks: Sequence[Ask]) -> World:
    """The event asked about: each answer stands in its own fields only, and in no other's."""
    for _ in range(40):
        world = domain.worlds.edition(rng, series, _years=0, _other=False)
        if all(hidden(ask.aliases(world), world, ask.blocked) for ask in asks):
            return world
    raise Stuck


def write(
    writer: Writer,
    kind: str,
    ask: Ask,
    world: World,
    never: Sequence[str],
    *,
    must: Aliases = (),
    avoid: frozenset[str] = frozenset(),
    most: int = MAX_CHARACTERS,
) -> Document:
    """A document of the right length that holds one of `must` (where given) and none of `never`. Raises Stuck."""
    for _ in range(TRIES):
        document = writer.document(kind, ask, world, avoid)
        text = document.text
        if not MIN_CHARACTERS <= len(text) <= most or any(alias in text for alias in never):
            continue
        if must and not any(alias in text for alias in must):
            continue
        if writer.fresh(text):
            writer.keep(text)
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
    """A question with one answer: five to eight positives in one group, nine to thirteen negatives."""
    series = domain.worlds.series(rng)
    ask = pick(rng, domain.asks)
    world = subject(rng, domain, series, (ask,))
    answer = ask.aliases(world)
    years = [event(rng, domain, series, n, False, answer) for n in years_apart(rng)]
    others = [event(rng, domain, series, n, True, answer) for n in (0, pick(rng, (0, -1)))]
    writer = Writer(rng, domain)
    kinds = kinds_of_positives(rng, between(rng, 5, 7))
    positive = [write(writer, kind, ask, world, (), must=answer) for kind in kinds]
    negative = []
    for kind in kinds_of_negatives(rng, between(rng, 8, 11)):
        about = pick(rng, {"other_year": years, "other_category": others}.get(kind, [world]))
        negative.append(write(writer, kind, ask, about, answer))
    query = question(rng, ask, world)
    return Item(query, (answer,), (tuple(shuffled(rng, positive)),), tuple(shuffled(rng, negative)), domain.name)


def two_answers(rng: random.Random, domain: Domain) -> Item:
    """A question that needs two facts: of one event, or the same of two events. Three or more documents a slot."""
    series = domain.worlds.series(rng)
    if chance(rng, 0.6):
        asks, worlds, query = two_facts_of_one_event(rng, domain, series)
        nearby, silent = series, asks[0].blocked | asks[1].blocked
    else:
        asks, worlds, query = one_fact_of_two_events(rng, domain, series)
        nearby, silent = domain.worlds.series(rng), asks[0].blocked
    answers = (asks[0].aliases(worlds[0]), asks[1].aliases(worlds[1]))
    if any(a in b or b in a for a in answers[0] for b in answers[1]):
        raise Stuck
    writer = Writer(rng, domain)
    groups = []
    for i in (0, 1):
        avoid = asks[1 - i].blocked if asks[0] is not asks[1] else frozenset[str]()
        never, must = answers[1 - i], answers[i]
        kinds = kinds_of_positives(rng, between(rng, 3, 4))
        group = [write(writer, kind, asks[i], worlds[i], never, must=must, avoid=avoid) for kind in kinds]
        groups.append(tuple(shuffled(rng, group)))
    years = [event(rng, domain, series, n, False, *answers) for n in (-4, 3)]
    others = [event(rng, domain, nearby, n, True, *answers) for n in (0, -3)]
    negative = []
    for kind in kinds_of_negatives(rng, between(rng, 8, 11)):
        side = between(rng, 0, 1)
        about = pick(rng, {"other_year": years, "other_category": others}.get(kind, [worlds[side]]))
        avoid = frozenset[str]() if kind.startswith("other") else silent
        negative.append(write(writer, kind, asks[side], about, (*answers[0], *answers[1]), avoid=avoid))
    return Item(query, answers, tuple(groups), tuple(shuffled(rng, negative)), domain.name)


Two = tuple[tuple[Ask, Ask], tuple[World, World], str]


def two_facts_of_one_event(rng: random.Random, domain: Domain, series: Series) -> Two:
    """Two different asks of one world, and the question for both."""
    first, second = shuffled(rng, domain.asks)[:2]
    world = subject(rng, domain, series, (first, second))
    return (first, second), (world, world), question_of_two_facts(rng, first, second, world)


def one_fact_of_two_events(rng: random.Random, domain: Domain, series: Series) -> Two:
    """The same ask of two worlds (two editions, or two categories of one), none of which tells the other's answer."""
    ask = pick(rng, domain.asks)
    world = subject(rng, domain, series, (ask,))
    years, category = pick(rng, ((-1, False), (-2, False), (1, False), (0, True)))
    other = event(rng, domain, series, years, category, ask.aliases(world))
    answer = ask.aliases(other)
    if not hidden(answer, world, frozenset()) or not hidden(answer, other, ask.blocked):
        raise Stuck
    query = pick(
        rng,
        (
            f"{topic(world)}和{topic(other)}的{ask.noun}分别是{ask.wh}？",
            f"{topic(world)}的{ask.noun}是{ask.wh}，{topic(other)}的呢？",
            f"{topic(other)}与{topic(world)}，两者的{ask.noun}各是{ask.wh}",
        ),
    )
    return (ask, ask), (world, other), query


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
