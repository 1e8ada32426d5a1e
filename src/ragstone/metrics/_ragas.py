"""What the five metrics of the protocol `ragas` share: one request a step, read strictly, with its evidence.

The steps and formulas are those of the ragas package (Es et al. 2024, "RAGAs: Automated Evaluation of Retrieval
Augmented Generation"; its version 0.4.3), for comparison with scores that people have. The prompts are ours, in English
and Chinese. Where ragas scores what a judge has not said, these do not, and differ from it:

- A refusal gets an F1 of 1 there where neither the answer nor the reference gives a statement. Here a reference without
  a statement is nothing to compare with (not applicable), and an answer without one has an F1 of 0.
- A judge that returns one verdict for four statements gives a faithfulness of 1 there. Here every number has to come
  back exactly once; otherwise the judge is asked once more with the problem named, and then the score is `failed`.
- A verdict of 5 gives a context recall of 5 there. Here a verdict is 0 or 1.
- A score that cannot be computed is NaN there. Here it is `not_applicable` or `failed` with the reason, and a mean says
  how many of how many were scored.
- A negative cosine counts as 0, so that every score lies in [0, 1].
- As there, all contexts go into one request, however long: one that is too long for the judge fails with its reason,
  and nothing is cut off. The protocol `matrix` splits.
- Statements are numbered, and a verdict names the number; there it repeats the statement. The comparison of an answer
  with its reference has a verdict on each statement of both; there it lists TP, FP and FN.
"""

import asyncio
import math
from abc import abstractmethod
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

from msgspec.structs import replace

from ragstone.errors import ModelError
from ragstone.metrics import Tools
from ragstone.metrics._applicability import without_asking
from ragstone.metrics._references import alternatives
from ragstone.metrics.answerable import refusal_expected
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.inputs import Texts
from ragstone.metrics.judge.problems import problem as wrong
from ragstone.metrics.judge.prompts import Prompts
from ragstone.metrics.judge.record import JudgeStep, evidence
from ragstone.metrics.judge.reply import ids_problem
from ragstone.metrics.judge.request import Check, ask, turns_of
from ragstone.models.concurrency import gather_all
from ragstone.text import estimate_tokens, sentences
from ragstone.types import Case, Embedder, Model, Need, Response, Score, Usage

NO_STATEMENTS = "the answer makes no statement"
R = TypeVar("R")


class Planned(NamedTuple):
    """A request that is to be made, or is likely to be: its step, what it shows, and about the tokens of its reply."""

    step: str
    shown: Mapping[str, Any]
    written: float


def numbered(texts: Sequence[str]) -> dict[str, str]:
    """The texts by their numbers, from "1"."""
    return {str(number): text for number, text in enumerate(texts, start=1)}


class Talk:
    """One sample before a judge: its texts, the requests about it, and what was asked and replied (`steps`)."""

    def __init__(self, metric: "RagasStyle", case: Case, response: Response, alternative: int = 0) -> None:
        texts = Texts.of(case, response, metric.language)
        self.question, self.bare_question, self.answer = texts.asked, texts.question, texts.answer
        self.references = texts.references
        self.reference = texts.references[alternative] if texts.references else ""
        self.pool = tuple(passage.text for passage in case.sample.passages)
        self.contexts, self.context = texts.passages, "\n".join(texts.passages)
        self.language, self._repeat, self._metric = texts.language, texts.sample, metric
        self.refusal_expected = refusal_expected(case)
        self.key = (texts.key, texts.sample)
        self._asked: list[list[JudgeStep]] = []
        self.adopted = False

    @property
    def steps(self) -> list[JudgeStep]:
        """One for each request, in the order in which they were begun."""
        return [step for steps in self._asked for step in steps]

    def adopt(self, steps: list[JudgeStep]) -> None:
        """Takes the requests of another talk, on whose replies this score rests too, as its own."""
        self._asked = [steps]
        self.adopted = True

    def guessed_statements(self, text: str) -> list[str]:
        """About what the statements of a text will be, before anybody is asked: its sentences."""
        return [part.strip() for part in sentences(text, self.language) if part.strip()]

    def plan_of_statements(self, text: str) -> Planned:
        """The request of `statements`, before it is made."""
        written = 12 + 1.25 * estimate_tokens(text) + 5 * len(self.guessed_statements(text))
        return Planned("ragas_statements", {"question": self.question, "text": text}, written)

    async def statements(self, text: str) -> list[str]:
        """The statements that the judge finds in a text that answers the question."""
        shown = {"question": self.question, "text": text}
        reply = await self.ask("ragas_statements", shown, check=_blank_statement)
        texts: list[str] = reply["statements"]
        return texts

    async def ask(
        self,
        step: str,
        shown: Mapping[str, Any],
        *,
        ids: Mapping[str, int] | None = None,
        check: Check | None = None,
        copy: int = 0,
        copies: int = 1,
        temperature: float = 0.0,
    ) -> dict[str, Any]:
        """The judge's reply to one step, asked once more with the problem named where it cannot be used.

        `ids` says how many numbered items each list of the reply must have, each once; `check` says what else is wrong
        with a reply. `copy` numbers equal requests (of `copies`). Raises JudgeFailed.
        """
        prompt = self._metric.prompts.get(step, self.language)
        steps: list[JudgeStep] = []
        self._asked.append(steps)

        def problem(reply: dict[str, Any]) -> str:
            for at, count in (ids or {}).items():
                if message := ids_problem(reply[at], count, at):
                    return message
            return check(reply) if check else ""

        sample = self._repeat * copies + copy
        # The number of a copy is kept, so that one with the same reply is not taken for the same request.
        return await ask(
            self._metric.model, prompt, shown, steps=steps, check=problem, sample=sample, temperature=temperature,
            copy=copy,
        )  # fmt: skip

    async def all(self, requests: Iterable[Coroutine[Any, Any, R]]) -> list[R]:
        """The results of several requests that run at once. All end before the first error among them is raised."""
        ended = await asyncio.gather(*requests, return_exceptions=True)
        results: list[R] = []
        for result in ended:
            if isinstance(result, BaseException):
                raise result
            results.append(result)
        return results

    async def cosines(self, text: str, others: Sequence[str]) -> list[float]:
        """The cosine of `text` and each of the others, by one embedding request."""
        assert self._metric.embedder is not None
        vectors = await self._metric.embedder.embed([text or " ", *others], kind="query")
        values = [float(cosine) for cosine in vectors[1:] @ vectors[0]]
        if len(values) != len(others) or not all(math.isfinite(cosine) for cosine in values):
            raise JudgeFailed("The embedder gave no cosine for each text.")
        return values


