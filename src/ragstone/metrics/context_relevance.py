"""Whether the passages are about the question."""

from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._matrix import FromMatrix, share
from ragstone.metrics._passages import NO_PASSAGES
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.record import Judged
from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class ContextRelevance(FromMatrix):
    """`context_relevance`: the share of the passages that are relevant to the question.

    Formula: relevant passages / passages.
    Range: 0 to 1, higher is better.
    Needs: passages; a judge.
    Evidence: {"what": "passages", "counted": places of the relevant ones, "of": how many there are, "verdicts"}.
    Source: the RAG triad of TruLens, which rates each passage from 0 to 1; here one is relevant or not.

    | case | result |
    |---|---|
    | the answer declines | scored; the answer makes no difference |
    | the answer is empty | scored; the answer makes no difference |
    | the answer makes no claim | scored; the answer makes no difference |
    | no passages | not applicable |
    | nothing was retrieved | 0 |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "context_relevance"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PASSAGES})
    of_retrieval: ClassVar[bool] = True

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        if not judged.passages:
            raise JudgeFailed("The judge gave no verdict on the passages.", ())
        relevant = (passage.id for passage in judged.passages if passage.relevant)
        return share(relevant, len(judged.passages), "passages", NO_PASSAGES)


PLUGINS = {"context_relevance": ContextRelevance}
