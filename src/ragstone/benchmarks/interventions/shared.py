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


def shared_by(evidences: Iterable["Evidence"]) -> Shared:
    """What these questions of one system tell together."""
    found: dict[str, list[bool]] = {"no": [], "yes": []}
    for evidence in evidences:
        if evidence.gold and evidence.value("in_index") != "no" and evidence.value("fetched") in ("yes", "no"):
            found[foreign(evidence)].append(evidence.value("fetched") == "yes")
    own, others = found["no"], found["yes"]
    enough = min(len(own), len(others)) >= _FEWEST
    return Shared(enough and sum(own) >= _MOSTLY * len(own) and sum(others) <= _SELDOM * len(others))