@dataclass(frozen=True)
class RagasStyle:
    """A metric of the protocol `ragas`. A subclass says what it needs and how the number is made (`_measure`)."""

    name: ClassVar[str]
    version: ClassVar[int] = 2
    label: ClassVar[str] = "ragas-style"
    needs: ClassVar[frozenset[Need]]
    uses: ClassVar[tuple[str, ...]] = ("model",)
    asks: ClassVar[tuple[str, ...]]  # the prompts it rests on
    steps: ClassVar[frozenset[str]] = frozenset()  # of the judge of the matrix: none
    better: ClassVar[Literal["higher", "lower", "neither"]] = "higher"
    # What is known without asking (`_applicability`).
    empty: ClassVar[float | None] = None
    of_retrieval: ClassVar[bool] = False
    only_answerable: ClassVar[bool] = False
    scores_refusals: ClassVar[bool] = False

    model: Model
    prompts: Prompts
    embedder: Embedder | None = None
    language: str = ""

    @classmethod
    def make(cls, tools: Tools, /) -> Self:
        """The metric by the chat model, the embedder and the prompts of these tools."""
        assert tools.model is not None
        embedder = tools.embedder if "embedder" in cls.uses else None
        return cls(tools.model, tools.prompts or Prompts.load(), embedder, tools.language)

    async def score(self, case: Case, response: Response, /) -> Score:
        """The score, with everything that the judge was asked and replied in `evidence["verdicts"]`."""
        early = without_asking(self, case, response)
        if early is not None:
            return early
        talks = self._talks(case, response)
        try:
            results = await gather_all(*map(self._measure, talks))
        except (JudgeFailed, ModelError) as error:
            reason = f"{error.kind}: {error}" if isinstance(error, ModelError) else str(error)
            return Score.failed(reason, evidence=self._evidence(talks, {}))
        talk, best = max(zip(talks, results, strict=True), key=lambda pair: _rank(pair[1]))
        which = {"reference": talk.reference} if len(talks) > 1 else {}
        return replace(best, evidence=self._evidence(talks, {**(best.evidence or {}), **which}))

    def _evidence(self, talks: Sequence[Talk], details: Mapping[str, Any]) -> dict[str, Any]:
        shared = any(talk.adopted for talk in talks)
        steps = (step for talk in talks for step in talk.steps)
        return evidence(steps, details, metric="" if shared else self.name)

    def estimate(self, case: Case, response: Response, /) -> Usage:
        """The requests and tokens that the score is likely to take, for `--dry-run`; embedding is not counted."""
        total = Usage()
        for talk in () if without_asking(self, case, response) else self._talks(case, response):
            for planned in self._plan(talk):
                turns = turns_of(self.prompts.get(planned.step, talk.language), planned.shown)
                prompt_tokens = sum(estimate_tokens(turn.content) for turn in turns)
                total += Usage(prompt_tokens=prompt_tokens, completion_tokens=round(planned.written), requests=1)
        return total

    def _talks(self, case: Case, response: Response) -> list[Talk]:
        """One for each alternative of the reference, of which the best counts; a metric without a reference has one."""
        several = len(alternatives(case.sample)) if Need.REFERENCES in self.needs else 1
        return [Talk(self, case, response, number) for number in range(max(several, 1))]

    @abstractmethod
    async def _measure(self, talk: Talk) -> Score: ...

    @abstractmethod
    def _plan(self, talk: Talk) -> Iterable[Planned]: ...


def _rank(score: Score) -> float:
    """What a score is compared by; one without a value comes last."""
    return -1.0 if score.value is None else score.value


def _blank_statement(reply: dict[str, Any]) -> str:
    blank = [number for number, text in enumerate(reply["statements"], start=1) if not text.strip()]
    return wrong("blank", at=f"statements[{blank[0]}]") if blank else ""
