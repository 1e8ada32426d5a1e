"""The parts of an answer that its reference gives in one line, "16 weeks and 10 weeks", and the sentences of a
passage that are about the question."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ragstone.benchmarks.interventions.gold import states
from ragstone.benchmarks.source_attribution import content_words
from ragstone.text import find_answer, sentences
from ragstone.text.measures import measures
from ragstone.text.quoting import find_quote
from ragstone.types import Passage

if TYPE_CHECKING:
    from ragstone.benchmarks.interventions.evidence import Evidence

_BETWEEN = re.compile(r",?\s+and\s+|\s*[;；、]\s*|以及|(?<=\w)[和与及](?=\w)", re.IGNORECASE)
_ABOUT = 0.5  # of the weight of the sentence that is most about a question
_SHORTEST = 2  # characters of a part: 共和国 has none


def parts_of(reference: str) -> tuple[str, ...]:
    """The parts of a reference that lists several; () if it is one."""
    found = tuple(part.strip() for part in _BETWEEN.split(reference))
    return found if len(found) > 1 and all(len(part) >= _SHORTEST for part in found) else ()


def stated_parts(slots: Sequence[Sequence[str]], answer: str) -> list[bool]:
    """For each part of the answer whether it is stated; the single slot of a reference that lists parts has these."""
    if len(slots) == 1:
        lists = [found for alias in slots[0] if (found := parts_of(alias))]
        slots = [(part,) for part in lists[0]] if lists else slots
    return [any(alias.strip() and find_answer(alias, answer) for alias in slot) for slot in slots]


@lru_cache(maxsize=1024)
def _nearest(question: str, text: str) -> tuple[str, ...]:
    asked = content_words(question, "")
    found = [(sentence, asked & content_words(sentence, "")) for sentence in sentences(text)]
    frequency = Counter(word for _, shared in found for word in shared)
    weights = [sum(1 / frequency[word] for word in shared) for _, shared in found]
    best = max(weights, default=0.0)
    return tuple(one for (one, _), weight in zip(found, weights, strict=True) if weight >= _ABOUT * best > 0)


def _sentences(question: str, passages: Sequence[Passage]) -> list[str]:
    """The sentences of these passages that have most of the question's rarer words."""
    return [sentence for passage in passages for sentence in _nearest(question, passage.text)]


def in_doubt(evidence: "Evidence") -> str:
    """Whether the gold passages state the answer that was given, but no part of the reference: they have it word for
    word, or their sentences about the question have its figures."""
    response, gold, asked = evidence.response("gold_only"), evidence.gold, evidence.sample.question
    if response is None or not gold or any(states(item, evidence.slots) for item in gold):
        return "no"
    if any(any(stated_parts(evidence.slots, f"{item.title}\n{item.text}")) for item in gold):
        return "no"
    answer = response.answer.strip().rstrip(".。")
    if answer and any(find_quote(answer, item.text) for item in gold):
        return "yes"
    said = {(one.value, one.unit) for one in measures(answer)} - {(one.value, one.unit) for one in measures(asked)}
    near = {(one.value, one.unit) for text in _sentences(asked, gold) for one in measures(text)}
    return "yes" if said and said <= near else "no"
