"""What the questions of a run tell together, which no single one can."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragstone.benchmarks.interventions.searching import foreign

if TYPE_CHECKING:
    from ragstone.benchmarks.interventions.evidence import Evidence

_FEWEST = 5  # questions of each kind
_MOSTLY, _SELDOM = 0.8, 0.5


@dataclass(frozen=True)
class Shared:
    """`barrier`: of the questions in the language of their documents the search finds most, of those in another it does
    not."""

    barrier: bool = False


def language_of(evidence: "Evidence") -> tuple[bool, bool] | None:
    """Whether a question is in another language than its documents, and whether the search finds them; None if that is
    not known."""
    if not evidence.gold or evidence.value("in_index") == "no" or evidence.value("fetched") not in ("yes", "no"):
        return None
    return foreign(evidence) == "yes", evidence.value("fetched") == "yes"


def shared_of(languages: Iterable[tuple[bool, bool] | None]) -> Shared:
    """What these questions of one system tell together, each by its `language_of`."""
    found: dict[bool, list[bool]] = {False: [], True: []}
    for pair in languages:
        if pair is not None:
            found[pair[0]].append(pair[1])
    own, others = found[False], found[True]
    enough = min(len(own), len(others)) >= _FEWEST
    return Shared(enough and sum(own) >= _MOSTLY * len(own) and sum(others) <= _SELDOM * len(others))
