"""Where searches and the stages behind them lost the gold: what is in the index, what was fetched, whether copies took
its place, whether it is kept out of every search or of that of the system, whether a search stops early or does not see
words of the question, and whether the question is in another language than the documents."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ragstone.analysis.gold_passages import holds, rank_of
from ragstone.analysis.statements import letters
from ragstone.diagnosis.interventions.conditions import CONDITIONS
from ragstone.diagnosis.interventions.observations import MISSING, Observations
from ragstone.diagnosis.interventions.question import (
    ASKED,
    FOUND_BY_ITSELF,
    REFERENCE,
    fetched_of,
    handed_over,
    is_same_query,
    lost_gold,
    prompt_of,
    queries_of,
    rewritten_of,
    unread_prompt,
)
from ragstone.diagnosis.interventions.searches import control_of
from ragstone.responses.stages import passages_at
from ragstone.text import detect, sentences
from ragstone.text.content_words import content_words, words_in
from ragstone.types import Passage, Response

_SAME = 0.9  # share of the letters of a passage that stand in another, whole sentence by whole sentence
_ADDRESS = re.compile(r"(?:\bhttps?://|\bwww\.)[^\s)\]>）】]+|[^\s(\[<（【]*[\w-]\.\w{2,5}[?#]\w[^\s)\]>）】]*")
_SIMILAR_SIZE = 0.6  # a short passage within a long one is no copy of it
_TELLING = 2  # words of the question that a passage has, by which every search of words returns it at some rank
_MANY = 3  # passages in the same order that are no accident


def in_index(observed: Observations) -> str | None:
    if not observed.gold:
        return MISSING
    seen = [response for name in CONDITIONS if CONDITIONS[name].takes in ("", "repeat", "k", "retrieve")
            and (response := observed.response(name)) is not None]  # fmt: skip
    if any(observed.has_gold(fetched_of(response)) == "yes" for response in seen):
        return "yes"
    noted = observed.sample.meta.get("in_index")  # as the list of the index tells
    if noted is not None:
        return "yes" if noted == "yes" or (noted == "part" and not observed.needs_every) else "no"
    return observed.told_by("in_index")


def fetched(observed: Observations) -> str:
    first = observed.first
    if first is None or not (first.passages or first.empty_retrieval or first.steps):
        return MISSING
    return observed.has_gold(fetched_of(first))


def prompted(observed: Observations) -> str:
    if fetched(observed) == MISSING or observed.first is None:
        return MISSING
    if text := unread_prompt(observed.first):
        return "yes" if observed.has_gold([Passage("prompt", text)]) == "yes" else MISSING
    return observed.has_gold(prompt_of(observed.first))


def asked(observed: Observations) -> str | None:
    response = observed.response("search_asked")
    return observed.told_by("asked") if response is None else observed.has_gold(response.passages)


def reworked(observed: Observations) -> str:
    """Whether the system recorded that it searched for something else than the question; where it recorded no query,
    whether it is shown to by other questions."""
    first = observed.first
    if first is None or (not queries_of(first) and not observed.shared.rewrites):
        return "no"
    return "yes" if not queries_of(first) or rewritten_of(first, observed.sample.question) else "no"


def ignores_words(observed: Observations) -> bool | None:
    """Whether the system finds the same with other words in the question, though its search finds the gold for the
    question as asked, and something else with these words; None where that was not asked."""
    first, asked = observed.first, observed.response(ASKED)
    alone, after = observed.response("search_swapped"), observed.response("swapped")
    if first is None or asked is None or alone is None or after is None or observed.has_gold(asked.passages) != "yes":
        return None
    return _is_same(first, after) and _texts(alone) != _texts(asked)


def lowered(observed: Observations) -> str | None:
    """Whether the question as asked ranks the gold where the prompt has room for it, unlike the rewritten one."""
    first = observed.first
    if first is None or fetched(observed) != "yes" or prompted(observed) != "no":
        return "no"
    ranked = passages_at(first, "fetch") or ()
    if not rewritten_of(first, observed.sample.question) or observed.has_gold(ranked[: len(first.passages)]) == "yes":
        return "no"
    response = observed.response("search_asked")
    if response is None:
        return observed.told_by("lowered")
    return observed.has_gold(response.passages[: len(first.passages)])


def by_reference(observed: Observations) -> str | None:
    """Whether the gold that the prompt lacks is found by its own words, with the reference or without: the words of
    a reference may lead elsewhere."""
    response, first = observed.response("search_reference"), observed.first
    if response is None or first is None:
        return observed.told_by("by_reference")
    sought = lost_gold(observed.question, first)
    if sought is None:
        return observed.has_gold(response.passages)
    own, few = observed.response("search_own"), max(FOUND_BY_ITSELF, len(first.passages))
    found = (*response.passages[:few], *(() if own is None else own.passages[:few]))
    return "yes" if any(holds(item, sought, observed.slots) for item in found) else "no"


def reach(observed: Observations) -> str | None:
    """Whether the gold is in the prompt when the system takes twice or four times as many passages."""
    prompts = [response.passages for name in ("k2", "k4") if (response := observed.response(name)) is not None]
    if any(observed.has_gold(passages) == "yes" for passages in prompts):
        return "yes"
    if prompts or observed.open_conditions("reach"):
        return observed.told_by("reach", otherwise="no")
    first = observed.first  # k cannot be changed: what was fetched beyond the prompt tells
    if first is None or fetched(observed) != "yes" or observed.value("left_out") == "yes":
        return MISSING
    rank = rank_of(fetched_of(first), observed.gold, observed.slots)
    return "yes" if rank is not None and rank <= 4 * len(first.passages) else "no"


def crowded(observed: Observations) -> str | None:
    """Whether copies took the place of the gold: in the ranking without copies it stands where the prompt has room."""
    first = observed.first
    if first is None or observed.value("prompted") != "no" or not observed.gold:
        return "no"
    ranked = (*handed_over(first), *fetched_of(first)) if observed.value("fetched") == "yes" else ()
    if len(distinct(handed_over(first))) == len(handed_over(first)):
        return "no"
    deeper = [observed.response(name) for name in ("search_deep", "k4", "k2")]
    rankings = [ranked] if ranked else [fetched_of(response) for response in deeper if response is not None]
    if any(observed.has_gold(distinct(ranking)[: len(first.passages)]) == "yes" for ranking in rankings):
        return "yes"
    return "no" if rankings else observed.told_by("crowded")


def distinct(passages: Iterable[Passage]) -> list[Passage]:
    """The passages without those that say again what an earlier one says."""
    found: list[Passage] = []
    for passage in passages:
        if not any(_is_copy(passage.text, other.text) for other in found):
            found.append(passage)
    return found


@lru_cache(maxsize=1024)
def _is_copy(one: str, other: str) -> bool:
    """Whether two texts are the same but for punctuation, spacing, case, the addresses under which they were found, and
    a tenth of whole sentences."""
    if one == other:
        return True
    one, other = (_ADDRESS.sub(" ", text) for text in (one, other))
    short, long = sorted((letters(one), letters(other)), key=len)
    if not short or len(short) < _SIMILAR_SIZE * len(long):
        return False
    if short in long:
        return True
    shorter = one if len(letters(one)) == len(short) else other
    parts = [letters(part) for part in sentences(shorter)]
    return sum(len(part) for part in parts if part in long) >= _SAME * len(short)


def excluded(observed: Observations) -> str | None:
    """Whether no search returns the gold that the prompt lacks, at any depth and for its own words, though another
    passage is found by its own."""
    first, own, control = observed.first, observed.response("search_own"), observed.response("search_control")
    if first is None or own is None or control is None:
        return observed.told_by("excluded")
    sought, other = lost_gold(observed.question, first), control_of(first)
    if sought is None or other is None:
        return MISSING
    if not _found(other, control.passages[:1], ()) or _found(other, own.passages[:1], ()):
        return MISSING  # a search that does not put a passage first for its own words alone is broken
    searched = [own, *(found for name in ("search_deep", "search_reference") if (found := observed.response(name)))]
    return "no" if any(_found(sought, found.passages, observed.slots) for found in searched) else "yes"


def _found(sought: Passage, passages: Sequence[Passage], slots: Sequence[Sequence[str]]) -> bool:
    return any(holds(passage, sought, slots) for passage in passages)


def narrowed(observed: Observations) -> str | None:
    """Whether the search finds the gold for the very query of which the system's own call of it did not."""
    first = observed.first
    asked = observed.sample.question
    if first is None or observed.value("fetched") != "no" or rewritten_of(first, asked):
        return "no"
    step = next((step for step in first.steps if step.name == "fetch"), None)
    sought = None if step is None else step.input
    if not (is_same_query(sought, asked) if isinstance(sought, str) else queries_of(first)):
        return "no"
    found = observed.value("asked")
    return found if found in (None, "yes") else "no"


