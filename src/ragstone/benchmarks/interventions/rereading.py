"""A second reading of a wrong answer, which shares nothing with the metric that found it wrong: is it an error message,
is it right in other words, or right in another unit?"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragstone.benchmarks.interventions.parts import parts_of
from ragstone.benchmarks.recorded.diagnosis import CORRECTNESS
from ragstone.metrics._phrases import phrases
from ragstone.metrics.answer_match import is_denied
from ragstone.metrics.refusal import refusal_spans
from ragstone.systems._cues import stop_words
from ragstone.text import find_answer, words
from ragstone.text.folding import fold_characters
from ragstone.text.measures import same_in_other_form
from ragstone.text.quoting import find_quote
from ragstone.types import NO_ANSWER, Record, Response

if TYPE_CHECKING:
    from ragstone.benchmarks.interventions.evidence import Evidence

_LONGEST_MESSAGE = 400  # characters; a longer answer says more than that something failed
_NOTHING = ("none", "null", "nan", "undefined", "nil")
_STRINGS = ("answer_match", "exact_match")
_SURE = 0.8
_LONGEST_NAME = 8  # words of a reference whose order does not matter
_SMALL_WORDS = frozenset(("the", "a", "an", "of", "的", "之"))
_AND = frozenset(("and", "as", "well", "和", "与", "及", "以及"))
# Where these stand, the order of the words says who did what, or what comes first.
_ORDERED = re.compile(
    r"\b(?:to|from|than|over|before|after|versus|vs|beat|defeated|not|no|without)\b|\d\s*[-:–/]\s*\d|[比至到从被胜不无未]"
)


def is_error_message(record: Record) -> bool:
    """Whether the answer of a record is empty, repeats the question (what a framework hands back whose last step said
    nothing), or is a message that something failed. What the question or a passage says, too, is no message."""
    response = record.response
    if response is None or response.finish_reason == NO_ANSWER:
        return False
    answer = response.answer.strip()
    if not any(map(str.isalnum, answer)) or answer.strip("\"'` .").lower() in _NOTHING:
        return True
    if answer == record.case.sample.question.strip():
        return True
    folded = fold_characters(answer).text
    if len(folded) > _LONGEST_MESSAGE:
        return False
    found = next((match for language in ("en", "zh") if (match := phrases(f"failure.{language}").search(folded))), None)
    if found is None:
        return False
    sample = record.case.sample
    known = [sample.question, *(item.text for item in (*sample.passages, *response.passages))]
    return not any(find_quote(found.group(), text) for text in known)


def reread(evidence: "Evidence") -> str:
    """Whether the answer as is is right by a second reading ("right"), or states the value in another unit, scale or
    number format, it or the one from the gold alone ("unit"); else "no"."""
    if evidence.value("as_is") != "wrong":
        return "unit" if _in_other_form(evidence, "gold_only") else "no"
    record = evidence.records["as_is"]
    if record.response is not None and _is_right(record, record.response, evidence.gates):
        return "right"
    return "unit" if any(_in_other_form(evidence, name) for name in ("as_is", "gold_only")) else "no"


def _is_right(record: Record, response: Response, gates: Mapping[str, float]) -> bool:
    """Whether a judge, or the words of the reference in any order, say that an answer is right that a comparison of
    strings found wrong. Where a judge decided, there is no second reading."""
    known = [name for name in CORRECTNESS if name in record.scores]
    if any(name not in _STRINGS for name in [name for name in gates if name in record.scores] or known[:1]):
        return False
    if judged := [record.scores[name].value for name in known if name not in _STRINGS]:
        return all(value is not None and value >= _SURE for value in judged)
    slots, answer = record.case.sample.references, response.answer
    return (
        bool(slots) and not refusal_spans(answer) and all(any(_says(alias, answer) for alias in slot) for slot in slots)
    )


def _says(alias: str, answer: str) -> bool:
    """Whether an answer has all words of a name next to each other, in whatever order: Lind, Anna."""
    if any(not is_denied(answer, *span) for span in find_answer(alias, answer)):
        return True
    sought, said = _content(alias), _content(answer)
    if not _AND.isdisjoint(sought):
        sought, said = ([word for word in found if word not in _AND] for found in (sought, said))
    size = len(sought)
    if not 1 < size <= _LONGEST_NAME or _ORDERED.search(fold_characters(alias).text):
        return False
    start = next((at for at in range(len(said) - size + 1) if sorted(said[at : at + size]) == sorted(sought)), None)
    return start is not None and not _ORDERED.search(" ".join(said[max(0, start - 2) : start]))


def _content(text: str) -> list[str]:
    return [word for word in words(text) if word not in _SMALL_WORDS]


def _in_other_form(evidence: "Evidence", condition: str) -> bool:
    """Whether the answer under a condition is wrong, and states each part of the reference with a number in another
    form, and every other part as it is."""
    response = evidence.response(condition)
    if response is None or evidence.outcome(condition) != "wrong":
        return False
    lacking = [slot for slot in evidence.slots if not any(find_answer(alias, response.answer) for alias in slot)]
    return bool(lacking) and all(any(_other_form(alias, response.answer) for alias in slot) for slot in lacking)


def _other_form(reference: str, answer: str) -> bool:
    """Whether the quantity of a reference stands in the answer in another form; of a list some, and the others as they
    are."""
    changed = [part for part in parts_of(reference) or (reference,) if not find_answer(part, answer)]
    return bool(changed) and all(same_in_other_form(part, answer) for part in changed)


def claims_of(answer: str, known: Sequence[str]) -> set[str]:
    """The words by which an answer says something that neither the question nor a passage says; none in a refusal."""
    if refusal_spans(answer):
        return set()
    said = {word for text in known for word in words(text)}
    return {*words(answer)} - said - stop_words()
