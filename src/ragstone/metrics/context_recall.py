"""Whether the passages hold what an answer needs."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._matrix import NO_REFERENCE_CLAIMS, FromMatrix, share
from ragstone.metrics.judge.record import Judged
from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class ContextRecall(FromMatrix):
    """`context_recall`: the share of the reference's claims that at least one passage supports.

    Formula: supported reference claims / reference claims.
    Range: 0 to 1, higher is better.
    Needs: the reference, passages; a judge.
    Evidence: {"what": "reference_claims", "counted": ids of the supported ones, "of": how many there are, "verdicts"}.
    Source: ragas, "context recall".

    | case | result |
    |---|---|
    | the answer declines | scored; the answer makes no difference |
    | the answer is empty | scored; the answer makes no difference |
    | the answer makes no claim | scored; the answer makes no difference |
    | no passages | not applicable |
    | nothing was retrieved | 0 |
    | no reference | not applicable; nor is a reference that makes no claim |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "context_recall"
    rests_on: ClassVar[tuple[str, ...]] = ("reference",)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.REFERENCES, Need.PASSAGES})
    of_retrieval: ClassVar[bool] = True

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        claims = judged.reference_claims
        supported = (claim.id for claim in claims if claim.supported_by)
        return share(supported, len(claims), "reference_claims", NO_REFERENCE_CLAIMS)


PLUGINS = {"context_recall": ContextRecall}
