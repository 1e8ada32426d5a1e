"""How much of what the passages hold an answer uses."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._matrix import NO_REFERENCE_CLAIMS, FromMatrix, covered, share
from ragstone.metrics.judge.words import Judged
from ragstone.types import Case, Need, Response, Score

__all__ = ["PLUGINS", "ContextUtilization"]


@dataclass(frozen=True)
class ContextUtilization(FromMatrix):
    """`ragchecker.context_utilization`: the share of what the passages support of the reference that the
    answer covers.

    Formula: reference claims that at least one passage supports and the answer covers / reference claims that at least
    one passage supports.
    Range: 0 to 1, higher is better.
    Needs: the answer, the reference, passages; a judge.
    Evidence: {"what": "reference_claims", "counted": ids of those used, "of": how many the passages support,
    "verdicts"}.
    Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation",
    context utilization.

    | case | result |
    |---|---|
    | the answer declines | by the claims that it makes; 0 where there are none |
    | the answer is empty | 0 |
    | the answer makes no claim | 0 |
    | no passages | not applicable; RAGChecker's program says 0 |
    | no reference | not applicable; nor is a reference that makes no claim or has none that a passage supports |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragchecker.context_utilization"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES, Need.PASSAGES})
    empty: ClassVar[float | Literal["ask"] | None] = "ask"

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        if not judged.reference_claims:
            return Score.not_applicable(NO_REFERENCE_CLAIMS)
        there = covered(judged.reference_claims, judged.answer_claims)
        supported = [claim.id for claim in judged.reference_claims if claim.supported_by]
        used = [claim for claim in supported if claim in there]
        return share(used, len(supported), "reference_claims", "the passages support no claim of the reference")


PLUGINS = {"ragchecker.context_utilization": ContextUtilization}
