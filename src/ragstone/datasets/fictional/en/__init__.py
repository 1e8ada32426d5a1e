"""English: invented news in twelve domains, and real facts with false twins."""

from dataclasses import replace
from functools import cache

from ragstone.datasets.fictional.en.collect import collect_one, collect_two
from ragstone.datasets.fictional.en.domain import EnglishDomain, read_domain
from ragstone.datasets.fictional.en.facts import facts
from ragstone.datasets.fictional.en.items import ROW_KEYS, one_answer, two_answers
from ragstone.datasets.fictional.language import Language
from ragstone.datasets.fictional.parts import between, seeded, strong

__all__ = ["LANGUAGE"]

_WORLDS = 30
_DOMAINS = (
    "final", "award", "launch", "election", "film", "mission", "results", "disaster", "deal", "auction", "bridge",
    "discovery",
)  # fmt: skip


@cache
def _varied(name: str) -> EnglishDomain:
    """The domain with the values that differ from world to world."""
    rng, domain = seeded("ragstone", "varied", name), read_domain(name, news=True)
    series = [domain.worlds.series(rng) for _ in range(_WORLDS)]
    worlds = [domain.worlds.edition(rng, each, year=between(rng, *domain.years)) for each in series]
    return replace(domain, strong=strong(worlds) | ROW_KEYS)


LANGUAGE = Language(
    tuple(map(read_domain, _DOMAINS)),
    {
        "public": ("election", "disaster", "bridge"),
        "business": ("launch", "results", "deal"),
        "culture": ("award", "film", "auction"),
        "science": ("mission", "discovery"),
        "sport": ("final",),
    },
    facts(),
    one_answer,
    two_answers,
    collect_one,
    collect_two,
    lambda domain: _varied(domain.name),
)
