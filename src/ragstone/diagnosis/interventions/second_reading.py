"""A second reading of a wrong answer, which shares nothing with the metric that found it wrong: is it right in other
words, or in another unit?"""

import re
from collections.abc import Mapping, Sequence

from ragstone.analysis.reference_core import core
from ragstone.benchmarks.recorded.diagnosis import CORRECTNESS
from ragstone.diagnosis.interventions.wordings import is_said, items_of, parts_of
from ragstone.metrics._open_questions import stems
from ragstone.metrics.refusal import refusal_spans
from ragstone.systems._cues import stop_words
from ragstone.text import find_answer
from ragstone.text.folding import fold, fold_characters
from ragstone.text.measures import same_in_other_form
from ragstone.text.notation import beside_quantities
from ragstone.types import Passage, Record

_STRINGS = ("answer_match", "exact_match")
_SIDES = (
    re.compile(
        r"\b(?:at most|no more than|not more than|up to|maximum|less than|under|below)\b|[至最]多|不超过|以[内下]|之内"
    ),
    re.compile(
        r"\b(?:at least|no less than|not less than|minimum|more than|over|above)\b"
        r"|[至最]少|不少于|不低于|(?<!不)超过|以上"
    ),
    re.compile(r"\b(?:not|no|never|without|except|n't)\b|[不没无未非]"),
)
"""Words that bound a quantity from above, from below, and that deny."""

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


def _is_said(alias: str, answer: str, question: str, known: tuple[str, ...]) -> bool:
    """Whether an answer says a reference, or each part of one that lists several; of each what it says beyond the
    question is enough."""
    if not alias.strip() or is_said(alias, answer, question, known):
        return bool(alias.strip())

    def said(item: str) -> bool:
        return is_said(item, answer, question, known) or _has_core(item, answer, question, known)

    lists = ((alias,), parts_of(alias), items_of(alias))
    return any(items and all(map(said, items)) for items in lists)


def _has_core(alias: str, answer: str, question: str, known: tuple[str, ...]) -> bool:
    """Whether an answer says what a reference says beyond its question: of "the kilns are loaded by Ines Harrow" the
    name. Not where what is left out denies it, or the answer bounds it on the other side."""
    found = core(alias, question, closely=True)
    if not found or _SIDES[2].search(fold_characters(alias.replace(found, " ")).text):
        return False
    sides = [
        {n for n, side in enumerate(_SIDES[:2]) if side.search(fold_characters(one).text)} for one in (alias, answer)
    ]
    if sides[0] and sides[1] and sides[0].isdisjoint(sides[1]):
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
    return bool(changed) and all(same_in_other_form(part, answer) for part in changed)
