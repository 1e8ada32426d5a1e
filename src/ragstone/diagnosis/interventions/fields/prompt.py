"""What the system makes of the gold in its prompt: whether it is there as a whole, at which place, in which chunks, and
beside which other passages."""

from collections.abc import Mapping, Sequence

from ragstone.analysis.gold_passages import evidence_of, is_split, pieces
from ragstone.diagnosis.interventions.conditions import SEARCHES, rivals
from ragstone.diagnosis.interventions.index import is_old
from ragstone.diagnosis.interventions.observations import MISSING, Observations
from ragstone.diagnosis.interventions.placement import stood
from ragstone.diagnosis.interventions.question import (
    FOUND_BY_ITSELF,
    are_labels,
    fetched_of,
    handed_over,
    prompt_of,
    whole,
)
from ragstone.diagnosis.interventions.rows import rows_of
from ragstone.metrics.rank import document_of
from ragstone.text import estimate_tokens, find_answer, sentences
from ragstone.text.content_words import content_words, words_in
from ragstone.types import Passage

ORDINARY = 330
"""Tokens of a chunk of ordinary length: those of `rag(…)` and of MIRAGE."""
_OUTCOMES: Mapping[str, str] = {"right": "right", "wrong": "wrong", "refused": "wrong"}
_WRONG = ("wrong", "refused")
_CUT_OFF = ("not_in_prompt", "part_in_prompt")  # why a condition is withdrawn that did not reach the prompt as a whole


def added(observed: Observations) -> str | None:
    outcome = observed.settled("gold_added")
    return observed.told_by("added") if outcome is None else _OUTCOMES.get(outcome, MISSING)


def alone(observed: Observations) -> str | None:
    return observed.told_by("alone") if (outcome := observed.settled("gold_only")) is None else outcome


def indexed(observed: Observations) -> str | None:
    return observed.told_by("indexed") if (outcome := observed.told("indexed_only")) is None else outcome


def dated(observed: Observations) -> str:
    """Whether the index has a sentence of the gold with another value, about the same."""
    return "yes" if _has_old(observed, observed.question.indexed) else "no"


def _has_old(observed: Observations, passages: Sequence[Passage]) -> bool:
    """Whether a passage has a sentence of the gold with another value, about the same."""
    sought = [one for item in observed.gold for one in evidence_of(item, observed.slots)]
    return any(is_old(item, one) for item in passages for one in sought)


def _has_other_answer(observed: Observations, answer: str, passages: Sequence[Passage]) -> bool:
    """Whether a passage has a sentence of the gold with another value, or one of another document that states the
    answer given and is about what the gold's is about: has half of the words of the question that stand there. Another
    sentence, however much of the question stands around it, contradicts nothing."""
    if _has_old(observed, passages):
        return True
    asked, language = content_words(observed.sample.question, observed.sample.language), observed.sample.language
    said = content_words(answer, language) - asked
    about = [words for item in observed.gold for one in evidence_of(item, observed.slots)
             if (words := words_in(one.text, asked, language))]  # fmt: skip
    own = {document_of(item.id, ()) for item in observed.gold}
    stating = [part for item in passages if document_of(item.id, ()) not in own for part in sentences(item.text)
               if said and 2 * len(words_in(part, said, language)) >= len(said)]  # fmt: skip
    return any(2 * len(words_in(part, words, language)) >= len(words) for part in stating for words in about)


def contradicted(observed: Observations) -> str | None:
    """Whether passages of the prompt that state another answer misled: without them the answer is right, and from
    them alone it is wrong; not where it is right beside them once the gold that the prompt lacked is there."""
    first = observed.first
    if first is None or observed.outcome("as_is") not in _WRONG:
        return "no"
    if not _has_other_answer(observed, first.answer, rivals(observed.question, first)):
        return "no"
    if (added := observed.settled("gold_added")) == "right" or (added is None and observed.can("gold_added")):
        return None if added is None else "no"
    without, alone = observed.settled("without_rivals"), observed.told("indexed_only")
    if without not in (None, "right") or alone not in (None, "wrong"):
        return MISSING if MISSING in (without, alone) else "no"
    return observed.told_by("contradicted") if without is None or alone is None else "yes"


def moved(observed: Observations) -> str | None:
    """Whether the answer is right with the gold first or last; where the system puts passages into an order of its
    own, without those on either side of it, the one time and the other. Where the gold stood first or last as is,
    that answer tells."""
    ends = [observed.told(f"gold_{place}") or _stood(observed, place) for place in ("first", "last")]
    if "right" in ends or not {*ends} & {None, MISSING}:
        return "right" if "right" in ends else "wrong"
    sides = {observed.told(name) for name in ("only_before", "only_after")}
    if sides & {None, MISSING}:
        return observed.told_by("moved")
    if sides == {"right"} or ("right" in sides and observed.told("spaced") in ("wrong", "refused")):
        return "right"  # or right on the one side alone, and wrong between passages that say nothing
    return observed.told_by("moved", otherwise="wrong")


