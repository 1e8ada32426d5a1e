"""How many of the passages hold a part of the reference."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._matrix import NO_REFERENCE_CLAIMS, FromMatrix, share, supporting
from ragstone.metrics._passages import NO_PASSAGES, retrieved
from ragstone.metrics.judge.words import Judged, JudgeFailed
from ragstone.types import Case, Need, Response, Score

__all__ = ["PLUGINS", "RelevantPassages"]


@dataclass(frozen=True)
class RelevantPassages(FromMatrix):
    """`ragchecker.context_precision`: the share of the passages that support a claim of the reference.

    Formula: passages that support at least one reference claim / passages. Their order makes no difference, unlike in
    `context_precision`.
    Range: 0 to 1, higher is better.
    Needs: the reference, passages; a judge.
    Evidence: {"what": "passages", "counted": places of the relevant ones, "of": how many there are, "verdicts"}.
    Source: Ru et al. 2024, "RAGChecker: A Fine-grained Framework for Diagnosing Retrieval-Augmented Generation",
    context precision.

    | case | result |
    |---|---|
    | the answer declines | scored; the answer makes no difference |
    | the answer is empty | scored; the answer makes no difference |
    | the answer makes no claim | scored; the answer makes no difference |
    | no passages | not applicable; RAGChecker's program says 0 |
    | no reference | not applicable; nor is a reference that makes no claim |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragchecker.context_precision"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.REFERENCES, Need.PASSAGES})

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        if not judged.reference_claims:
            return Score.not_applicable(NO_REFERENCE_CLAIMS)
        relevant, passages = sorted(supporting(judged.reference_claims)), len(retrieved(case, response))
        if relevant and relevant[-1] > passages:
            raise JudgeFailed(f"The judge names passage {relevant[-1]} of {passages}.", ())
        return share(relevant, passages, "passages", NO_PASSAGES)


PLUGINS = {"ragchecker.context_precision": RelevantPassages}
