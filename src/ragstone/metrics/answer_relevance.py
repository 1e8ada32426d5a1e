"""Whether an answer is about the question: by its claims."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._matrix import NO_CLAIMS, FromMatrix, declines, share
from ragstone.metrics.judge.record import Judged
from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class AnswerRelevance(FromMatrix):
    """`answer_relevance`: the share of the answer's claims that help to answer the question.

    Formula: relevant answer claims / answer claims; 0 where the answer declines.
    Range: 0 to 1, higher is better.
    Needs: the answer; a judge.
    Evidence: {"what": "answer_claims", "counted": ids of the relevant ones, "of": how many there are, "noncommittal",
    "verdicts"}.
    Source: the RAG triad of TruLens, which asks for one rating of the whole answer; here by claims. `answer_relevancy`
    is the measure of ragas, by embeddings.

    | case | result |
    |---|---|
    | the answer declines | 0 |
    | the answer is empty | 0, and the judge is not asked |
    | the answer makes no claim | not applicable, unless it declines |
    | no passages | scored; none are needed |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "answer_relevance"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER})
    steps: ClassVar[frozenset[str]] = frozenset({"decompose"})
    empty: ClassVar[float | Literal["ask"] | None] = 0.0
    only_answerable: ClassVar[bool] = True

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        claims = judged.answer_claims
        if declines(judged, response.answer):
            none = {"what": "answer_claims", "counted": [], "of": len(claims), "noncommittal": True}
            return Score.of(0.0, reason="the answer declines", evidence=none)
        return share((claim.id for claim in claims if claim.relevant), len(claims), "answer_claims", NO_CLAIMS)


PLUGINS = {"answer_relevance": AnswerRelevance}
