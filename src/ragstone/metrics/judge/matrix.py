"""The protocol `matrix`: two requests to the judge and one to the embedder a sample, however many metrics ask.

1. *decompose*: question, answer, reference → the claims of both, the questions that the answer answers, whether it is
   noncommittal; one more request for each further alternative of the reference;
2. *verify*: numbered claims and passages → which passages support or contradict each claim, whether the reference
   supports each answer claim, whether the answer covers each reference claim, and of what use each passage is.

`verify="separate"` judges each passage in a request of its own, and the two lists of claims in one more. Long answers,
references and passages are split by a budget of tokens, long lists of claims by their number, and the verdicts merged;
nothing is truncated (`showing`).

Each request is a pure function of the sample, the protocol and the prompts: which metrics are wanted changes none.

| what is missing | what is asked | what comes of it |
|---|---|---|
| answer and reference | only passages are verified | no claims, `noncommittal` |
| the answer | both steps | no answer claims, no questions, `noncommittal`; `in_answer` None |
| the reference | both steps | no reference claims; `in_reference` and `useful` None |
| passages | *decompose*, then claims and reference are compared | no support, no verdicts on passages |
| passages and reference | *decompose* only | claims without verdicts |
| claims (a refusal) | both steps, for the passages and the reference | no answer claims; `in_answer` None |
"""

import asyncio
import math
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Literal

from ragstone.errors import ModelError, UsageError
from ragstone.messages import checked_language
from ragstone.metrics.judge.chunks import Excerpt, Part, compared, excerpts, parts, sides
from ragstone.metrics.judge.claims import JudgeFailed, Similarities
from ragstone.metrics.judge.cost import predicted
from ragstone.metrics.judge.doubts import doubt_of_claims
from ragstone.metrics.judge.inputs import Texts
from ragstone.metrics.judge.once import Once
from ragstone.metrics.judge.prompts import Prompts
from ragstone.metrics.judge.record import Judged, JudgeStep, merged
from ragstone.metrics.judge.request import Check, ask
from ragstone.metrics.judge.validation import (
    problem_of_claims,
    problem_of_comparison,
    problem_of_passage,
    problem_of_quotes,
    problem_of_verdicts,
)
from ragstone.metrics.judge.verdicts import (
    Reply,
    compared_steps,
    decomposed_steps,
    verified_alone_steps,
    verified_steps,
)
from ragstone.models import kept_from
from ragstone.types import Case, Embedder, Model, Response, Usage

BUDGET = 6_000  # tokens of passages, of the answer and of the reference, in one request
_KEPT = 1_024  # results that are remembered: three a sample, and far fewer samples are under way at one time


