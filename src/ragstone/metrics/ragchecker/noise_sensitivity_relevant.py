"""How often an answer is led astray by passages that also help."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._matrix import NO_CLAIMS, NO_REFERENCE_CLAIMS, FromMatrix, share, stated, supporting
from ragstone.metrics.judge.words import Judged
from ragstone.types import Case, Need, Response, Score

__all__ = ["PLUGINS", "NoiseSensitivityRelevant"]


@dataclass(frozen=True)
class NoiseSensitivityRelevant(FromMatrix):
    """`ragchecker.noise_sensitivity_relevant`: the share of the answer's claims that are wrong and
    come from a relevant passage.

    Formula: answer claims that the reference does not support and a relevant passage does / answer claims. A passage is
    relevant if it supports a claim of the reference.
    Range: 0 to 1, lower is better.
    Needs: the answer, the reference, passages; a judge.
    Evidence: {"what": "answer_claims", "counted": ids of those claims, "of": how many there are, "verdicts"}.
    Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation", noise
    sensitivity.

    | case | result |
    |---|---|
    | the answer declines | the claims that it makes all the same; not applicable where there are none |
    | the answer is empty | not applicable |
    | the answer makes no claim | not applicable; RAGChecker's program says 0 |
    | no passages | not applicable; RAGChecker's program says 0 |
    | no reference | not applicable; nor is a reference that makes no claim |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragchecker.noise_sensitivity_relevant"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES, Need.PASSAGES})
    better: ClassVar[Literal["higher", "lower", "neither"]] = "lower"

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        if not judged.reference_claims:
            return Score.not_applicable(NO_REFERENCE_CLAIMS)
        claims = judged.answer_claims
        correct, relevant = stated(claims), supporting(judged.reference_claims)
        astray = [
            claim.id
            for claim in claims
            if claim.id not in correct and claim.supported_by and not relevant.isdisjoint(claim.supported_by)
        ]
        return share(astray, len(claims), "answer_claims", NO_CLAIMS)


PLUGINS = {"ragchecker.noise_sensitivity_relevant": NoiseSensitivityRelevant}
