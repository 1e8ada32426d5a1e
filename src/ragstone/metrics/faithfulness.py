"""Whether what an answer says stands in its passages."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._matrix import NO_CLAIMS, FromMatrix, share
from ragstone.metrics.judge.record import Judged
from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class Faithfulness(FromMatrix):
    """`faithfulness`: the share of the answer's claims that at least one passage supports.

    Formula: supported answer claims / answer claims.
    Range: 0 to 1, higher is better.
    Needs: the answer, passages; a judge.
    Evidence: {"what": "answer_claims", "counted": ids of the supported ones, "of": how many there are, "verdicts"}.
    Source: Es et al. 2024, "RAGAs: Automated Evaluation of Retrieval Augmented Generation".

    | case | result |
    |---|---|
    | the answer declines | the claims that it makes all the same; not applicable where there are none |
    | the answer is empty | not applicable |
    | the answer makes no claim | not applicable |
    | no passages | not applicable |
    | nothing was retrieved | no claim has support |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "faithfulness"
    rests_on: ClassVar[tuple[str, ...]] = ("answer",)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.PASSAGES})

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        claims = judged.answer_claims
        return share((claim.id for claim in claims if claim.supported_by), len(claims), "answer_claims", NO_CLAIMS)


PLUGINS = {"faithfulness": Faithfulness}
