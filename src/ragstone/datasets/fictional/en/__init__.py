"""English: invented news in twelve domains, and real facts with false twins."""

from collections.abc import Container
from random import Random

from ragstone.datasets.fictional.en.business import DEAL, LAUNCH, RESULTS
from ragstone.datasets.fictional.en.collect import collect as collect_chunks
from ragstone.datasets.fictional.en.culture import AUCTION, AWARD, FILM
from ragstone.datasets.fictional.en.facts import facts
from ragstone.datasets.fictional.en.public import BRIDGE, DISASTER, DISCOVERY, ELECTION, MISSION
from ragstone.datasets.fictional.en.sports import FINAL
from ragstone.datasets.fictional.en.tell import tell_base, tell_integration
from ragstone.datasets.fictional.parts import Collected, Item, pick

__all__ = ["DOMAINS", "FACTS", "SOURCES", "base", "collect", "integration"]

_ALL = (FINAL, AWARD, LAUNCH, ELECTION, FILM, MISSION, RESULTS, DISASTER, DEAL, AUCTION, BRIDGE, DISCOVERY)
DOMAINS = tuple(domain.name for domain in _ALL)
FACTS = facts()
# The sections of the paper that the domains belong to: the data sets of a pool.
SOURCES = {
    "public": ("election", "disaster", "bridge"),
    "business": ("launch", "results", "deal"),
    "culture": ("award", "film", "auction"),
    "science": ("mission", "discovery"),
    "sport": ("final",),
}


def base(rng: Random) -> Item:
    """A question about an invented event, with one answer."""
    return tell_base(rng, pick(rng, _ALL))


def integration(rng: Random) -> Item:
    """A question with two answers, from different passages."""
    return tell_integration(rng, pick(rng, _ALL))


def collect(
    rng: Random, source: str, chunks: int, supporting: int, *, two: bool = False, told: Container[str] = ()
) -> Collected:
    """A question of one of SOURCES with so many chunks, so many of which support its answer; `two`: one that needs two
    chunks. Raises Told for an event of a name among `told`."""
    name = pick(rng, SOURCES[source])
    domain = next(domain for domain in _ALL if domain.name == name)
    return collect_chunks(rng, domain, chunks, supporting, two=two, told=told)
