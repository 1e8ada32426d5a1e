"""What the metrics of the claim matrix share: when the judge is asked, what is said where nothing can be scored, and
how the judge's replies become evidence.

The rows of each metric's table say what becomes of the cases that a formula does not speak of:

- an answer that declines is one that the judge calls noncommittal; a rule finds the others (`declines`);
- an answer that is empty is never shown to the judge;
- passages are those that the system returned, else those that it was given (`retrieved`). Where it is recorded that a
  system retrieved nothing, metrics of retrieval are 0 and no claim has support; where nobody recorded what was
  retrieved, metrics that need passages do not apply;
- alternative references are all shown to the judge. The one that fits best counts, and the evidence says which;
- a question that cannot be answered (`answerable`) has no relevant answer and nothing to retrieve: relevancy, context
  precision and what compares with a reference do not apply. Correctness is 1 for a refusal and 0 for an answer,
  unless the reference states something.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from msgspec.structs import replace

from ragstone.errors import ModelError
from ragstone.metrics import Tools
from ragstone.metrics._applicability import without_asking
from ragstone.metrics._references import alternatives
from ragstone.metrics.judge.claims import Judge, JudgeFailed
from ragstone.metrics.judge.record import AnswerClaim, Judged, JudgeStep, ReferenceClaim, evidence
from ragstone.metrics.refusal import refusal_spans
from ragstone.types import Case, Need, Response, Score

NO_CLAIMS = "the answer makes no claim"
NO_REFERENCE_CLAIMS = "the reference makes no claim"


def declines(judged: Judged, answer: str) -> bool:
    """Whether an answer is a refusal: the judge calls it noncommittal, or it declines by its wording (`refusal`) and
    no claim of it helps to answer the question."""
    return judged.noncommittal or (
        not any(claim.relevant for claim in judged.answer_claims) and bool(refusal_spans(answer))
    )


def share(counted: Iterable[int], of: int, what: str, otherwise: str) -> Score:
    """`counted` of `of`, with the counted ids as evidence; not applicable, because of `otherwise`, where `of` is 0.

    `what` says what the ids number: "answer_claims", "reference_claims" or "passages".
    """
    ids = list(counted)
    if not of:
        return Score.not_applicable(otherwise)
    return Score.of(len(ids) / of, evidence={"what": what, "counted": ids, "of": of})


def stated(claims: Iterable[AnswerClaim]) -> list[int]:
    """The answer claims that the reference supports. JudgeFailed where a verdict is missing."""
    return [claim.id for claim in claims if _required(claim.in_reference, f"answer claim {claim.id}")]


def covered(claims: Iterable[ReferenceClaim], answer_claims: Iterable[AnswerClaim]) -> list[int]:
    """The reference claims that the answer covers; none where the answer makes no claim. JudgeFailed as in `stated`."""
    if not any(True for _ in answer_claims):
        return []
    return [claim.id for claim in claims if _required(claim.in_answer, f"reference claim {claim.id}")]


def supporting(claims: Iterable[ReferenceClaim]) -> set[int]:
    """The passages, by their places, that support at least one claim of the reference: RAGChecker's relevant ones."""
    return {place for claim in claims for place in claim.supported_by}


def check_sentences(claims: Iterable[AnswerClaim]) -> None:
    """JudgeFailed where a claim names no sentence of the answer, without which its citations are not known."""
    for claim in claims:
        if not claim.sentence:
            raise JudgeFailed(f"The judge named no sentence of the answer for claim {claim.id}.", ())


def _required(verdict: bool | None, of: str) -> bool:
    if verdict is None:  # never a smaller denominator
        raise JudgeFailed(f"The judge gave no verdict on {of}.", ())
    return verdict


def _of_alternative(judged: Judged, number: int) -> Judged:
    """What was found with one of several references. A claim of the answer that any of them states is right."""
    claims = tuple(claim for claim in judged.reference_claims if claim.alternative == number)
    return replace(judged, reference_claims=claims, alternative=number)


