"""How far an answer and the reference say the same, by claims."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._matrix import NO_REFERENCE_CLAIMS, FromMatrix, covered, stated
from ragstone.metrics.judge.words import Judged
from ragstone.types import Case, Need, Response, Score

__all__ = ["PLUGINS", "ClaimF1"]


@dataclass(frozen=True)
class ClaimF1(FromMatrix):
    """`ragchecker.f1`: the harmonic mean of `ragchecker.precision` and `ragchecker.recall`.

    Formula: 2PR / (P + R), and 0 if either is 0. P: answer claims that the reference supports / answer claims; R:
    reference claims that the answer covers / reference claims.
    Range: 0 to 1, higher is better.
    Needs: the answer, the reference; a judge.
    Evidence: {"precision", "recall", "correct": ids of answer claims, "covered": ids of reference claims, "verdicts"}.
    Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation", F1.

    | case | result |
    |---|---|
    | the answer declines | by the claims that it makes; 0 where there are none |
    | the answer is empty | 0, and the judge is not asked |
    | the answer makes no claim | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable; nor is a reference that makes no claim |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragchecker.f1"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})
    empty: ClassVar[float | Literal["ask"] | None] = 0.0

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        if not judged.reference_claims:
            return Score.not_applicable(NO_REFERENCE_CLAIMS)
        correct = stated(judged.answer_claims)
        there = covered(judged.reference_claims, judged.answer_claims)
        precision = len(correct) / len(judged.answer_claims) if judged.answer_claims else 0.0
        recall = len(there) / len(judged.reference_claims)
        value = 2 * precision * recall / (precision + recall) if precision and recall else 0.0
        evidence = {"precision": precision, "recall": recall, "correct": correct, "covered": there}
        return Score.of(value, evidence=evidence)


PLUGINS = {"ragchecker.f1": ClaimF1}
