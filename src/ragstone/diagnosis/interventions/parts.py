"""The parts of an answer that its reference gives in one line, "16 weeks and 10 weeks", and the sentences of a
passage that are about the question."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ragstone.analysis.gold_passages import states
from ragstone.diagnosis.interventions.doubting import belongs_elsewhere
from ragstone.diagnosis.interventions.wordings import is_said
from ragstone.text import sentences
from ragstone.text.content_words import content_words
from ragstone.text.measures import measures
from ragstone.text.quoting import find_quote
from ragstone.types import Passage

if TYPE_CHECKING:
    from ragstone.diagnosis.interventions.evidence import Evidence

_BETWEEN = re.compile(r",?\s+and\s+|\s*[;；、]\s*|以及|(?<=\w)[和与及](?=\w)", re.IGNORECASE)
_COMMA = re.compile(r",\s+(?:and\s+)?|，")
_CLAUSES = re.compile(r"[,，;；]|\band\b|以及")
_ABOUT = 0.5  # of the weight of the sentence that is most about a question
_SHORTEST = 2  # characters of a part: 共和国 has none


def parts_of(reference: str, gold: Sequence[Passage] = ()) -> tuple[str, ...]:
    """The parts of a reference that lists several; () if it is one. A comma stands between parts only where the gold
    passages state each of them and nowhere all together: not in a date, or an address."""
    found = tuple(part.strip() for part in _BETWEEN.split(reference))
    if len(found) < 2 and gold and not any(states(item, [[reference]]) for item in gold):
        listed = items_of(reference)
        found = listed if all(any(states(item, [[part]]) for item in gold) for part in listed) else found
    return found if len(found) > 1 and all(len(part) >= _SHORTEST for part in found) else ()


def items_of(reference: str) -> tuple[str, ...]:
    """What stands between the commas of a reference."""
    return tuple(part.strip() for part in _COMMA.split(reference) if part.strip())


def stated_parts(
    slots: Sequence[Sequence[str]], answer: str, question: str = "", gold: Sequence[Passage] = ()
) -> list[bool]:
    """For each part of the answer whether it is stated, in whatever notation; the single slot of a reference that lists
    parts has these."""
    known = tuple(f"{item.title}\n{item.text}" for item in gold)
    if len(slots) == 1 and not any(is_said(alias, answer, question, known) for alias in slots[0] if alias.strip()):
        lists = [found for alias in slots[0] if (found := parts_of(alias, gold))]
        slots = [(part,) for part in lists[0]] if lists else slots
    return [any(alias.strip() and is_said(alias, answer, question, known) for alias in slot) for slot in slots]


@lru_cache(maxsize=1024)
def _nearest(question: str, text: str) -> tuple[str, ...]:
    asked = content_words(question, "")
    found = [(sentence, asked & content_words(sentence, "")) for sentence in sentences(text)]
    frequency = Counter(word for _, shared in found for word in shared)
    weights = [sum(1 / frequency[word] for word in shared) for _, shared in found]
    best = max(weights, default=0.0)
    return tuple(one for (one, _), weight in zip(found, weights, strict=True) if weight >= _ABOUT * best > 0)


def _sentences(question: str, passages: Sequence[Passage]) -> list[str]:
    """The sentences of these passages that have most of the rarer words of the question, or of a clause of it."""
    clauses = dict.fromkeys((question, *_CLAUSES.split(question)))
    return [sentence for passage in passages for clause in clauses for sentence in _nearest(clause, passage.text)]


def in_doubt(evidence: "Evidence") -> str | None:
    """Whether the gold passages state what most answers that were given with them say, but no part of the reference; or
    state the reference where they answer another question."""
    gold, answers, asked = evidence.gold, evidence.informed(), evidence.sample.question
    if evidence.value("as_is") != "wrong" or not gold:
        return "no"
    if any(states(item, evidence.slots) for item in gold):
        return "no" if evidence.value("reread") == "right" else belongs_elsewhere(evidence)
    if any(any(stated_parts(evidence.slots, f"{item.title}\n{item.text}", asked, gold)) for item in gold):
        return "no"
    if evidence.response("gold_only") is None and evidence.open_conditions("in_doubt"):
        return None
    return "yes" if 2 * sum(_is_stated(answer, evidence) for answer in answers) > len(answers) else "no"


def _is_stated(answer: str, evidence: "Evidence") -> bool:
    """Whether the gold passages state an answer: word for word, or their sentences about the question have its
    figures."""
    gold, asked, plain = evidence.gold, evidence.sample.question, answer.strip().rstrip(".。")
    if plain and any(find_quote(plain, item.text) for item in gold):
        return True
    said = {(one.value, one.unit) for one in measures(answer)} - {(one.value, one.unit) for one in measures(asked)}
    near = {(one.value, one.unit) for text in _sentences(asked, gold) for one in measures(text)}
    near |= {(value, unit.partition("/")[0]) for value, unit in near}  # 75 kilometres an hour are said as 75 kilometres
    return bool(said) and said <= near


def partial(evidence: "Evidence") -> str:
    """Whether most answers that were given with the gold have some parts of the reference and lack others."""
    slots, question = evidence.slots, evidence.sample.question
    found = [stated_parts(slots, answer, question, evidence.gold) for answer in evidence.informed()]
    return "yes" if 2 * sum(any(one) and not all(one) for one in found) > len(found) else "no"
