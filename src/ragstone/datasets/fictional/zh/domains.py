"""The kinds of events of the Chinese news world: their patterns, read from `patterns/`, and their worlds."""

import functools
import random
from collections.abc import Callable

from ragstone.datasets.fictional.zh import worlds
from ragstone.datasets.fictional.zh.writer import COMMON, EMPTY, Ask, Domain, Pool, World, patterns

__all__ = ["NAMES", "domains"]

POOLS = ("title", "lead", "detail", "quote", "color", "close", "pre", "wait", "aside")
ASK_POOLS = ("query", "head", "state", "say", "far", "qa", "rumour")

# Name, file of patterns, and what draws a series and an edition of it.
KINDS: tuple[
    tuple[
        str,
        str,
        Callable[[random.Random], World],
        Callable[[random.Random, World, int, bool], World],
    ],
    ...,
] = (
    ("体育", "sport", worlds.sport_series, worlds.sport),
    ("奖项", "award", worlds.award_series, worlds.award),
    ("产品", "product", worlds.product_series, worlds.product),
    ("财报", "company", worlds.company_series, worlds.company),
    ("灾害", "disaster", worlds.disaster_series, worlds.disaster),
    ("考古", "dig", worlds.dig_series, worlds.dig),
    ("交通", "transit", worlds.transit_series, worlds.transit),
    ("展会", "fair", worlds.fair_series, worlds.fair),
    ("电影", "film", worlds.film_series, worlds.film),
    ("航天", "space", worlds.space_series, worlds.space),
    ("选举", "election", worlds.election_series, worlds.election),
)

NAMES = tuple(name for name, *_ in KINDS)


@functools.cache
def domains() -> tuple[Domain, ...]:
    """All kinds of events, in a fixed order."""
    return tuple(
        read_domain(name, patterns(file), series, edition) for name, file, series, edition in KINDS
    )


def read_domain(
    name: str,
    lines: list[str],
    series: Callable[[random.Random], World],
    edition: Callable[[random.Random, World, int, bool], World],
) -> Domain:
    """A domain from its file. `== pool` starts a pool, `== abroad`
    leaves out the common background of a town at home, `== ask field | noun | wh | further fields that tell it` a
    question and `-- pool` one of its pools; other lines are patterns. ValueError: a line fits nowhere."""
    pools: dict[str, list[str]] = {pool: [] for pool in POOLS}
    asks: list[tuple[list[str], dict[str, list[str]]]] = []
    into: list[str] | None = None
    common = COMMON
    for line in lines:
        if line.startswith("== ask "):
            asks.append(([part.strip() for part in line[7:].split("|")], {pool: [] for pool in ASK_POOLS}))
            into = None
        elif line == "== abroad":
            common = EMPTY
        elif line.startswith("== "):
            into = pools[line[3:]]
        elif line.startswith("-- "):
            into = asks[-1][1][line[3:]]
        elif into is None:
            raise ValueError(f"{name}: no pool for {line!r}")
        else:
            into.append(line)
    filled = {pool: Pool(*lines) for pool, lines in pools.items()}
    return Domain(name, series, edition, tuple(make_ask(*ask) for ask in asks), common=common, **filled)


def make_ask(head: list[str], pools: dict[str, list[str]]) -> Ask:
    field, noun, wh, *more = head
    tells = tuple(more[0].split()) if more else ()
    return Ask(field, noun, wh, tells=tells, **{pool: Pool(*lines) for pool, lines in pools.items()})
