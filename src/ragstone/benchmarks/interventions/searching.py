"""What searches tell besides whether they found the gold: whether copies took its place, whether it is kept out of
every search, and whether the question is in another language than the documents."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ragstone.benchmarks.interventions.conditions import control_of, fetched_of, lost_gold
from ragstone.benchmarks.interventions.gold import holds, rank_of
from ragstone.benchmarks.interventions.statements import letters
from ragstone.responses.stages import passages_at
from ragstone.text import detect, sentences
from ragstone.types import Passage

if TYPE_CHECKING:
    from ragstone.benchmarks.interventions.evidence import Evidence

_MISSING = "missing"
_SAME = 0.9  # share of the letters of a passage that stand in another, whole sentence by whole sentence
_SIMILAR_SIZE = 0.6  # a short passage within a long one is no copy of it


def crowded(evidence: "Evidence") -> str | None:
    """Whether copies took the place of the gold: in the ranking without copies it stands where the prompt has room."""
    first = evidence.first
    if first is None or evidence.value("prompted") != "no" or not evidence.gold:
        return "no"
    ranked = (passages_at(first, "rerank") or fetched_of(first)) if evidence.value("fetched") == "yes" else ()
    if len(distinct(ranked or fetched_of(first))) == len(ranked or fetched_of(first)):
        return "no"
    deeper = [evidence.response(name) for name in ("search_deep", "k4", "k2")]
    rankings = [ranked] if ranked else [fetched_of(response) for response in deeper if response is not None]
    if any(evidence.has_gold(distinct(ranking)[: len(first.passages)]) == "yes" for ranking in rankings):
        return "yes"
    return "no" if rankings else evidence.told_by("crowded")


def distinct(passages: Iterable[Passage]) -> list[Passage]:
    """The passages without those that say again what an earlier one says."""
    found: list[Passage] = []
    for passage in passages:
        if not any(_is_copy(passage.text, other.text) for other in found):
            found.append(passage)
    return found


@lru_cache(maxsize=1024)
def _is_copy(one: str, other: str) -> bool:
    """Whether two texts are the same but for punctuation, spacing, case, and a tenth of whole sentences."""
    if one == other:
        return True
    short, long = sorted((letters(one), letters(other)), key=len)
    if not short or len(short) < _SIMILAR_SIZE * len(long):
        return False
    if short in long:
        return True
    shorter = one if len(letters(one)) == len(short) else other
    parts = [letters(part) for part in sentences(shorter)]
    return sum(len(part) for part in parts if part in long) >= _SAME * len(short)


def excluded(evidence: "Evidence") -> str | None:
    """Whether no search returns the gold that the prompt lacks, at any depth and for its own words, though another
    passage is found by its own."""
    first, own, control = evidence.first, evidence.response("search_own"), evidence.response("search_control")
    if first is None or own is None or control is None:
        return evidence.told_by("excluded")
    sought, other = lost_gold(evidence.question, first), control_of(first)
    if sought is None or other is None:
        return _MISSING
    if not _found(other, control.passages[:1], ()) or _found(other, own.passages[:1], ()):
        return _MISSING  # a search that does not put a passage first for its own words alone is broken
    searched = [own, *(found for name in ("search_deep", "search_reference") if (found := evidence.response(name)))]
    return "no" if any(_found(sought, found.passages, evidence.slots) for found in searched) else "yes"


def _found(sought: Passage, passages: Sequence[Passage], slots: Sequence[Sequence[str]]) -> bool:
    return any(holds(passage, sought, slots) for passage in passages)


def demoted(evidence: "Evidence") -> str:
    """Whether the gold was fetched at a rank that the prompt has room for, so that the reranker lost it."""
    first = evidence.first
    if first is None or evidence.value("fetched") != "yes" or passages_at(first, "rerank") is None:
        return "no"
    fetched = fetched_of(first)
    rank = rank_of(fetched, evidence.gold, evidence.slots)
    return "yes" if rank is not None and rank <= (len(first.passages) or len(fetched)) else "no"


def left_out(evidence: "Evidence") -> str:
    """Whether something between search and prompt dropped the gold, and not a cut at k, which drops the last ones: it
    kept a passage of a lower rank, or none."""
    first = evidence.first
    if first is None or evidence.value("fetched") != "yes" or evidence.value("prompted") != "no":
        return "no"
    fetched, kept = fetched_of(first), {item.text for item in first.passages}
    rank = rank_of(fetched, evidence.gold, evidence.slots)
    return "yes" if rank is not None and (not kept or any(one.text in kept for one in fetched[rank:])) else "no"


def foreign(evidence: "Evidence") -> str:
    """Whether the gold is in another language than the question."""
    texts = [passage.text for passage in evidence.gold if passage.text.strip()]
    return "yes" if texts and all(detect(text) != detect(evidence.sample.question) for text in texts) else "no"


def barrier(evidence: "Evidence") -> str | None:
    """Whether the language of the question is why its search does not find the gold: translated it does; without a
    translation, if questions in the language of the documents find theirs, and those in another do not."""
    if evidence.value("fetched") != "no" or foreign(evidence) == "no":
        return "no"
    response = evidence.response("search_translated")
    if response is not None:
        return evidence.has_gold(response.passages)
    return evidence.told_by("barrier", otherwise="yes" if evidence.shared.barrier else _MISSING)
