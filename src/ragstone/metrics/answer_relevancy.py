"""Whether an answer is about the question: by the questions that it would answer."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._matrix import FromMatrix, declines
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.record import Judged
from ragstone.types import Case, Need, Response, Score


@dataclass(frozen=True)
class AnswerRelevancy(FromMatrix):
    """`answer_relevancy`: how close the questions that the answer answers are to the question that was asked.

    Formula: mean cosine(question, question that the judge makes of the answer); 0 where the answer declines.
    Range: 0 to 1, higher is better. A mean below 0 counts as 0. An embedder's cosines of unrelated texts may lie far
    above 0, so compare values of one embedder only.
    Needs: the answer; a judge, an embedder.
    Evidence: {"questions": [{"text", "cosine"}], "noncommittal": whether the answer declines, "verdicts"}.
    Source: Es et al. 2024, "RAGAs: Automated Evaluation of Retrieval Augmented Generation", with the later factor for
    noncommittal answers. The judge sees the real question too; docs/what-the-numbers-mean.md says why, and what the
    alternative (`ragas.answer_relevancy`) costs.

    | case | result |
    |---|---|
    | the answer declines | 0 |
    | the answer is empty | 0, and the judge is not asked |
    | the answer makes no claim | scored by the questions; not applicable where the judge makes none |
    | no passages | scored; none are needed |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "answer_relevancy"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER})
    uses: ClassVar[tuple[str, ...]] = ("judge", "embedder")
    steps: ClassVar[frozenset[str]] = frozenset({"decompose", "similarities"})
    empty: ClassVar[float | Literal["ask"] | None] = 0.0
    only_answerable: ClassVar[bool] = True

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        if declines(judged, response.answer):
            return Score.of(0.0, reason="the answer declines", evidence={"questions": [], "noncommittal": True})
        if not case.query.question.strip():
            return Score.not_applicable("the question is empty")
        if not judged.questions:
            return Score.not_applicable("the judge made no question of the answer")
        cosines = (await self.judge.similarities(case, response)).questions
        if len(cosines) != len(judged.questions) or not all(math.isfinite(cosine) for cosine in cosines):
            raise JudgeFailed("The embedder gave no cosine for each question.", ())
        questions = [{"text": text, "cosine": cosine} for text, cosine in zip(judged.questions, cosines, strict=True)]
        value = min(max(math.fsum(cosines) / len(cosines), 0.0), 1.0)
        return Score.of(value, evidence={"questions": questions, "noncommittal": False})


PLUGINS = {"answer_relevancy": AnswerRelevancy}
