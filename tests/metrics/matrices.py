"""A judge that says what a test tells it to, and one sample worked out by hand."""

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ragstone.metrics import Tools, make_metrics
from ragstone.metrics.judge.claims import JudgeFailed, Similarities
from ragstone.metrics.judge.prompts import Prompts
from ragstone.metrics.judge.record import AnswerClaim, Judged, JudgeStep, PassageVerdict, ReferenceClaim, evidence
from ragstone.types import Case, Completion, Metric, Passage, Query, Request, Response, Sample, Score, Usage

STEPS = (JudgeStep("decompose", reply="{}"), JudgeStep("verify", reply="{}"))
VERDICTS = evidence(STEPS)["verdicts"]


NOTHING = Judged((), (), (), False, (), STEPS, ())
ALIKE = Similarities((), 0.5)


@dataclass(eq=False)
class StubJudge:
    """Answers with `judged` and `similar`; with a failure where `failure` says of which step."""

    judged: Judged = NOTHING
    similar: Similarities = ALIKE
    failure: str = ""
    asked: list[str] = field(default_factory=list)
    spec: Mapping[str, Any] = field(default_factory=dict)

    def _ask(self, step: str) -> None:
        self.asked.append(step)
        if step == self.failure:
            raise JudgeFailed("The reply was cut off.", STEPS)

    async def decompose(self, case: Case, response: Response, /) -> Judged:
        self._ask("decompose")
        return self.judged

    async def verify(self, case: Case, response: Response, /) -> Judged:
        self._ask("verify")
        return self.judged

    async def similarities(self, case: Case, response: Response, /) -> Similarities:
        self._ask("similarities")
        return self.similar

    def estimate(self, case: Case, response: Response, /, *, steps: frozenset[str]) -> Usage:
        return Usage()


class StubModel:
    """Replies the same to everything."""

    id = "scripted/model"

    def __init__(self, reply: str = "") -> None:
        self.reply = reply

    async def generate(self, request: Request, /) -> Completion:
        return Completion(self.reply)


class StubEmbedder:
    """Texts to the vectors that it was told; any other text to its length's."""

    id = "stub/embedder"

    def __init__(self, vectors: Mapping[str, Sequence[float]] | None = None) -> None:
        self.vectors = dict(vectors or {})
        self.asked: list[list[str]] = []

    async def embed(self, texts: Sequence[str], /, *, kind: Literal["query", "passage"]) -> "np.ndarray[Any, Any]":
        self.asked.append(list(texts))
        rows = np.array([self.vectors.get(text, (1.0, len(text) / 10)) for text in texts], dtype=np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


async def resolve(score: Score | Awaitable[Score]) -> Score:
    return await score if inspect.isawaitable(score) else score


def made(name: str, judge: Any = None, embedder: Any = None, reply: str = "") -> Metric:
    """The metric of this name, with a judge, a model and an embedder from here."""
    tools = Tools(judge or StubJudge(), StubModel(reply), embedder or StubEmbedder(), Prompts.load())
    return make_metrics([name], tools)[0]


# Worked out by hand. 5 answer claims in three sentences, 3 reference claims, 4 passages.
CLAIMS = (
    AnswerClaim(1, "claim a", 1, True, (1,), (), True),
    AnswerClaim(2, "claim b", 1, True, (2, 3), (), False),
    AnswerClaim(3, "claim c", 2, False, (), (), True),
    AnswerClaim(4, "claim d", 2, True, (), (4,), False),
    AnswerClaim(5, "claim e", 3, True, (3,), (), False),
)
REFERENCE_CLAIMS = (
    ReferenceClaim(1, "needed a", (1,), (), True),
    ReferenceClaim(2, "needed b", (1, 2), (), False),
    ReferenceClaim(3, "needed c", (), (), True),
)
PASSAGES = (
    PassageVerdict(1, True, False),
    PassageVerdict(2, True, True),
    PassageVerdict(3, False, False),
    PassageVerdict(4, True, True),
)
SENTENCES = ("A and b [1][9].", "C and d [2].", "E [3, 1].")
JUDGED = Judged(CLAIMS, REFERENCE_CLAIMS, ("Who?", "Where?"), False, PASSAGES, STEPS, SENTENCES)
SIMILAR = Similarities((0.9, 0.7), 0.8)
# 100 characters of Chinese are 67 tokens, so: 67, 67, 134, 0.
TEXTS = ("字" * 100, "词" * 100, "句" * 200, "")


def case(references: tuple[tuple[str, ...], ...] = (("needed a, b and c",),)) -> Case:
    return Case("c", Sample("s", "Who and where?", references), {}, Query("Who and where?"))


def response(answer: str = " ".join(SENTENCES), texts: Sequence[str] = TEXTS) -> Response:
    return Response(answer, tuple(Passage(f"p{place}", text) for place, text in enumerate(texts)))


def without_reference(judged: Judged) -> Judged:
    """The same sample as a judge sees it without a reference."""
    claims = tuple(AnswerClaim(c.id, c.text, c.sentence, c.relevant, c.supported_by) for c in judged.answer_claims)
    passages = tuple(PassageVerdict(passage.id, passage.relevant) for passage in judged.passages)
    return Judged(claims, (), judged.questions, judged.noncommittal, passages, judged.steps, judged.sentences)


def without_claims(judged: Judged, *, noncommittal: bool = False) -> Judged:
    """The same sample with an answer that makes no claim."""
    reference = tuple(ReferenceClaim(c.id, c.text, c.supported_by) for c in judged.reference_claims)
    questions = () if noncommittal else judged.questions
    return Judged((), reference, questions, noncommittal, judged.passages, judged.steps, ("Well.",))


def without_passages(judged: Judged) -> Judged:
    """The same sample with nothing retrieved."""
    claims = tuple(
        AnswerClaim(c.id, c.text, c.sentence, c.relevant, (), (), c.in_reference) for c in judged.answer_claims
    )
    reference = tuple(ReferenceClaim(c.id, c.text, (), (), c.in_answer) for c in judged.reference_claims)
    return Judged(claims, reference, judged.questions, judged.noncommittal, (), judged.steps, judged.sentences)


async def scored(name: str, judged: Judged = JUDGED, similar: Similarities = SIMILAR, **changes: Any) -> Score:
    """The score of a metric of the matrix, of this sample unless `case` and `response` are given."""
    metric = made(name, StubJudge(judged, similar))
    return await resolve(metric.score(changes.get("case", case()), changes.get("response", response())))