def curtailed(observed: Observations) -> str | None:
    """Whether the search stops before its list is full, at a score: it returns fewer passages than for other words and
    leaves out the gold, which has words of the question, and finds it for the question and the gold's words together.
    A search that wants every word would find less with more words; a filter would not find it at all; and one that is
    broken returns few passages whatever it is asked for."""
    first = observed.first
    if first is None or observed.value("fetched") != "no":
        return "no"
    sought = lost_gold(observed.question, first)
    asked = content_words(observed.sample.question, "")
    if sought is None or len(words_in(f"{sought.title}\n{sought.text}", asked, "")) < _TELLING:
        return "no"
    deep, joined = observed.response("search_deep"), observed.response("search_joined")
    if deep is None or joined is None:
        return observed.told_by("curtailed", otherwise="no")
    fuller = len(deep.passages) < min(len(joined.passages), 4 * len(fetched_of(first)) or len(joined.passages))
    if not fuller or _found(sought, deep.passages, observed.slots):
        return "no"
    return "yes" if _found(sought, joined.passages, observed.slots) else "no"


def deaf(observed: Observations) -> str | None:
    """Whether the search does not see the words that tell what the question is about: with others in their place, which
    its index has, it returns the same passages in the same order, and other ones for other questions. A search that
    finds a passage by its own words sees them."""
    first = observed.first
    if first is None or observed.value("fetched") != "no":
        return "no"
    if observed.value("asked") == "yes":  # the search itself sees them, so it is the system that is asked
        ignores = ignores_words(observed)
        names = ("search_swapped", "swapped")
        if ignores is None and any(name not in observed.records and observed.can(name) for name in names):
            return None
        return "yes" if ignores and observed.shared.searches > 1 else "no"
    before, after = observed.response(ASKED), observed.response("search_swapped")
    if before is None or after is None:
        before, after = first, observed.response("swapped")
    if after is None:
        return observed.told_by("deaf", otherwise="no")
    control, found = control_of(first), observed.response("search_control")
    if "search_control" not in observed.records and observed.can("search_control"):
        return None
    if control is not None and found is not None and _found(control, found.passages[:1], ()):
        return "no"  # it sees such words
    same = _is_same(before, after)
    others = [_texts(one) for name in (REFERENCE, "search_control") if (one := observed.response(name)) is not None]
    varies = any(one[:_MANY] != _texts(after)[:_MANY] for one in others) if others else observed.shared.searches > 1
    return "yes" if same and varies else "no"


