"""How much of an answer is correct, by claims."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._matrix import NO_CLAIMS, NO_REFERENCE_CLAIMS, FromMatrix, share, stated
from ragstone.metrics.judge.words import Judged
from ragstone.types import Case, Need, Response, Score

__all__ = ["PLUGINS", "ClaimPrecision"]


@dataclass(frozen=True)
class ClaimPrecision(FromMatrix):
    """`ragchecker.precision`: the share of the answer's claims that are correct.

    Formula: answer claims that the reference supports / answer claims.
    Range: 0 to 1, higher is better.
    Needs: the answer, the reference; a judge.
    Evidence: {"what": "answer_claims", "counted": ids of the correct ones, "of": how many there are, "verdicts"}.
    Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation",
    claim precision.

    | case | result |
    |---|---|
    | the answer declines | the claims that it makes all the same; not applicable where there are none |
    | the answer is empty | not applicable |
    | the answer makes no claim | not applicable; RAGChecker's program says 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable; nor is a reference that makes no claim |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragchecker.precision"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        if not judged.reference_claims:
            return Score.not_applicable(NO_REFERENCE_CLAIMS)
        claims = judged.answer_claims
        return share(stated(claims), len(claims), "answer_claims", NO_CLAIMS)


PLUGINS = {"ragchecker.precision": ClaimPrecision}