class MatrixJudge:
    """A judge by the protocol `matrix`. `budget`: tokens of passages in one request at most. `language`: of the prompts
    ("en" or "zh"); "" follows each sample. `strict_quotes`: a score that rests on a verdict whose quote is in no
    passage is failed. Raises UsageError."""

    def __init__(
        self,
        model: Model,
        *,
        embedder: Embedder | None = None,
        prompts: Prompts | None = None,
        verify: Literal["joint", "separate"] = "joint",
        budget: int = BUDGET,
        language: str = "",
        strict_quotes: bool = False,
    ) -> None:
        if verify not in ("joint", "separate"):
            raise UsageError(f"No way to verify is named {verify!r}: it is joint or separate.")
        if budget < 100:
            raise UsageError(f"A budget of {budget} tokens holds no passage: it is at least 100.")
        if language:
            checked_language(language)
        self.model, self.embedder, self.prompts = model, embedder, prompts or Prompts.load()
        self.separate, self.budget, self.language = verify == "separate", budget, language
        self.strict_quotes = strict_quotes
        self._once = Once(_KEPT)

    @property
    def spec(self) -> Mapping[str, Any]:
        """What makes this judge the one it is: for the run file, where another is another question."""
        steps = {"decompose", "verify_reference", "verify_passage" if self.separate else "verify"}
        hashes = {name: prompt_hash for name, prompt_hash in self.prompts.spec.items() if name.split("/")[0] in steps}
        return {
            "model": self.model.id,
            "protocol": "matrix",
            "version": 2,
            "verify": "separate" if self.separate else "joint",
            "budget": self.budget,
            "language": self.language,
            "prompts": hashes,
            "strict_quotes": self.strict_quotes,
            **({} if self.embedder is None else {"embedder": self.embedder.id}),
        }

    async def decompose(self, case: Case, response: Response, /) -> Judged:
        """The claims, before any verdict: one request (more where the texts are long)."""
        return await self._decomposed(Texts.of(case, response, self.language))

    async def verify(self, case: Case, response: Response, /) -> Judged:
        """The claims with every verdict: the request of `decompose` and one more."""
        texts = Texts.of(case, response, self.language)
        return await self._once.get(("verify", texts.key), lambda: self._verify(texts))

    async def similarities(self, case: Case, response: Response, /) -> Similarities:
        """The cosines that metrics need, by one embedding request for all of them."""
        texts = Texts.of(case, response, self.language)
        return await self._once.get(("similarities", texts.key), lambda: self._similarities(texts))

    def estimate(self, case: Case, response: Response, /, *, steps: frozenset[str]) -> Usage:
        """The requests to the chat model that these steps are likely to take, and their tokens, before any is asked."""
        texts = Texts.of(case, response, self.language)
        kept = kept_from(self.model.id)
        return predicted(texts, self.prompts, steps, budget=self.budget, separate=self.separate, kept_from=kept)

    async def _decomposed(self, texts: Texts) -> Judged:
        return await self._once.get(("decompose", texts.key), lambda: self._decompose(texts))

    async def _decompose(self, texts: Texts) -> Judged:
        shown = excerpts(texts, self.budget)

        def one(excerpt: Excerpt) -> Coroutine[Any, Any, Reply]:
            content = excerpt.shown(texts.asked)
            return self._ask(
                "decompose", texts, content, lambda reply: problem_of_claims(reply, excerpt),
                doubt=lambda reply: doubt_of_claims(reply, excerpt, texts),
            )  # fmt: skip

        return merged(decomposed_steps(await _all([one(excerpt) for excerpt in shown]), shown))

    async def _verify(self, texts: Texts) -> Judged:
        judged = await self._decomposed(texts)
        shown = parts(texts, judged, self.budget, separate=self.separate)
        everything = Part(judged.answer_claims, judged.reference_claims)
        requests = [self._compare(texts, everything)] if compared(texts, judged, separate=self.separate) else []
        requests += [
            self._verify_alone(texts, part) if self.separate else self._verify_part(texts, part) for part in shown
        ]
        try:
            replies = await _all(requests)
        except JudgeFailed as error:
            raise JudgeFailed(str(error), (*judged.steps, *error.steps)) from None
        steps, reference, answer = list(judged.steps), bool(texts.reference), bool(judged.answer_claims)
        for reply in replies[: len(replies) - len(shown)]:
            steps += compared_steps(reply)
        for reply, part in zip(replies[len(replies) - len(shown) :], shown, strict=True):
            if self.separate:
                steps += verified_alone_steps(reply, part, reference=reference)
            else:
                steps += verified_steps(reply, part, answer=answer, reference=reference)
        return merged(steps)

    async def _verify_part(self, texts: Texts, part: Part) -> Reply:
        return await self._ask(
            "verify", texts, part.shown(texts), lambda reply: problem_of_verdicts(reply, part, texts),
            doubt=lambda reply: problem_of_quotes(reply, part),
        )  # fmt: skip

    async def _verify_alone(self, texts: Texts, part: Part) -> Reply:
        return await self._ask(
            "verify_passage", texts, part.shown_alone(texts), lambda reply: problem_of_passage(reply, part, texts),
            step="verify:passage", doubt=lambda reply: problem_of_quotes(reply, part),
        )  # fmt: skip

    async def _compare(self, texts: Texts, part: Part) -> Reply:
        return await self._ask(
            "verify_reference", texts, sides(texts, part.answer, part.reference),
            lambda reply: problem_of_comparison(reply, part), step="verify:reference",
        )  # fmt: skip

    async def _ask(
        self,
        prompt: str,
        texts: Texts,
        shown: Mapping[str, Any],
        check: Check,
        *,
        step: str = "",
        doubt: Check | None = None,
    ) -> Reply:
        steps: list[JudgeStep] = []
        chosen = self.prompts.get(prompt, texts.language)
        reply = await ask(
            self.model, chosen, shown, steps=steps, step=step, check=check, doubt=doubt, sample=texts.sample
        )  # fmt: skip
        return Reply(reply, steps)

    async def _similarities(self, texts: Texts) -> Similarities:
        if self.embedder is None:
            raise UsageError("This metric compares texts by an embedder: name one with --embedder PROVIDER/MODEL.")
        judged = await self._decomposed(texts)
        questions = list(judged.questions) if texts.question.strip() else []
        both = [texts.answer, *texts.references] if texts.answer.strip() and texts.references else []
        if not questions and not both:
            return Similarities()
        try:
            vectors = await self.embedder.embed([texts.question or " ", *questions, *both], kind="query")
        except ModelError as error:
            raise JudgeFailed(f"The embedder: {error.kind}: {error}", judged.steps) from None
        if len(vectors) != 1 + len(questions) + len(both):
            raise JudgeFailed("The embedder gave no vector for each text.", judged.steps)
        cosines = [float(vectors[0] @ vectors[1 + number]) for number in range(len(questions))]
        answers = [float(cosine) for cosine in vectors[-len(texts.references) :] @ vectors[-len(both)]] if both else []
        if not all(math.isfinite(cosine) for cosine in (*cosines, *answers)):
            raise JudgeFailed("The embedder gave a vector that is no number.", judged.steps)
        return Similarities(tuple(cosines), answers[0] if answers else None, tuple(answers[1:]))


async def _all(coroutines: Sequence[Coroutine[Any, Any, Reply]]) -> list[Reply]:
    """Every reply, asked at once. All end before the first failure is raised, with the steps of all."""
    ended = await asyncio.gather(*coroutines, return_exceptions=True)
    replies, steps, failures = list[Reply](), list[JudgeStep](), list[BaseException]()
    for result in ended:
        if isinstance(result, BaseException):
            failures.append(result)
            steps += list(getattr(result, "steps", ()))
        else:
            replies.append(result)
            steps += result.steps
    for failure in failures:
        if not isinstance(failure, JudgeFailed):
            raise failure
    if failures:
        raise JudgeFailed(str(failures[0]), tuple(steps))
    return replies
