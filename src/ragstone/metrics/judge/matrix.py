"""The protocol `matrix`: two requests to the judge and one to the embedder a sample, however many metrics ask.

1. *decompose*: question, answer, reference → the claims of both, the questions that the answer answers, whether it is
   noncommittal;
2. *verify*: numbered claims and passages → which passages support or contradict each claim, whether the reference
   supports each answer claim, whether the answer covers each reference claim, and of what use each passage is.

`verify="separate"` judges each passage in a request of its own, and the two lists of claims in one more. Long answers,
references and passages are split by a budget of tokens and the verdicts merged; nothing is truncated.

Each request is a pure function of the sample, the protocol and the prompts: which metrics are wanted changes none.

What becomes of what is missing: without an answer its claims are empty (and no request is made where there is no
reference either); without a reference `in_reference` and `useful` are None; without passages only the claims of
answer and reference are compared; where there is nothing to compare, nothing is asked.
"""

import asyncio
import functools
import hashlib
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from ragstone.errors import ModelError, UsageError
from ragstone.metrics._passages import retrieved
from ragstone.metrics._references import filled
from ragstone.metrics.judge.asking import ask
from ragstone.metrics.judge.merging import Piece, merge_joint, merge_separate
from ragstone.metrics.judge.pieces import groups, pieces, split_sentences
from ragstone.metrics.judge.predicting import predicted
from ragstone.metrics.judge.prompts import Prompts
from ragstone.metrics.judge.reply import ids_problem
from ragstone.metrics.judge.words import AnswerClaim, Judged, JudgeFailed, ReferenceClaim, Similarities
from ragstone.text import detect, estimate_tokens
from ragstone.types import Case, Embedder, Model, Response, Usage, to_json

__all__ = ["BUDGET", "MatrixJudge", "Texts", "open_judge"]

T = TypeVar("T")
Verify = Literal["joint", "separate"]
_Reply = tuple[dict[str, Any], list[dict[str, Any]]]  # the object, and the steps that led to it

BUDGET = 6_000  # tokens of passages, or of answer and reference, in one request
_KEPT = 1_024  # samples whose verdicts are remembered: more than are ever under way at one time
_QUESTIONS = 3  # of those that the answer answers, as many as count


@dataclass(frozen=True)
class Texts:
    """What a judge sees of a sample. `sample` numbers equal requests, for the judge's own variance."""

    question: str
    answer: str
    reference: str
    passages: tuple[str, ...]
    language: str
    sample: int

    @classmethod
    def of(cls, case: Case, response: Response, language: str = "") -> "Texts":
        """A reference of several slots is their first aliases, joined: what a whole answer says."""
        question = case.query.question
        spoken = language or case.query.language or case.sample.language or detect(f"{question} {response.answer}")
        return cls(
            question=question,
            answer=response.answer,
            reference=" ".join(slot[0].strip() for slot in filled(case.sample)),
            passages=tuple(passage.text for passage in retrieved(case, response)),
            language="zh" if spoken == "zh" else "en",
            sample=int(case.condition.get("judge_repeat", 0)),
        )

    @property
    def key(self) -> bytes:
        """Equal for equal texts."""
        held = [self.question, self.answer, self.reference, self.passages, self.language, self.sample]
        return hashlib.sha256(to_json(held).encode()).digest()


