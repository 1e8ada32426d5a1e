"""The judge: a chat model that takes answers apart into claims and says what supports them."""

from ragstone.metrics.judge.claims import Judge, JudgeFailed, Similarities
from ragstone.metrics.judge.matrix import BUDGET, MatrixJudge
from ragstone.metrics.judge.prompts import Prompt, Prompts
from ragstone.metrics.judge.record import AnswerClaim, Judged, JudgeStep, PassageVerdict, ReferenceClaim
from ragstone.metrics.judge.request import ask, turns_of

__all__ = [
    "BUDGET", "AnswerClaim", "Judge", "JudgeFailed", "JudgeStep", "Judged", "MatrixJudge", "PassageVerdict", "Prompt",
    "Prompts", "ReferenceClaim", "Similarities", "ask", "turns_of",
]  # fmt: skip
