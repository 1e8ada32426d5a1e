"""English: invented news in twelve domains, and real facts with false twins."""

from ragstone.datasets.fictional.en.business import DEAL, LAUNCH, RESULTS
from ragstone.datasets.fictional.en.collect import collect_one, collect_two
from ragstone.datasets.fictional.en.culture import AUCTION, AWARD, FILM
from ragstone.datasets.fictional.en.facts import facts
from ragstone.datasets.fictional.en.public import BRIDGE, DISASTER, DISCOVERY, ELECTION, MISSION
from ragstone.datasets.fictional.en.sports import FINAL
from ragstone.datasets.fictional.en.tell import tell_base, tell_integration
from ragstone.datasets.fictional.language import Language

__all__ = ["LANGUAGE"]

LANGUAGE = Language(
    (FINAL, AWARD, LAUNCH, ELECTION, FILM, MISSION, RESULTS, DISASTER, DEAL, AUCTION, BRIDGE, DISCOVERY),
    {
        "public": ("election", "disaster", "bridge"),
        "business": ("launch", "results", "deal"),
        "culture": ("award", "film", "auction"),
        "science": ("mission", "discovery"),
        "sport": ("final",),
    },
    facts(),
    tell_base,
    tell_integration,
    collect_one,
    collect_two,
)
