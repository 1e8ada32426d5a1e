"""A second reading of a wrong answer, which shares nothing with the metric that found it wrong: is it an error message,
is it right in other words, or right in another unit?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragstone.benchmarks.recorded.diagnosis import CORRECTNESS
from ragstone.diagnosis.interventions.parts import items_of, parts_of
from ragstone.diagnosis.interventions.prompts import mask_in
from ragstone.diagnosis.interventions.wordings import is_said
from ragstone.metrics._open_questions import stems
from ragstone.metrics._phrases import phrases
from ragstone.metrics.reference_core import beyond_question, is_bare, opposed
from ragstone.metrics.refusal import refusal_spans
from ragstone.systems._cues import stop_words
from ragstone.text import find_answer, words
from ragstone.text.folding import fold, fold_characters
from ragstone.text.measures import in_foreign_money, same_in_other_form
from ragstone.text.notation import beside_quantities
from ragstone.text.quoting import find_quote
from ragstone.types import NO_ANSWER, Passage, Record

if TYPE_CHECKING:
    from ragstone.diagnosis.interventions.evidence import Evidence

_LONGEST_MESSAGE = 400  # characters; a longer answer says more than that something failed
_NOTHING = ("none", "null", "nan", "undefined", "nil")
_STRINGS = ("answer_match", "exact_match")
_CLAUSE = 80  # characters of an answer that says nothing else
_SURE = 0.8


def is_error_message(record: Record) -> bool:
    """Whether the answer of a record is empty, repeats the question (what a framework hands back whose last step said
    nothing), or is a message that something failed. What the question or a passage says, too, is no message."""
    response = record.response
    if response is None or response.finish_reason == NO_ANSWER:
        return False
    answer = response.answer.strip()
    if mask_in(answer, (record.case.sample.question,)):
        return False
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
    if reads_right(evidence, record):
        return "right"
    return "unit" if any(_in_other_form(evidence, name) for name in ("as_is", "gold_only")) else "no"


def reads_right(evidence: "Evidence", record: Record) -> bool:
    """Whether a judge, or the reference in other words, another order or another notation, say that an answer is right
    that a comparison of strings found wrong. Where a judge decided, there is no second reading."""
    gates, response, sample = evidence.gates, record.response, record.case.sample
    if response is None:
        return False
    scored = [name for name in CORRECTNESS if name in record.scores]
    if any(name not in _STRINGS for name in [name for name in gates if name in record.scores] or scored[:1]):
        return False
    if judged := [record.scores[name].value for name in scored if name not in _STRINGS]:
        return all(value is not None and value >= _SURE for value in judged)
    if not evidence.slots or refusal_spans(response.answer):
        return False
    answer, known = response.answer, tuple(f"{item.title}\n{item.text}" for item in evidence.gold)
    return all(any(_is_said(alias, answer, sample.question, known) for alias in slot) for slot in evidence.slots)


def _is_said(alias: str, answer: str, question: str, known: tuple[str, ...]) -> bool:
    """Whether an answer says a reference, or each part of one that lists several; of each what it says beyond the
    question is enough."""
    if len(answer) < _CLAUSE and opposed(alias, answer):
        return False
    if not alias.strip() or is_said(alias, answer, question, known):
        return bool(alias.strip())

    def said(item: str) -> bool:
        return (
            is_said(item, answer, question, known)
            or _has_core(item, answer, question, known)
            or is_bare(item, answer, question)
        )

    lists = ((alias,), parts_of(alias), items_of(alias))
    return any(items and all(map(said, items)) for items in lists)


def _has_core(alias: str, answer: str, question: str, known: tuple[str, ...]) -> bool:
    """Whether an answer says what a reference says beyond its question: of "the kilns are loaded by Ines Harrow" the
    name."""
    found = beyond_question(alias, question)
    if not found or opposed(alias, answer):
        return False
    # Of "four years" the four: any other count has it, so nothing but the question's words may stand beside it.
    if fold(found).text.isdecimal() and not stems(beside_quantities(answer)) <= stems(question) | stop_words():
        return False
    return is_said(found, answer, question, known)


def _in_other_form(evidence: "Evidence", condition: str) -> bool:
    """Whether the answer under a condition is wrong, and states each part of the reference with a number in another
    form, and every other part as it is."""
    response = evidence.response(condition)
    if response is None or evidence.outcome(condition) != "wrong":
        return False
    lacking = [slot for slot in evidence.slots if not any(find_answer(alias, response.answer) for alias in slot)]
    return bool(lacking) and all(
        any(_other_form(alias, response.answer, evidence.gold) for alias in slot) for slot in lacking
    )


def _other_form(reference: str, answer: str, gold: Sequence[Passage]) -> bool:
    """Whether the quantity of a reference stands in the answer in another form; of a list some, and the others as they
    are."""
    changed = [part for part in parts_of(reference, gold) or (reference,) if not find_answer(part, answer)]
    known = [one.text for one in gold]
    return bool(changed) and all(
        same_in_other_form(part, answer) or in_foreign_money(part, answer, known) for part in changed
    )


def claims_of(answer: str, known: Sequence[str]) -> set[str]:
    """The words by which an answer says something that neither the question nor a passage says; none in a refusal."""
    if refusal_spans(answer):
        return set()
    said = {word for text in known for word in words(text)}
    return {*words(answer)} - said - stop_words()
