"""Whether a prompt is cut: seen where the prompt is recorded, else by what the same text says at another place."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragstone.analysis.statements import letters
from ragstone.diagnosis.interventions.question import fetched_of, handed_over, prompt_of
from ragstone.types import Passage

if TYPE_CHECKING:
    from ragstone.diagnosis.interventions.evidence import Evidence

_WRONG = ("wrong", "refused")
CUT_OFF = ("not_in_prompt", "part_in_prompt")
"""Why a condition is withdrawn whose passages did not reach the prompt as a whole."""


def cut(evidence: "Evidence") -> str | None:
    """Whether the prompt is cut at its length: between long passages that say nothing the answer is wrong, or the gold
    is not in the prompt; between short ones it is right. Only what was handed over can be cut off."""
    first = evidence.first
    if first is None or (evidence.value("prompted") == "no" and evidence.has_gold(handed_over(first)) != "yes"):
        return "no"
    short = evidence.told("spaced")
    if "spaced" in evidence.withdrawn or short not in (None, "right"):
        return "no"
    long = "wrong" if evidence.withdrawn.get("padded") in CUT_OFF else evidence.settled("padded")
    if short is None or long is None:
        return evidence.told_by("cut", otherwise="no")
    return "yes" if long in _WRONG else "no"


def clipped(evidence: "Evidence") -> str:
    """Whether the recorded prompt has the beginning of the passage with the gold, and not its evidence."""
    first = evidence.first
    shown = None if first is None else prompt_of(first)
    if first is None or not shown or evidence.value("prompted") != "no" or evidence.value("fetched") != "yes":
        return "no"
    found = (*fetched_of(first), *handed_over(first))
    return evidence.has_gold([_whole(item, found) for item in shown])


def _whole(shown: Passage, found: Sequence[Passage]) -> Passage:
    """The passage that was found and of which this is the beginning, also under an id that the cut changed."""
    begun = [item for item in found if item.id == shown.id or letters(item.text).startswith(letters(shown.text))]
    return max((shown, *begun), key=lambda item: len(item.text))


def unread_end(evidence: "Evidence") -> str | None:
    """Whether the end of a passage is not read: with the sentences that state the answer first it is answered rightly,
    with the same sentences last it is not."""
    if evidence.value("as_is") not in _WRONG:
        return "no"
    outcome = evidence.told("evidence_first")
    last = evidence.settled("evidence_last")
    if outcome is None or (outcome == "right" and last is None):
        return evidence.told_by("unread_end", otherwise="no")
    return "yes" if outcome == "right" and last in _WRONG else "no"
