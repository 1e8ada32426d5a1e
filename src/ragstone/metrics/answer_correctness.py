"""Whether an answer says what the reference says, and nothing else."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from ragstone.metrics._matrix import NO_REFERENCE_CLAIMS, FromMatrix, covered, declines, stated
from ragstone.metrics.answerable import refusal_expected, refusal_score
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.record import Judged
from ragstone.types import Case, Need, Response, Score

FACTS, MEANING = 0.75, 0.25


@dataclass(frozen=True)
class AnswerCorrectness(FromMatrix):
    """`answer_correctness`: how far the answer's claims are the reference's, and how close the two texts are.

    Formula: 0.75 · F1 + 0.25 · cosine(answer, reference), F1 = TP / (TP + 0.5 · (FP + FN)), and 0 if TP = 0. TP: answer
    claims that the reference supports; FP: the other answer claims; FN: reference claims that the answer does not
    cover. A cosine below 0 counts as 0.
    Range: 0 to 1, higher is better. An embedder's cosines of unrelated texts may lie far above 0, so a wrong answer
    seldom gets 0; compare values of one embedder only.
    Needs: the answer, the reference; a judge, an embedder.
    Evidence: {"tp", "fp": ids of answer claims, "fn": ids of reference claims, "f1", "cosine", "noncommittal": whether
    the answer declines, "reference": the alternative that counts where there are several, "verdicts"}.
    Source: ragas, "answer correctness".

    | case | result |
    |---|---|
    | only a refusal is correct | 1 where the answer declines, else 0 |
    | the answer declines | F1 is 0, whatever the verdicts; the cosine counts |
    | the answer is empty | 0, and the judge is not asked |
    | the answer makes no claim | F1 is 0; the cosine counts |
    | no passages | scored; none are needed |
    | no reference | not applicable; nor is a reference that makes no claim |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "answer_correctness"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})
    uses: ClassVar[tuple[str, ...]] = ("judge", "embedder")
    steps: ClassVar[frozenset[str]] = frozenset({"decompose", "verify", "similarities"})
    empty: ClassVar[float | Literal["ask"] | None] = 0.0
    scores_refusals: ClassVar[bool] = True

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        if refusal_expected(case):
            return refusal_score(declines(judged, response.answer))
        if not judged.reference_claims:
            return Score.not_applicable(NO_REFERENCE_CLAIMS)
        true = stated(judged.answer_claims)
        false = [claim.id for claim in judged.answer_claims if claim.id not in true]
        covered_count = covered(judged.reference_claims, judged.answer_claims)
        missing = [claim.id for claim in judged.reference_claims if claim.id not in covered_count]
        declined = declines(judged, response.answer)
        f1 = len(true) / (len(true) + 0.5 * (len(false) + len(missing))) if true and not declined else 0.0
        similar = await self.judge.similarities(case, response)
        cosine = similar.others[judged.alternative - 2] if judged.alternative > 1 else similar.answer
        if cosine is None or not math.isfinite(cosine):
            raise JudgeFailed("The embedder gave no cosine of the answer and the reference.", ())
        evidence = {
            "tp": true, "fp": false, "fn": missing, "f1": f1, "cosine": cosine, "noncommittal": declined
        }  # fmt: skip
        value = FACTS * f1 + MEANING * min(max(cosine, 0.0), 1.0)
        return Score.of(value, evidence=evidence, reason="the answer declines" if declined else "")


PLUGINS = {"answer_correctness": AnswerCorrectness}