def _stood(observed: Observations, place: str) -> str | None:
    """The outcome as is where the gold stood at this place of the prompt."""
    first = observed.basis
    return observed.told("as_is") if first is not None and stood(observed.question, first, place) else None


def own(observed: Observations) -> str | None:
    """Whether the answer is right from the system's own chunks of the gold alone. Chunks that are the labelled texts
    are told by these, and those that were all of the prompt by the answer as is."""
    if (outcome := observed.settled("chunk_only")) is not None:
        return _OUTCOMES.get(outcome, MISSING)
    chunks, first = observed.own_chunks, observed.first
    if not chunks or first is None or observed.open_conditions("own"):
        return observed.told_by("own")
    if are_labels(observed.question, chunks):
        alone = observed.value("alone")
        return None if alone is None else _OUTCOMES.get(alone, MISSING)
    return _OUTCOMES.get(observed.told("as_is") or "", MISSING) if chunks == [*first.passages] else MISSING


def split(observed: Observations) -> str | None:
    """Whether chunk borders cut the gold: the index has it in parts and not as a whole. A search for its own words
    would return the whole one first; where none can be asked, what more passages bring tells."""
    first, gold, slots = observed.first, observed.gold, observed.slots
    if observed.sample.meta.get("in_index") == "cut":
        return "yes"  # the list of the index has the parts next to each other
    names = ("as_is", "k2", "k4", *SEARCHES)
    seen = [response for name in names if (response := observed.response(name)) is not None]
    if first is None or not is_split([item for one in seen for item in fetched_of(one)], gold, slots):
        return "no"
    response = observed.response("search_reference")
    if response is None:
        return observed.told_by("split", otherwise="yes")
    found = response.passages[:FOUND_BY_ITSELF]
    return "yes" if pieces(found[:1], gold, slots) and is_split(found, gold, slots) else "no"


def large(observed: Observations) -> str:
    """Whether a chunk of the system with the gold is so long that the answer may drown in it."""
    return "yes" if any(estimate_tokens(chunk.text) > ORDINARY for chunk in observed.own_chunks) else "no"


def sentence(observed: Observations) -> str | None:
    """Whether the answer is right from only the sentences with the answer."""
    outcome = observed.told("evidence_only")
    return observed.told_by("sentence") if outcome is None else _OUTCOMES.get(outcome, MISSING)


def rows_mixed(observed: Observations) -> str | None:
    """Whether the system mixes up the rows of a table: from the right row and the one whose value it gave, and nothing
    else, it gives the latter's again."""
    response, first = observed.response("two_rows"), observed.first
    found = None if first is None else rows_of(observed.question, first.answer)
    if response is None or found is None or observed.value("as_is") != "wrong":
        return observed.told_by("rows_mixed", otherwise="no") if observed.value("as_is") == "wrong" else "no"
    return "yes" if observed.outcome("two_rows") == "wrong" and find_answer(found.other, response.answer) else "no"


def cut(observed: Observations) -> str | None:
    """Whether the prompt is cut at its length: between long passages that say nothing the answer is wrong, or the gold
    is not in the prompt; between short ones it is right. Only what was handed over can be cut off."""
    first = observed.first
    if first is None or (observed.value("prompted") == "no" and observed.has_gold(handed_over(first)) != "yes"):
        return "no"
    short = observed.told("spaced")
    if "spaced" in observed.withdrawn or short not in (None, "right"):
        return "no"
    long = "wrong" if observed.withdrawn.get("padded") in _CUT_OFF else observed.settled("padded")
    if short is None or long is None:
        return observed.told_by("cut", otherwise="no")
    return "yes" if long in _WRONG else "no"


def clipped(observed: Observations) -> str:
    """Whether the recorded prompt has the beginning of the passage with the gold, and not its observed."""
    first = observed.first
    shown = None if first is None else prompt_of(first)
    if first is None or not shown or observed.value("prompted") != "no" or observed.value("fetched") != "yes":
        return "no"
    found = (*fetched_of(first), *handed_over(first))
    return observed.has_gold([whole(item, found) for item in shown])


def unread_end(observed: Observations) -> str | None:
    """Whether the end of a passage is not read: with the sentences that state the answer first it is answered rightly,
    with the same sentences last it is not."""
    if observed.value("as_is") not in _WRONG:
        return "no"
    outcome = observed.told("evidence_first")
    last = observed.settled("evidence_last")
    if outcome is None or (outcome == "right" and last is None):
        return observed.told_by("unread_end", otherwise="no")
    return "yes" if outcome == "right" and last in _WRONG else "no"
