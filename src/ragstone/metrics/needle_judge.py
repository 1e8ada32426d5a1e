"""How well an answer gives what the needle says, by a judge on the scale of the original test.

The rule of `needle.found` comes first; the judge sees what a rule cannot, such as a sandwich in other words. Where both
were asked, the tables list the cells in which they disagree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from msgspec.structs import replace

from ragstone.metrics import Tools
from ragstone.metrics._references import NO_REFERENCE, filled
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.prompts import Prompts
from ragstone.metrics.judge.record import JudgeStep, evidence
from ragstone.metrics.judge.request import ask, turns_of
from ragstone.text import detect, estimate_tokens
from ragstone.types import Case, Model, Need, Response, Score

_LOWEST, _HIGHEST = 1, 10
_VERDICT_TOKENS = 40  # {"reason": "…", "score": 7}


@dataclass(frozen=True)
class NeedleJudge:
    """`needle.judge`: how well the answer gives what the needle says, rated from 1 to 10 by a judge.

    Formula: (rating - 1) / 9. The rating is a whole number with the anchors 1 (nothing of it), 3 (touches on it), 5
    (right in part, wrong in part), 7 (a small part is missing), 10 (all of it).
    Range: 0 (a rating of 1) to 1 (a rating of 10), higher is better.
    Needs: the answer, the reference; a judge's model.
    Evidence: {"rating": from 1 to 10, "reason": the judge's, "verdicts": each request with its reply}.
    Source: Kamradt 2023, "LLMTest_NeedleInAHaystack" (the scale and its anchors; the prompt is ours).

    | case | result |
    |---|---|
    | the answer declines | as the judge finds: 0, if it follows its anchors |
    | the answer is empty | 0, and the judge is not asked |
    | no passages | scored; none are needed |
    | no reference | not applicable: a control has no needle |
    | the judge failed | failed |
    """

    name: ClassVar[str] = "needle.judge"
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})
    uses: ClassVar[tuple[str, ...]] = ("model",)

    judge: Model
    prompts: Prompts = field(default_factory=Prompts.load)
    language: str = ""
    nonce: str = ""

    @classmethod
    def make(cls, tools: Tools) -> Self:
        """The metric by the model of these tools, which must have one."""
        assert tools.model is not None
        return cls(tools.model, tools.prompts or Prompts.load(), tools.language)

    @property
    def prompt_hash(self) -> str:
        """The hashes of its prompts in both languages."""
        return "/".join(self.prompts.get("needle", language).hash[:12] for language in ("en", "zh"))

    async def score(self, case: Case, response: Response, /) -> Score:
        if not filled(case.sample):
            return Score.not_applicable(NO_REFERENCE)
        if not response.answer.strip():
            return Score.of(0.0, reason="The answer is empty; nothing was asked of the judge.")
        steps: list[JudgeStep] = []
        prompt = self.prompts.get("needle", self.language or _language(case))
        try:
            reply = await ask(
                self.judge, prompt, _shown(case, response.answer), steps=steps, sample=case.query.repeat,
                nonce=self.nonce,
            )  # fmt: skip
        except JudgeFailed as error:
            return Score.failed(str(error), evidence=evidence(steps))
        rating = int(reply["score"])
        steps[-1] = replace(steps[-1], score=rating, reason=reply["reason"])
        details = evidence(steps, {"rating": rating, "reason": reply["reason"]})
        return Score.of((rating - _LOWEST) / (_HIGHEST - _LOWEST), evidence=details, reason=f"The judge: {rating}.")


def _language(case: Case) -> str:
    spoken = case.query.language or case.sample.language or detect(case.query.question)
    return "zh" if spoken == "zh" else "en"


def _shown(case: Case, answer: str) -> Mapping[str, Any]:
    """The fields of the prompt; the reference is the needle (`meta["needle"]`), else the first alias of each slot."""
    needle = case.sample.meta.get("needle") or "; ".join(slot[0] for slot in filled(case.sample))
    return {"question": case.query.question, "reference": str(needle), "answer": answer}


def judged_tokens(case: Case, answer: str) -> int:
    """An estimate of the tokens of the judge's request and its verdict; 0 if the judge is not asked."""
    if not filled(case.sample):
        return 0
    prompt = Prompts.load().get("needle", _language(case))
    return sum(estimate_tokens(turn.content) for turn in turns_of(prompt, _shown(case, answer))) + _VERDICT_TOKENS


PLUGINS = {"needle.judge": NeedleJudge}
