"""`answer_match` where its rule is sure, else the verdict of a judge in one request.

A rule finds short references for nothing, and knows of long ones that it cannot tell: only these are worth a request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from msgspec.structs import replace

from ragstone.metrics import Tools
from ragstone.metrics._references import filled
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.inputs import Texts
from ragstone.metrics.judge.prompts import Prompts
from ragstone.metrics.judge.record import JudgeStep, evidence
from ragstone.metrics.judge.request import ask, turns_of
from ragstone.text import estimate_tokens
from ragstone.types import Case, Model, Need, Response, Score, Usage

_VERDICT_TOKENS = 35  # {"reason": "…", "verdict": "stated"}


@dataclass(frozen=True)
class AnswerMatchJudge:
    """`answer_match.judge`: 1.0 if the answer states the reference, else 0.0: by rule, or by a judge where the rule is
    unsure.

    Formula: `answer_match` where it has a value; where it is unsure, 1 if the judge's verdict is that the answer gives
    what the reference says, else 0.
    Range: 0 or 1, higher is better.
    Needs: the answer, the reference; a judge's model, asked once for each answer that the rule is unsure about.
    Evidence: that of `answer_match`; where the judge was asked, "read" is its verdict and "verdicts" has the request
    with its reply.
    Source: ragstone's own cascade; the rule's counterpart is the match of Chen et al. 2024.

    | case | result |
    |---|---|
    | only a refusal is correct | 1 where the answer declines, else 0 |
    | the answer declines | 0 |
    | the answer is empty | 0 |
    | no passages | scored; none are needed |
    | no reference | not applicable |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "answer_match.judge"
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})
    uses: ClassVar[tuple[str, ...]] = ("model",)
    asks: ClassVar[tuple[str, ...]] = ("match",)
    scores_refusals: ClassVar[bool] = True

    judge: Model
    prompts: Prompts = field(default_factory=Prompts.load)
    language: str = ""
    nonce: str = ""

    @classmethod
    def make(cls, tools: Tools) -> Self:
        """The metric by the model of these tools, which must have one."""
        assert tools.model is not None
        return cls(tools.model, tools.prompts or Prompts.load(), tools.language)

    async def score(self, case: Case, response: Response, /) -> Score:
        rule = AnswerMatch().score(case, response)
        if rule.status != "unsure":
            return rule
        steps: list[JudgeStep] = []
        texts = Texts.of(case, response, self.language)
        try:
            reply = await ask(
                self.judge, self.prompts.get("match", texts.language), _shown(case, texts), steps=steps,
                sample=texts.sample, nonce=self.nonce,
            )  # fmt: skip
        except JudgeFailed as error:
            return Score.failed(str(error), evidence=evidence(steps, rule.evidence))
        stated = reply["verdict"] == "stated"
        steps[-1] = replace(steps[-1], verdict=reply["verdict"], reason=reply["reason"])
        details = evidence(steps, {**rule.evidence, "read": reply["verdict"]})
        return Score.of(stated, evidence=details, reason=f"The judge: {reply['reason']}")

    def estimate(self, case: Case, response: Response) -> Usage:
        """What the judge takes for this answer: nothing where the rule is sure."""
        if AnswerMatch().score(case, response).status != "unsure":
            return Usage()
        texts = Texts.of(case, response, self.language)
        turns = turns_of(self.prompts.get("match", texts.language), _shown(case, texts))
        return Usage(sum(estimate_tokens(turn.content) for turn in turns), _VERDICT_TOKENS, requests=1)


def _shown(case: Case, texts: Texts) -> Mapping[str, Any]:
    reference = "; ".join(slot[0] for slot in filled(case.sample))
    return {"question": texts.asked, "reference": reference, "answer": texts.answer}


PLUGINS = {"answer_match.judge": AnswerMatchJudge}
