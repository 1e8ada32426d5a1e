"""How much of the reference an answer says, by claims."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._matrix import NO_REFERENCE_CLAIMS, FromMatrix, covered, share
from ragstone.metrics.judge.words import Judged
from ragstone.types import Case, Need, Response, Score

__all__ = ["PLUGINS", "ClaimRecall"]


@dataclass(frozen=True)
class ClaimRecall(FromMatrix):
    """`ragchecker.recall`: the share of the reference's claims that the answer covers.

    Formula: reference claims that the answer covers / reference claims.
    Range: 0 to 1, higher is better.
    Needs: the answer, the reference; a judge.
    Evidence: {"what": "reference_claims", "counted": ids of the covered ones, "of": how many there are, "verdicts"}.
    Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation",
    claim recall.

    | case | result |
    |---|---|
    | the answer declines | by the claims that it makes; 0 where there are none |
    | the answer is empty | 0, and the judge is not asked |
    | the answer makes no claim | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable; nor is a reference that makes no claim |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragchecker.recall"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})
    empty: ClassVar[float | Literal["ask"] | None] = 0.0

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        claims = judged.reference_claims
        return share(covered(claims, judged.answer_claims), len(claims), "reference_claims", NO_REFERENCE_CLAIMS)


PLUGINS = {"ragchecker.recall": ClaimRecall}
