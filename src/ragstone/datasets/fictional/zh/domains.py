"""The kinds of events of the Chinese news world: their patterns, read from `patterns/`, and their worlds."""

import functools
import random
from collections.abc import Callable

from ragstone.datasets.fictional.zh.reading import patterns
from ragstone.datasets.fictional.zh.worlds import business, culture, public
from ragstone.datasets.fictional.zh.writer import COMMON, EMPTY, Ask, Domain, Pool, World

__all__ = ["domains"]

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
    ("体育", "sport", culture.sport_series, culture.sport),
    ("奖项", "award", culture.award_series, culture.award),
    ("产品", "product", business.product_series, business.product),
    ("财报", "company", business.company_series, business.company),
    ("灾害", "disaster", public.disaster_series, public.disaster),
    ("考古", "dig", public.dig_series, public.dig),
    ("交通", "transit", business.transit_series, business.transit),
    ("展会", "fair", culture.fair_series, culture.fair),
    ("电影", "film", culture.film_series, culture.film),
    ("航天", "space", public.space_series, public.space),
    ("选举", "election", public.election_series, public.election),
)


@functools.cache
def domains() -> tuple[Domain, ...]:
    """All kinds of events, in a fixed order."""
    return tuple(read_domain(name, patterns(file), series, edition) for name, file, series, edition in KINDS)


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
