"""A second reading of a wrong answer, which shares nothing with the metric that found it wrong: is it right in other
words, or in another unit?"""

from collections.abc import Mapping, Sequence

from ragstone.benchmarks.recorded.diagnosis import CORRECTNESS
from ragstone.diagnosis.interventions.wordings import is_said, items_of, parts_of
from ragstone.metrics._open_questions import stems
from ragstone.metrics._paraphrase import is_long
from ragstone.metrics.reference_core import beyond_question, is_bare, is_bare_quantity, opposed
from ragstone.metrics.refusal import refusal_spans
from ragstone.systems._cues import stop_words
from ragstone.text import find_answer
from ragstone.text.folding import fold
from ragstone.text.measures import in_foreign_money, same_in_other_form
from ragstone.text.notation import beside_quantities
from ragstone.types import Passage, Record

_STRINGS = ("answer_match", "exact_match")
_CLAUSE = 80  # characters of an answer that says nothing else
_SURE = 0.8


def reads_right(record: Record, gates: Mapping[str, float], gold: Sequence[Passage]) -> bool:
    """Whether a judge, or the reference in other words, another order or another notation, say that an answer is right
    that a comparison of strings found wrong. Where a judge decided, there is no second reading."""
    response, sample = record.response, record.case.sample
    if response is None:
        return False
    scored = [name for name in CORRECTNESS if name in record.scores]
    if any(name not in _STRINGS for name in [name for name in gates if name in record.scores] or scored[:1]):
        return False
    if judged := [record.scores[name].value for name in scored if name not in _STRINGS]:
        return all(value is not None and value >= _SURE for value in judged)
    if not sample.references or refusal_spans(response.answer):
        return False
    answer, known = response.answer, tuple(f"{item.title}\n{item.text}" for item in gold)
    return all(any(_is_said(alias, answer, sample.question, known) for alias in slot) for slot in sample.references)


def is_unsure(record: Record) -> bool:
    """Whether the comparison of strings says that it cannot tell."""
    return any(name in record.scores and record.scores[name].status == "unsure" for name in _STRINGS)


def has_long_reference(record: Record) -> bool:
    """Whether a reference is too long for a second reading as well."""
    sample = record.case.sample
    return any(is_long(alias, sample.question) for slot in sample.references for alias in slot)


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
            or is_bare_quantity(item, answer, question)
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


def in_other_form(answer: str, slots: Sequence[Sequence[str]], gold: Sequence[Passage]) -> bool:
    """Whether an answer states each part of the reference with a number in another form, and every other part as it
    is."""
    lacking = [slot for slot in slots if not any(find_answer(alias, answer) for alias in slot)]
    return bool(lacking) and all(any(_other_form(alias, answer, gold) for alias in slot) for slot in lacking)


def _other_form(reference: str, answer: str, gold: Sequence[Passage]) -> bool:
    """Whether the quantity of a reference stands in the answer in another form; of a list some, and the others as they
    are."""
    changed = [part for part in parts_of(reference, gold) or (reference,) if not find_answer(part, answer)]
    known = [one.text for one in gold]
    return bool(changed) and all(
        same_in_other_form(part, answer) or in_foreign_money(part, answer, known) for part in changed
    )
