"""Where the questions of a diagnosis stand between two rounds, without their texts, and the change to try next.

When every cause is known, the change that the cause with most wrong answers asks for is tried on all questions, right
ones, too: what it takes from them counts. Only then is its gain known: a condition that was asked of wrong answers
alone tells what may be gained, as some of them come back by chance.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ragstone.diagnosis.interventions.causes import CAUSES, cause_of, next_conditions
from ragstone.diagnosis.interventions.conditions import CONDITIONS, ORDERED
from ragstone.diagnosis.interventions.evidence import Evidence, facts_of
from ragstone.diagnosis.interventions.question import ASKED
from ragstone.diagnosis.interventions.shared import Facts
from ragstone.diagnosis.interventions.verification import Seen, seen_of, withdraw

CHANGES: Mapping[str, tuple[str, ...]] = {
    "k_too_small": ("k2", "k4"), "reranking": ("unranked",), "rewriting": ("unrewritten",),
    "search_mismatch": ("unrewritten",),
    "position": ("best_first", "reordered", "fewer"), "noise": ("fewer",), "duplicates": ("distinct",),
    "cached_answer": ("reworded",),
}  # fmt: skip
"""The conditions that are changes of a system which its owner can make, by the cause that they may lift, in the order
in which they are tried."""
_NEEDS: Mapping[str, str] = {"unrewritten": ASKED}  # the search whose passages a change gives
_CAUSES_TRIED, MOST_TRIED = 2, 2  # causes whose changes are tried, and changes
_LEAST, _LEAST_SHARE = 2, 0.1  # wrong answers with a cause that are worth a request for every question


@dataclass(frozen=True, slots=True)
class Standing:
    """What the next rounds need to know of a question. `wanted`: the conditions that were asked or are to be, besides
    as is; `new`: some of them are. `failed`: an answer is an error, which the next round asks again. `right` by
    condition, where it is known. `changed`: asked again it has another outcome.
    `usable`: the changes against its cause that would change its prompt; `shown`: those of them that something asked
    already speaks for. `ordered`: conditions that wait until nothing else is to be asked, `soon`: other
    new ones. `facts`: what it adds to `Shared`. `seen`: what its conditions show."""

    wanted: tuple[str, ...]
    new: bool
    failed: bool
    cause: str
    right: Mapping[str, bool]
    changed: bool
    usable: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    ordered: frozenset[str] = frozenset()
    soon: bool = False
    facts: Facts = field(default_factory=Facts)
    seen: Seen | None = None


def standing_of(evidence: Evidence, wanted: Collection[str], *, full: bool) -> Standing:
    """The standing of a question after a round. `wanted`: what was asked of it before, `full`: ask everything."""
    seen = seen_of(evidence)
    withdraw(evidence, evidence.shared.verified, seen)
    before = {*wanted, *evidence.asked} - {"as_is"}
    every = [name for name in CONDITIONS if name not in ORDERED and evidence.can(name)] if full else []
    more = [*every, *next_conditions(evidence)]
    known = {name for name in before if name in evidence.asked or evidence.can(name) or _waits(name, evidence)}
    cause = cause_of(evidence).name
    if cause == "position":  # both places are asked, so that the better one is known
        more = [*more, *(name for name in ("gold_first", "gold_last") if evidence.can(name))]
    names = {*known, *more} - {"as_is"}
    waiting = frozenset(names.difference(evidence.asked))
    right = {name: value == "right" for name in evidence.records
             if (value := evidence.told(name)) in ("right", "wrong", "refused")}  # fmt: skip
    usable = frozenset(name for name in CHANGES.get(cause, ()) if evidence.can(name))
    return Standing(
        tuple(name for name in CONDITIONS if name in names), bool(waiting),
        any(one.response is None for one in evidence.records.values()), cause, right,
        evidence.changes_by_itself, usable,
        frozenset(name for name in usable if _speaks_for(name, evidence)), waiting.intersection(ORDERED),
        not waiting <= {*ORDERED}, facts_of(evidence), seen,
    )  # fmt: skip


def _speaks_for(change: str, evidence: Evidence) -> bool:
    """Whether an answer that was asked already speaks for a change: the gold is in the longer prompt; it helped at the
    beginning, or at the end; the question in other words around it is answered rightly."""
    if change in ("k2", "k4"):
        response = evidence.response(change)
        return response is not None and evidence.has_gold(response.passages) == "yes"
    wanted = {"best_first": "gold_first", "reordered": "gold_last", "reworded": "reworded"}.get(change, "")
    return evidence.told(wanted) == "right" if wanted else True


def with_change(standing: Standing, change: str) -> Standing:
    """The same question, of which a change is wanted, too. Whether that changes anything shows when it is made."""
    if change in standing.wanted:
        return standing
    names = {*standing.wanted, change, *({_NEEDS[change]} if change in _NEEDS else ())}
    return replace(standing, wanted=tuple(name for name in CONDITIONS if name in names), new=True, soon=True)


def untried(evidence: Evidence) -> frozenset[str]:
    """The changes that could be asked of a question and were not."""
    changes = {name for names in CHANGES.values() for name in names}
    return frozenset(name for name in changes - evidence.records.keys() if evidence.can(name) or _waits(name, evidence))


def _waits(change: str, evidence: Evidence) -> bool:
    """Whether a change needs a search that was not asked."""
    needed = _NEEDS.get(change, "")
    return bool(needed) and needed not in evidence.records and evidence.can(needed)


def gains_of(standings: Collection[Standing], change: str) -> list[int] | None:
    """What a change did to each question: 1 righted, 0 unchanged, -1 broken; None unless it was asked of all that it
    would change. A question that a change leaves as it is counts as 0."""
    asked = [one for one in standings if change in one.wanted]
    known = [one for one in asked if change in one.right and "as_is" in one.right]
    if len(known) < len(asked):
        return None
    return [one.right[change] - one.right["as_is"] if change in one.right else 0 for one in standings]


def next_change(standings: Collection[Standing], tried: Collection[str]) -> str:
    """The change to ask of all questions next; "" if there is none. `tried`: those that were asked of all before."""
    counts = Counter(one.cause for one in standings if one.right.get("as_is") is False)
    ranked = sorted(counts, key=lambda cause: (-counts[cause], CAUSES.index(cause)))
    enough = max(_LEAST, _LEAST_SHARE * counts.total())
    with_changes = [cause for cause in ranked if cause in CHANGES and counts[cause] >= enough][:_CAUSES_TRIED]
    for cause in with_changes:
        for change in _candidates(cause, standings):
            if change not in tried:
                return change if len(tried) < MOST_TRIED else ""
            gains = gains_of(standings, change)
            if gains is not None and sum(gains) > 0:
                return ""  # the first advice is confirmed
    return ""


def _candidates(cause: str, standings: Collection[Standing]) -> Iterator[str]:
    """The changes against a cause that something speaks for, and that reach at least half of what the best reaches."""
    concerned = [one for one in standings if one.cause == cause]
    counts = {change: sum(change in one.shown for one in concerned) for change in CHANGES[cause]}
    most = max(counts.values(), default=0)
    return (change for change, n in counts.items() if n and 2 * n >= most)
