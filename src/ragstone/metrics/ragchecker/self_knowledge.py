"""How much of an answer is correct without the passages."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._matrix import NO_CLAIMS, NO_REFERENCE_CLAIMS, FromMatrix, share, stated
from ragstone.metrics.judge.words import Judged
from ragstone.types import Case, Need, Response, Score

__all__ = ["PLUGINS", "SelfKnowledge"]


@dataclass(frozen=True)
class SelfKnowledge(FromMatrix):
    """`ragchecker.self_knowledge`: the share of the answer's claims that are correct and stand in no passage.

    Formula: answer claims that the reference supports and no passage does / answer claims.
    Range: 0 to 1, lower is better where answers are to come from the passages.
    Needs: the answer, the reference, passages; a judge.
    Evidence: {"what": "answer_claims", "counted": ids of those claims, "of": how many there are, "verdicts"}.
    Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation",
    self-knowledge.

    | case | result |
    |---|---|
    | the answer declines | the claims that it makes all the same; not applicable where there are none |
    | the answer is empty | not applicable |
    | the answer makes no claim | not applicable; RAGChecker's program says 0 |
    | no passages | not applicable; RAGChecker's program says 0 |
    | no reference | not applicable; nor is a reference that makes no claim |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragchecker.self_knowledge"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES, Need.PASSAGES})
    better: ClassVar[Literal["higher", "lower", "neither"]] = "neither"

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        if not judged.reference_claims:
            return Score.not_applicable(NO_REFERENCE_CLAIMS)
        claims = judged.answer_claims
        correct = stated(claims)
        known = (claim.id for claim in claims if claim.id in correct and not claim.supported_by)
        return share(known, len(claims), "answer_claims", NO_CLAIMS)


PLUGINS = {"ragchecker.self_knowledge": SelfKnowledge}
