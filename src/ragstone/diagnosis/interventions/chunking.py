"""Whether the system's own chunks carry the gold: what they tell alone, and whether borders cut it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ragstone.analysis.gold_passages import is_split, pieces
from ragstone.diagnosis.interventions.conditions import SEARCHES
from ragstone.diagnosis.interventions.question import FOUND_BY_ITSELF, are_labels, fetched_of

if TYPE_CHECKING:
    from ragstone.diagnosis.interventions.evidence import Evidence

_OUTCOMES: Mapping[str, str] = {"right": "right", "wrong": "wrong", "refused": "wrong"}


def own(evidence: "Evidence") -> str | None:
    """Whether the answer is right from the system's own chunks of the gold alone. Chunks that are the labelled texts
    are told by these, and those that were all of the prompt by the answer as is."""
    if (outcome := evidence.settled("chunk_only")) is not None:
        return _OUTCOMES.get(outcome, "missing")
    chunks, first = evidence.own_chunks, evidence.first
    if not chunks or first is None or evidence.open_conditions("own"):
        return evidence.told_by("own")
    if are_labels(evidence.question, chunks):
        alone = evidence.value("alone")
        return None if alone is None else _OUTCOMES.get(alone, "missing")
    return _OUTCOMES.get(evidence.told("as_is") or "", "missing") if chunks == [*first.passages] else "missing"


def split(evidence: "Evidence") -> str | None:
    """Whether chunk borders cut the gold: the index has it in parts and not as a whole. A search for its own words
    would return the whole one first; where none can be asked, what more passages bring tells."""
    first, gold, slots = evidence.first, evidence.gold, evidence.slots
    if evidence.sample.meta.get("in_index") == "cut":
        return "yes"  # the list of the index has the parts next to each other
    names = ("as_is", "k2", "k4", *SEARCHES)
    seen = [response for name in names if (response := evidence.response(name)) is not None]
    if first is None or not is_split([item for one in seen for item in fetched_of(one)], gold, slots):
        return "no"
    response = evidence.response("search_reference")
    if response is None:
        return evidence.told_by("split", otherwise="yes")
    found = response.passages[:FOUND_BY_ITSELF]
    return "yes" if pieces(found[:1], gold, slots) and is_split(found, gold, slots) else "no"


def sentence(evidence: "Evidence") -> str | None:
    """Whether the answer is right from only the sentences with the answer."""
    outcome = evidence.told("evidence_only")
    return evidence.told_by("sentence") if outcome is None else _OUTCOMES.get(outcome, "missing")