class _Shared:
    """Results by key, made once: who comes while one is made waits for it. A failure is everybody's who waits, and is
    forgotten then. One that waits and is cancelled cancels nobody else."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[tuple[str, bytes], asyncio.Task[Any]] = OrderedDict()

    async def get(self, step: str, key: bytes, make: Callable[[], Awaitable[T]]) -> T:
        place = (step, key)
        task: asyncio.Task[T] | None = self._tasks.get(place)
        if task is None or task.get_loop() is not asyncio.get_running_loop():
            task = asyncio.ensure_future(_coroutine(make))
            self._tasks[place] = task
            task.add_done_callback(functools.partial(self._done, place))
            while len(self._tasks) > _KEPT:
                self._tasks.popitem(last=False)
        else:
            self._tasks.move_to_end(place)
        return await asyncio.shield(task)

    def _done(self, place: tuple[str, bytes], task: "asyncio.Task[Any]") -> None:
        if (task.cancelled() or task.exception() is not None) and self._tasks.get(place) is task:
            del self._tasks[place]


async def _coroutine(make: Callable[[], Awaitable[T]]) -> T:
    return await make()


class MatrixJudge:
    """A judge by the protocol `matrix`. Made by `open_judge`."""

    def __init__(
        self, model: Model, embedder: Embedder | None, prompts: Prompts, *, verify: Verify, budget: int, language: str
    ) -> None:
        self.model, self.embedder, self.prompts = model, embedder, prompts
        self.mode, self.budget, self.language = verify, budget, language
        self._shared = _Shared()

    @property
    def spec(self) -> Mapping[str, Any]:
        """What makes this judge the one it is: for the run file, where another is another question."""
        steps = ("decompose", "verify") if self.mode == "joint" else ("decompose", "verify_passage", "verify_reference")
        hashes = {name: told for name, told in self.prompts.spec.items() if name.split("/")[0] in steps}
        return {
            "model": self.model.id, "protocol": "matrix", "verify": self.mode, "budget": self.budget,
            "language": self.language, "prompts": hashes,
        }  # fmt: skip

    async def decompose(self, case: Case, response: Response, /) -> Judged:
        """The claims, before any verdict: one request (more where the texts are long)."""
        texts = Texts.of(case, response, self.language)
        return await self._shared.get("decompose", texts.key, lambda: self._decompose(texts))

    async def verify(self, case: Case, response: Response, /) -> Judged:
        """The claims with every verdict: the request of `decompose` and one more."""
        texts = Texts.of(case, response, self.language)
        return await self._shared.get("verify", texts.key, lambda: self._verify(case, response, texts))

    async def similarities(self, case: Case, response: Response, /) -> Similarities:
        """The cosines that metrics need, by one embedding request for all of them."""
        texts = Texts.of(case, response, self.language)
        return await self._shared.get("similarities", texts.key, lambda: self._similarities(case, response, texts))

    def estimate(self, case: Case, response: Response, /, *, steps: frozenset[str]) -> Usage:
        """The requests and tokens that these steps are likely to take, before any is asked."""
        return predicted(self, Texts.of(case, response, self.language), steps)

    # --- decompose -----------------------------------------------------------------------------------------------

    def decompositions(self, texts: Texts) -> list[tuple[list[str], list[str]]]:
        """What each request of `decompose` shows: sentences of the answer, and of the reference."""
        answer = list(groups(split_sentences(texts.answer, texts.language), self.budget, estimate_tokens))
        reference = list(groups(split_sentences(texts.reference, texts.language), self.budget, estimate_tokens))
        longest = max(len(answer), len(reference))
        return [
            (answer[at] if at < len(answer) else [], reference[at] if at < len(reference) else [])
            for at in range(longest)
        ]

    def shown_to_decompose(self, texts: Texts, answer: Sequence[str], reference: Sequence[str]) -> dict[str, Any]:
        """What is judged in one request of `decompose`."""
        if list(reference) == split_sentences(texts.reference, texts.language):
            told: str | None = texts.reference or None  # as it was written, line ends and all
        else:
            told = ("" if texts.language == "zh" else " ").join(reference) or None
        return {"question": texts.question, "answer": _numbered(answer), "reference": told}

    async def _decompose(self, texts: Texts) -> Judged:
        prompt = self.prompts.get("decompose", texts.language)
        parts = self.decompositions(texts)

        async def one(answer: list[str], reference: list[str]) -> _Reply:
            steps: list[dict[str, Any]] = []
            reply = await ask(
                self.model, prompt, self.shown_to_decompose(texts, answer, reference), steps=steps, sample=texts.sample,
                check=lambda reply: _problem_of_claims(reply, len(answer), bool(reference)),
            )  # fmt: skip
            return reply, steps

        replies = await _all([one(answer, reference) for answer, reference in parts])
        return _joined(replies, [answer for answer, _ in parts])

    # --- verify --------------------------------------------------------------------------------------------------

    async def _verify(self, case: Case, response: Response, texts: Texts) -> Judged:
        judged = await self.decompose(case, response)
        try:
            if self.mode == "separate" or not texts.passages:
                return await self._separately(texts, judged)
            return await self._jointly(texts, judged)
        except JudgeFailed as error:
            raise JudgeFailed(str(error), (*judged.steps, *error.steps)) from None

    def pieces_of(self, texts: Texts) -> list[Piece]:
        """The passages as they are shown: (place of the passage from 1, text), one piece where it fits."""
        return [
            Piece(place, part)
            for place, passage in enumerate(texts.passages, start=1)
            for part in pieces(passage, self.budget, texts.language)
        ]

    def verifications(self, texts: Texts) -> list[list[Piece]]:
        """The pieces that each request of a joint `verify` shows."""
        return list(groups(self.pieces_of(texts), self.budget, lambda piece: estimate_tokens(piece.text)))

    def shown_to_verify(self, texts: Texts, judged: Judged, shown: Sequence[Piece]) -> dict[str, Any]:
        """What is judged in one request of a joint `verify`."""
        return {**_sides(texts, judged), "passages": _numbered([piece.text for piece in shown])}

    async def _jointly(self, texts: Texts, judged: Judged) -> Judged:
        prompt = self.prompts.get("verify", texts.language)

        async def one(shown: list[Piece]) -> _Reply:
            steps: list[dict[str, Any]] = []
            reply = await ask(
                self.model, prompt, self.shown_to_verify(texts, judged, shown), steps=steps, sample=texts.sample,
                check=lambda reply: _problem_of_joint(reply, texts, judged, len(shown)),
            )  # fmt: skip
            return reply, steps

        parts = self.verifications(texts)
        return merge_joint(judged, parts, await _all([one(shown) for shown in parts]), texts.reference)

    async def _separately(self, texts: Texts, judged: Judged) -> Judged:
        per_passage = self.prompts.get("verify_passage", texts.language)
        against = self.prompts.get("verify_reference", texts.language)

        async def passage(piece: Piece) -> _Reply:
            steps: list[dict[str, Any]] = []
            reply = await ask(
                self.model, per_passage, {**_sides(texts, judged), "passage": piece.text}, steps=steps,
                step=f"verify:passage:{piece.place}", sample=texts.sample,
                check=lambda reply: _problem_of_passage(reply, texts, judged),
            )  # fmt: skip
            return reply, steps

        async def reference() -> _Reply:
            steps: list[dict[str, Any]] = []
            reply = await ask(
                self.model, against, _sides(texts, judged), steps=steps, step="verify:reference", sample=texts.sample,
                check=lambda reply: _problem_of_ids(reply, judged),
            )  # fmt: skip
            return reply, steps

        parts = self.pieces_of(texts)
        compared = bool(judged.answer_claims and judged.reference_claims)
        replies = await _all([*(passage(piece) for piece in parts), *([reference()] if compared else [])])
        return merge_separate(judged, parts, replies, texts.reference, compared=compared)

    # --- similarities --------------------------------------------------------------------------------------------

    async def _similarities(self, case: Case, response: Response, texts: Texts) -> Similarities:
        if self.embedder is None:
            raise UsageError("This metric compares texts by an embedder: name one with --embedder PROVIDER/MODEL.")
        judged = await self.decompose(case, response)
        questions = list(judged.questions) if texts.question.strip() else []
        both = [texts.answer, texts.reference] if texts.answer.strip() and texts.reference.strip() else []
        if not questions and not both:
            return Similarities()
        try:
            vectors = await self.embedder.embed([texts.question or " ", *questions, *both], kind="query")
        except ModelError as error:
            raise JudgeFailed(f"the embedder: {error.kind}: {error}", judged.steps) from None
        cosines = [float(vectors[0] @ vectors[1 + number]) for number in range(len(questions))]
        answer = float(vectors[-2] @ vectors[-1]) if both else None
        if not all(math.isfinite(cosine) for cosine in (*cosines, answer or 0.0)):
            raise JudgeFailed("the embedder gave a vector that is no number", judged.steps)
        return Similarities(tuple(cosines), answer)


def open_judge(
    model: Model,
    *,
    embedder: Embedder | None = None,
    prompts: Prompts | None = None,
    verify: Verify = "joint",
    budget: int = BUDGET,
    language: str = "",
) -> MatrixJudge:
    """A judge by the protocol `matrix` with this chat model. `budget`: tokens of passages in one request at most.
    `language`: of the prompts ("en" or "zh"); "" follows each sample. Raises UsageError."""
    if verify not in ("joint", "separate"):
        raise UsageError(f"No way to verify is named {verify!r}: it is joint or separate.")
    if budget < 100:
        raise UsageError(f"A budget of {budget} tokens holds no passage: it is at least 100.")
    if language not in ("", "en", "zh"):
        raise UsageError(f"The language of the prompts is en or zh, not {language!r}.")
    return MatrixJudge(model, embedder, prompts or Prompts.load(), verify=verify, budget=budget, language=language)


async def _all(asked: Sequence[Coroutine[Any, Any, _Reply]]) -> list[_Reply]:
    """Every reply, asked at once. All end before the first failure is raised, with the steps of all."""
    ended = await asyncio.gather(*asked, return_exceptions=True)
    failures = [one for one in ended if isinstance(one, BaseException)]
    if failures and not isinstance(failures[0], JudgeFailed):
        raise failures[0]
    replies, steps = [], []
    for one in ended:
        if isinstance(one, BaseException):
            steps += list(getattr(one, "steps", ()))
        else:
            replies.append(one)
            steps += one[1]
    if failures:
        raise JudgeFailed(str(failures[0]), tuple(steps))
    return replies


def _numbered(texts: Sequence[str]) -> dict[str, str]:
    return {str(number): text for number, text in enumerate(texts, start=1)}


def _sides(texts: Texts, judged: Judged) -> dict[str, Any]:
    return {
        "question": texts.question,
        "reference": texts.reference or None,
        "answer_claims": _numbered([claim.text for claim in judged.answer_claims]),
        "reference_claims": _numbered([claim.text for claim in judged.reference_claims]),
    }


def _joined(replies: Sequence[_Reply], answers: Sequence[list[str]]) -> Judged:
    """The claims of all requests, numbered in order; each step gets what was made of its reply."""
    claims: list[AnswerClaim] = []
    reference: list[ReferenceClaim] = []
    questions: list[str] = []
    spoken: list[str] = []
    steps: list[dict[str, Any]] = []
    declined = []
    for (reply, asked), answer in zip(replies, answers, strict=True):
        found = [
            AnswerClaim(len(claims) + number, one["text"].strip(), len(spoken) + one["sentence"], one["relevant"])
            for number, one in enumerate(reply["answer_claims"], start=1)
        ]
        other = [
            ReferenceClaim(len(reference) + number, one["text"].strip())
            for number, one in enumerate(reply["reference_claims"], start=1)
        ]
        claims += found
        reference += other
        questions += [one.strip() for one in reply["questions"] if one.strip() and one.strip() not in questions]
        if answer:
            declined.append(bool(reply["noncommittal"]))
        spoken += answer
        asked[-1] |= {
            "sentences": answer,
            "answer_claims": [
                {"id": one.id, "text": one.text, "sentence": one.sentence, "relevant": one.relevant} for one in found
            ],
            "reference_claims": [{"id": one.id, "text": one.text} for one in other],
            "questions": reply["questions"],
            "noncommittal": reply["noncommittal"],
        }
        steps += asked
    return Judged(
        answer_claims=tuple(claims), reference_claims=tuple(reference), questions=tuple(questions[:_QUESTIONS]),
        noncommittal=bool(declined) and all(declined), steps=tuple(steps), sentences=tuple(spoken),
    )  # fmt: skip


def _problem_of_claims(reply: Mapping[str, Any], sentences: int, has_reference: bool) -> str:
    for number, claim in enumerate(reply["answer_claims"], start=1):
        if not claim["text"].strip():
            return f"answer_claims[{number}] is empty"
        if not 1 <= claim["sentence"] <= sentences:
            held = f"a sentence from 1 to {sentences}" if sentences else "no claim, because the answer is empty"
            return f"answer_claims[{number}] names sentence {claim['sentence']}, expected {held}"
    for number, claim in enumerate(reply["reference_claims"], start=1):
        if not has_reference:
            return "reference_claims has claims, but there is no reference"
        if not claim["text"].strip():
            return f"reference_claims[{number}] is empty"
    return ""


def _problem_of_ids(reply: Mapping[str, Any], judged: Judged) -> str:
    return ids_problem(reply["answer_claims"], len(judged.answer_claims), "answer_claims") or ids_problem(
        reply["reference_claims"], len(judged.reference_claims), "reference_claims"
    )


def _problem_of_joint(reply: Mapping[str, Any], texts: Texts, judged: Judged, passages: int) -> str:
    if problem := _problem_of_ids(reply, judged) or ids_problem(reply["passages"], passages, "passages"):
        return problem
    for at in ("answer_claims", "reference_claims"):
        for claim in reply[at]:
            both = [*claim["supported_by"], *claim["contradicted_by"]]
            if wrong := [number for number in both if not 1 <= number <= passages]:
                return f"{at}, id {claim['id']}, names passage {wrong[0]}; there are passages 1 to {passages}"
            if twofold := set(claim["supported_by"]) & set(claim["contradicted_by"]):
                return f"{at}, id {claim['id']}, has passage {min(twofold)} both support and contradict the claim"
    if texts.reference and any(claim["in_reference"] is None for claim in reply["answer_claims"]):
        return "in_reference is null, but there is a reference"
    if judged.answer_claims and any(claim["in_answer"] is None for claim in reply["reference_claims"]):
        return "in_answer is null, but the answer makes claims"
    return _problem_of_use(reply["passages"], texts)


def _problem_of_passage(reply: Mapping[str, Any], texts: Texts, judged: Judged) -> str:
    return _problem_of_ids(reply, judged) or _problem_of_use([reply], texts)


def _problem_of_use(passages: Sequence[Mapping[str, Any]], texts: Texts) -> str:
    if texts.reference and any(passage["useful"] is None for passage in passages):
        return "useful is null, but there is a reference"
    return ""