def _is_same(one: Response, other: Response) -> bool:
    """Whether two searches brought the same passages in the same order, and enough of them to be no accident."""
    return _texts(one) == _texts(other) and len(distinct(other.passages)) >= _MANY


def _texts(response: Response) -> list[str]:
    return [item.text for item in response.passages]


def demoted(observed: Observations) -> str | None:
    """Whether the gold was fetched at a rank that the prompt has room for, so that the reranker lost it; not where more
    passages bring it, and the reranker raises the gold of questions at least as often as it lowers it."""
    first = observed.first
    if first is None or observed.value("fetched") != "yes" or passages_at(first, "rerank") is None:
        return "no"
    fetched = fetched_of(first)
    if observed.has_gold(fetched[: len(first.passages) or len(fetched)]) != "yes":
        return "no"
    if observed.value("prompted") != "no" or not observed.shared.reranker_helps:
        return "yes"
    reach = observed.value("reach")
    return None if reach is None else "no" if reach == "yes" else "yes"


def reranked(observed: Observations) -> int:
    """1 where the reranker raised the gold, -1 where it lowered it or left it out, 0 otherwise."""
    first = observed.first
    after = None if first is None else passages_at(first, "rerank")
    if first is None or after is None or not observed.gold:
        return 0
    ranks = [rank_of(passages, observed.gold, observed.slots) for passages in (fetched_of(first), after)]
    if ranks[0] is None:
        return 0
    new = ranks[1] or max(len(after), ranks[0]) + (ranks[0] <= len(after))
    return (ranks[0] > new) - (ranks[0] < new)


def left_out(observed: Observations) -> str:
    """Whether something between search and prompt dropped the gold, and not a cut at k, which drops the last ones: it
    kept a passage of a lower rank, or none, or fewer than other prompts have, whatever k."""
    first = observed.first
    if first is None or observed.value("fetched") != "yes" or observed.value("prompted") != "no":
        return "no"
    fetched, kept = fetched_of(first), {item.text for item in first.passages}
    rank = rank_of(fetched, observed.gold, observed.slots)
    if rank is None:
        return "no"
    has_room = {"k2", "k4"} & {*observed.withdrawn} and len(first.passages) < min(rank, observed.shared.places)
    return "yes" if not kept or has_room or any(one.text in kept for one in fetched[rank:]) else "no"


def foreign(observed: Observations) -> str:
    """Whether the gold is in another language than the question."""
    texts = [passage.text for passage in observed.gold if passage.text.strip()]
    return "yes" if texts and all(detect(text) != detect(observed.sample.question) for text in texts) else "no"


def barrier(observed: Observations) -> str | None:
    """Whether the language of the question is why its search does not find the gold: translated it does; without a
    translation, if questions in the language of the documents find theirs, and those in another do not."""
    if observed.value("fetched") != "no" or foreign(observed) == "no":
        return "no"
    response = observed.response("search_translated")
    if response is not None:
        return observed.has_gold(response.passages)
    return observed.told_by("barrier", otherwise="yes" if observed.shared.barrier else MISSING)
