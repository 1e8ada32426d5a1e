"""Whether an answer is about the question, as ragas asks for it."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ragstone.metrics._ragas import Planned, RagasStyle, Talk
from ragstone.types import Need, Score

QUESTIONS = 3  # ragas calls it strictness
WARMTH = 0.3  # the temperature at which ragas asks for several replies to one prompt
WRITTEN = 30  # tokens of a reply, about


@dataclass(frozen=True)
class RagasAnswerRelevancy(RagasStyle):
    """`ragas.answer_relevancy`: how close three questions made of the answer are to the question that was asked.

    Formula: mean cosine(question, question made of the answer), times 0 if all three replies call the answer
    noncommittal, else times 1. Three requests, of which each shows the answer alone.
    Range: 0 to 1, higher is better. A mean below 0 counts as 0. An embedder's cosines of unrelated texts may lie far
    above 0, so compare values of one embedder only.
    Needs: the answer; a judge's model, an embedder.
    Evidence: {"questions": [{"text", "cosine", "noncommittal"}], "noncommittal": whether all are, "verdicts"}.
    Source: ragas, "answer relevancy"; ragas-style: its steps and formula with prompts of our own.

    | case | result |
    |---|---|
    | the answer declines | 0 where all three replies say so; otherwise by the questions |
    | the answer is empty | 0, and the judge is not asked |
    | the answer makes no claim | scored by the questions |
    | no passages | scored; none are needed |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "ragas.answer_relevancy"
    asks: ClassVar[tuple[str, ...]] = ("ragas_question",)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER})
    uses: ClassVar[tuple[str, ...]] = ("model", "embedder")
    empty: ClassVar[float | None] = 0.0
    only_answerable: ClassVar[bool] = True

    async def _measure(self, talk: Talk) -> Score:
        replies = await talk.all(
            talk.ask(
                "ragas_question", {"answer": talk.answer}, copy=copy, copies=QUESTIONS, temperature=WARMTH, check=_blank
            )
            for copy in range(QUESTIONS)
        )
        texts = [reply["question"] for reply in replies]
        cosines = await talk.cosines(talk.bare_question, texts)
        questions = [
            {"text": text, "cosine": cosine, "noncommittal": reply["noncommittal"]}
            for text, cosine, reply in zip(texts, cosines, replies, strict=True)
        ]
        noncommittal = all(reply["noncommittal"] for reply in replies)
        mean = min(max(math.fsum(cosines) / len(cosines), 0.0), 1.0)
        reason = "the answer is noncommittal" if noncommittal else ""
        evidence = {"questions": questions, "noncommittal": noncommittal}
        return Score.of(0.0 if noncommittal else mean, evidence=evidence, reason=reason)

    def _plan(self, talk: Talk) -> list[Planned]:
        return [Planned("ragas_question", {"answer": talk.answer}, WRITTEN)] * QUESTIONS


def _blank(reply: dict[str, Any]) -> str:
    return "" if reply["question"].strip() else "question is empty"


PLUGINS = {"ragas.answer_relevancy": RagasAnswerRelevancy}