def _covered(judged: Judged) -> list[int]:
    return [claim.id for claim in judged.reference_claims if claim.in_answer]


@dataclass(frozen=True)
class FromMatrix:
    """A metric that is computed from a judge's claims and verdicts. A subclass says what it needs and how the number
    is made (`_measure`); everything else is here."""

    name: ClassVar[str]
    version: ClassVar[int] = 3
    needs: ClassVar[frozenset[Need]]
    uses: ClassVar[tuple[str, ...]] = ("judge",)
    steps: ClassVar[frozenset[str]] = frozenset({"decompose", "verify"})
    better: ClassVar[Literal["higher", "lower", "neither"]] = "higher"
    # Whose support by passages enters the score: claims of the "answer", of the "reference", or of both.
    rests_on: ClassVar[tuple[str, ...]] = ()
    # What is known without asking (`_applicability`).
    empty: ClassVar[float | Literal["ask"] | None] = None
    of_retrieval: ClassVar[bool] = False
    only_answerable: ClassVar[bool] = False
    scores_refusals: ClassVar[bool] = False

    judge: Judge

    @classmethod
    def make(cls, tools: Tools, /) -> Self:
        """The metric by the judge of these tools, which must have one."""
        assert tools.judge is not None
        return cls(tools.judge)

    async def score(self, case: Case, response: Response, /) -> Score:
        """The score, with everything that the judge was asked and replied in `evidence["verdicts"]`."""
        early = without_asking(self, case, response)
        if early is not None:
            return early
        steps: tuple[JudgeStep, ...] = ()
        try:
            ask = self.judge.verify if "verify" in self.steps else self.judge.decompose
            judged = await ask(case, response)
            steps = judged.steps
            result = await self._by_best_reference(judged, case, response)
        except JudgeFailed as error:
            return Score.failed(str(error), evidence=evidence(error.steps or steps))
        except ModelError as error:
            return Score.failed(f"{error.kind}: {error}", evidence=evidence(steps))
        flagged = self._flagged(judged) if result.status == "scored" else {}
        if flagged and getattr(self.judge, "strict_quotes", False):
            side, ids = next(iter(flagged.items()))
            result = Score.failed(f"unsupported quote: {side}, id {ids[0]}")
        marks = {"unsupported_quotes": flagged} if flagged else {}
        return replace(result, evidence=evidence(steps, {**(result.evidence or {}), **marks}))

    def _flagged(self, judged: Judged) -> dict[str, list[int]]:
        """The claims that this score counts as supported although their quotes are in no passage, by side."""
        sides: dict[str, Sequence[AnswerClaim | ReferenceClaim]] = {
            "answer": judged.answer_claims, "reference": judged.reference_claims
        }  # fmt: skip
        flagged = {
            f"{side}_claims": [claim.id for claim in sides[side] if claim.unsupported_quote] for side in self.rests_on
        }
        return {side: ids for side, ids in flagged.items() if ids}

    async def _by_best_reference(self, judged: Judged, case: Case, response: Response) -> Score:
        """The score by the alternative of the reference that fits best; the evidence says which. Where lower or neither
        is better, it is the one that the answer covers best, so that measures that sum to 1 still do."""
        numbers = sorted({claim.alternative for claim in judged.reference_claims})
        if Need.REFERENCES not in self.needs or not any(numbers):
            return await self._measure(judged, case, response)
        views = [_of_alternative(judged, number) for number in numbers]
        if self.better != "higher":
            views = [max(views, key=lambda view: len(_covered(view)) / len(view.reference_claims))]
        results = [(view, await self._measure(view, case, response)) for view in views]
        view, best = max(results, key=lambda result: -1.0 if result[1].value is None else result[1].value)
        reference = alternatives(case.sample)[view.alternative - 1]
        return replace(best, evidence={**(best.evidence or {}), "reference": reference})

    async def _measure(self, judged: Judged, case: Case, response: Response) -> Score:
        raise NotImplementedError
