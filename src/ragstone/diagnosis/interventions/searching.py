"""What searches tell besides whether they found the gold: whether copies took its place, whether it is kept out of
every search or of that of the system, whether a search stops early or does not see words of the question, and whether
the question is in another language than the documents."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ragstone.analysis.gold_passages import holds, rank_of
from ragstone.analysis.statements import letters
from ragstone.diagnosis.interventions.question import (
    ASKED,
    REFERENCE,
    fetched_of,
    handed_over,
    is_same_query,
    lost_gold,
    queries_of,
    rewritten_of,
)
from ragstone.diagnosis.interventions.searched import control_of
from ragstone.responses.stages import passages_at
from ragstone.text import detect, sentences
from ragstone.text.content_words import content_words, words_in
from ragstone.types import Passage, Response

if TYPE_CHECKING:
    from ragstone.diagnosis.interventions.evidence import Evidence

_MISSING = "missing"
_SAME = 0.9  # share of the letters of a passage that stand in another, whole sentence by whole sentence
_SIMILAR_SIZE = 0.6  # a short passage within a long one is no copy of it


def crowded(evidence: "Evidence") -> str | None:
    """Whether copies took the place of the gold: in the ranking without copies it stands where the prompt has room."""
    first = evidence.first
    if first is None or evidence.value("prompted") != "no" or not evidence.gold:
        return "no"
    ranked = (*handed_over(first), *fetched_of(first)) if evidence.value("fetched") == "yes" else ()
    if len(distinct(handed_over(first))) == len(handed_over(first)):
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


def narrowed(evidence: "Evidence") -> str | None:
    """Whether the search finds the gold for the very query of which the system's own call of it did not."""
    first = evidence.first
    asked = evidence.sample.question
    if first is None or evidence.value("fetched") != "no" or rewritten_of(first, asked):
        return "no"
    step = next((step for step in first.steps if step.name == "fetch"), None)
    sought = None if step is None else step.input
    if not (is_same_query(sought, asked) if isinstance(sought, str) else queries_of(first)):
        return "no"
    found = evidence.value("asked")
    return found if found in (None, "yes") else "no"


_TELLING = 2  # words of the question that a passage has, by which every search of words returns it at some rank


def curtailed(evidence: "Evidence") -> str | None:
    """Whether the search stops before its list is full, at a score: it returns fewer passages than for other words and
    leaves out the gold, which has words of the question, and finds it for the question and the gold's words together.
    A search that wants every word would find less with more words; a filter would not find it at all; and one that is
    broken returns few passages whatever it is asked for."""
    first = evidence.first
    if first is None or evidence.value("fetched") != "no":
        return "no"
    sought = lost_gold(evidence.question, first)
    asked = content_words(evidence.sample.question, "")
    if sought is None or len(words_in(f"{sought.title}\n{sought.text}", asked, "")) < _TELLING:
        return "no"
    deep, joined = evidence.response("search_deep"), evidence.response("search_joined")
    if deep is None or joined is None:
        return evidence.told_by("curtailed", otherwise="no")
    fuller = len(deep.passages) < min(len(joined.passages), 4 * len(fetched_of(first)) or len(joined.passages))
    fuller = fuller and 2 * len(joined.passages) >= (evidence.records["search_joined"].case.query.k or 0)
    return "yes" if fuller and _found(sought, joined.passages, evidence.slots) else "no"


_MANY = 3  # passages in the same order that are no accident


def deaf(evidence: "Evidence") -> str | None:
    """Whether the search does not see the words that tell what the question is about: with others in their place, which
    its index has, it returns the same passages in the same order, and other ones for other questions. A search that
    finds a passage by its own words sees them."""
    first = evidence.first
    if first is None or evidence.value("fetched") != "no":
        return "no"
    before, after = evidence.response(ASKED), evidence.response("search_swapped")
    if before is None or after is None:
        before, after = first, evidence.response("swapped")
    if after is None:
        return evidence.told_by("deaf", otherwise="no")
    control, found = control_of(first), evidence.response("search_control")
    if found is None and evidence.can("search_control"):
        return None
    if control is not None and found is not None and _found(control, found.passages[:1], ()):
        return "no"  # it sees such words
    same = _texts(before) == _texts(after) and len(distinct(after.passages)) >= _MANY
    others = [_texts(one) for name in (REFERENCE, "search_control") if (one := evidence.response(name)) is not None]
    varies = any(one[:_MANY] != _texts(after)[:_MANY] for one in others) if others else evidence.shared.searches > 1
    return "yes" if same and varies else "no"


def _texts(response: Response) -> list[str]:
    return [item.text for item in response.passages]


def demoted(evidence: "Evidence") -> str | None:
    """Whether the gold was fetched at a rank that the prompt has room for, so that the reranker lost it; not where more
    passages bring it, and the reranker raises the gold of questions at least as often as it lowers it."""
    first = evidence.first
    if first is None or evidence.value("fetched") != "yes" or passages_at(first, "rerank") is None:
        return "no"
    fetched = fetched_of(first)
    if evidence.has_gold(fetched[: len(first.passages) or len(fetched)]) != "yes":
        return "no"
    if evidence.value("prompted") != "no" or not evidence.shared.reranker_helps:
        return "yes"
    reach = evidence.value("reach")
    return None if reach is None else "no" if reach == "yes" else "yes"


def reranked(evidence: "Evidence") -> int:
    """1 where the reranker raised the gold, -1 where it lowered it or left it out, 0 otherwise."""
    first = evidence.first
    after = None if first is None else passages_at(first, "rerank")
    if first is None or after is None or not evidence.gold:
        return 0
    ranks = [rank_of(passages, evidence.gold, evidence.slots) for passages in (fetched_of(first), after)]
    if ranks[0] is None:
        return 0
    new = ranks[1] or max(len(after), ranks[0]) + (ranks[0] <= len(after))
    return (ranks[0] > new) - (ranks[0] < new)


def left_out(evidence: "Evidence") -> str:
    """Whether something between search and prompt dropped the gold, and not a cut at k, which drops the last ones: it
    kept a passage of a lower rank, or none, or fewer than other prompts have, whatever k."""
    first = evidence.first
    if first is None or evidence.value("fetched") != "yes" or evidence.value("prompted") != "no":
        return "no"
    fetched, kept = fetched_of(first), {item.text for item in first.passages}
    rank = rank_of(fetched, evidence.gold, evidence.slots)
    if rank is None:
        return "no"
    has_room = {"k2", "k4"} & {*evidence.withdrawn} and len(first.passages) < min(rank, evidence.shared.places)
    return "yes" if not kept or has_room or any(one.text in kept for one in fetched[rank:]) else "no"


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
