"""Cases that are decided before the judge is asked: the metric does not apply, or its score is already known."""

from typing import Literal, Protocol

from ragstone.metrics._passages import NO_PASSAGES, NOTHING_RETRIEVED, recorded, retrieved
from ragstone.metrics._references import NO_REFERENCE, filled
from ragstone.metrics.answerable import UNANSWERABLE, answerable, refusal_expected
from ragstone.types import Case, Need, Response, Score

_NO_ANSWER = "the answer is empty"


class Judged(Protocol):
    """A metric that asks a judge. `empty`: the score of an empty answer (None: not applicable; "ask": the judge
    decides). `of_retrieval`: 0 if nothing was retrieved. `only_answerable`: not applicable to a question that cannot be
    answered. `scores_refusals`: the metric also scores cases in which only a refusal is correct."""

    @property
    def needs(self) -> frozenset[Need]: ...
    @property
    def empty(self) -> float | Literal["ask"] | None: ...
    @property
    def of_retrieval(self) -> bool: ...
    @property
    def only_answerable(self) -> bool: ...
    @property
    def scores_refusals(self) -> bool: ...


def without_asking(metric: Judged, case: Case, response: Response) -> Score | None:
    """The score of a sample without asking the judge; None if the judge has to be asked."""
    if metric.only_answerable and answerable(case) is False:
        return Score.not_applicable(UNANSWERABLE)
    if Need.REFERENCES in metric.needs and refusal_expected(case):
        if not metric.scores_refusals:
            return Score.not_applicable(UNANSWERABLE)
    elif Need.REFERENCES in metric.needs and not filled(case.sample):
        return Score.not_applicable(NO_REFERENCE)
    if Need.PASSAGES in metric.needs and not recorded(case, response):
        return Score.not_applicable(NO_PASSAGES)
    if metric.of_retrieval and not retrieved(case, response):
        return Score.of(0.0, reason=NOTHING_RETRIEVED)
    if Need.ANSWER in metric.needs and metric.empty != "ask" and not response.answer.strip():
        return Score.not_applicable(_NO_ANSWER) if metric.empty is None else Score.of(metric.empty, reason=_NO_ANSWER)
    return None
