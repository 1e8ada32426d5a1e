"""English: invented news in twelve domains, and real facts with false twins."""

from dataclasses import replace

from ragstone.datasets.fictional.en.collect import collect_one, collect_two
from ragstone.datasets.fictional.en.domain import read_domain
from ragstone.datasets.fictional.en.facts import facts
from ragstone.datasets.fictional.en.items import one_answer, two_answers
from ragstone.datasets.fictional.language import Language

__all__ = ["LANGUAGE"]

_DOMAINS = (
    "final", "award", "launch", "election", "film", "mission", "results", "disaster", "deal", "auction", "bridge",
    "discovery",
)  # fmt: skip
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
    lambda domain: replace(domain, varied=True),
)
