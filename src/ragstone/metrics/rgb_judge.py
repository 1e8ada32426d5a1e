"""The judged metrics of RGB: Rej* and ED*, by a model that reads the question and the answer, and, where rules
cannot tell, the binding of parts and confused concepts.

The paper (Chen et al. 2024) has its figures by exact wording checked "with instructions and demonstrations" by a model,
because systems refuse and object in words of their own. The prompts are ragstone's, in `prompts/rgb_*.toml`; how saved
replies of the official judge are read is `rejection_verdict` and `error_verdict`, which read our own replies as we do.

What is judged travels as data, and the one verdict of a reply is read, or none: see `metrics/judge`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from typing import Any, ClassVar, Literal, Self

from msgspec.structs import replace

from ragstone.metrics import Tools
from ragstone.metrics.answer_match import AnswerMatch
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.prompts import Example, Prompt
from ragstone.metrics.judge.record import JudgeStep, evidence
from ragstone.metrics.judge.reply import CUT_OFF, Read, read_reply
from ragstone.metrics.judge.request import ask, turns_of
from ragstone.metrics.refusal import Refusal
from ragstone.metrics.rgb_binding import RgbBinding, outcome_of
from ragstone.structs import Frozen, to_json
from ragstone.text import find_answer
from ragstone.types import Case, Completion, Model, Need, Response, Score, Turn

_SOURCE = 1_000  # characters of a passage that the judge sees
_FORM = {
    "type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"],
    "additionalProperties": False,
}  # fmt: skip


def rejection_verdict(reply: str) -> bool:
    """Whether a judge's reply says that the answer rejects the question: the official rule, for saved replies."""
    return "not addressed" in reply


def error_verdict(reply: str) -> bool:
    """Whether a judge's reply says that the answer detects the error: the official rule, for saved replies."""
    return "has identified" in reply or "Yes" in reply


class _VerdictPrompt(Frozen, frozen=True):
    """What a judge is told, and the two verdicts that it may give: `positive` is the one that scores 1."""

    prompt: Prompt
    positive: str
    negative: str

    @property
    def schema(self) -> dict[str, Any]:
        return {**_FORM, "properties": {"verdict": {"type": "string", "enum": [self.positive, self.negative]}}}

    def read(self, reply: Completion, shown: Mapping[str, Any]) -> Read:
        """The verdict of a reply, as JSON or as the whole of it, or what is wrong with it."""
        parsed, problem, coerced = read_reply(reply.text, self.schema, finish_reason=reply.finish_reason, shown=shown)
        bare = reply.text.strip("\"'“”.。 \t\r\n").lower()
        if problem and bare in (self.positive, self.negative) and reply.finish_reason not in CUT_OFF:
            return Read({"verdict": bare})
        return Read(parsed, problem, coerced)


@cache
def _load_prompt(name: str) -> _VerdictPrompt:
    text = (files("ragstone.metrics") / "prompts" / f"{name}.toml").read_text(encoding="utf-8")
    read = tomllib.loads(text)
    examples = tuple(
        Example({key: value for key, value in shown.items() if key != "verdict"}, {"verdict": shown["verdict"]})
        for shown in read["demonstrations"]
    )
    prompt = Prompt(name, "en", 1, read["system"].strip(), examples, read["again"].strip())
    return _VerdictPrompt(prompt, read["positive"], read["negative"])


@dataclass(frozen=True)
class _Judge:
    """What both judged metrics share. `nonce` is mixed into the codes of the delimiters; leave it alone to keep the
    reply cache of use from run to run."""

    name: ClassVar[str]
    _file: ClassVar[str]
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER})
    uses: ClassVar[tuple[str, ...]] = ("model",)

    judge: Model
    nonce: str = ""

    @classmethod
    def make(cls, tools: Tools) -> Self:
        """The metric by the model of these tools, which must have one."""
        assert tools.model is not None
        return cls(tools.model)

    @cached_property
    def prompt_hash(self) -> str:
        """SHA-256 of everything that is said to the judge but the judged text itself."""
        return sha256(to_json([self.verdict_prompt.prompt.hash, self.verdict_prompt.schema]).encode()).hexdigest()

    @property
    def verdict_prompt(self) -> _VerdictPrompt:
        return _load_prompt(self._file)

    async def _ask(self, case: Case, response: Response, **more: Any) -> Score:
        """Ask once, and once more with the problem named where the reply is none of the verdicts. `more` is shown
        beside question and answer."""
        if not response.answer.strip():
            return Score.of(0.0, reason="The answer is empty; nothing was asked of the judge.")
        prompt = self.verdict_prompt
        steps: list[JudgeStep] = []
        verdict, reason = None, ""
        try:
            answer = await ask(
                self.judge, prompt.prompt, {"question": case.query.question, "answer": response.answer, **more},
                steps=steps, schema=prompt.schema, read=prompt.read, sample=case.query.repeat, nonce=self.nonce,
            )  # fmt: skip
            verdict = answer["verdict"]
        except JudgeFailed as error:
            reason = str(error)
        recorded = [step if step.problem else replace(step, verdict=verdict) for step in steps]
        reply = next((step.reply for step in reversed(steps) if step.reply is not None), "")
        details = evidence(recorded, {"reply": reply})
        if verdict is None:
            return Score.failed(reason, evidence=details)
        return Score.of(float(verdict == prompt.positive), evidence=details, reason=f"The judge: {verdict}.")


@dataclass(frozen=True)
class RgbRejectionJudge(_Judge):
    """`rgb.judge.rejection`, Rej*: 1.0 where the judge finds that the answer reports a lack of information, else 0.0.

    Formula: 1 if the judge's verdict is that the question is not addressed, else 0.
    Range: 0 or 1, higher is better.
    Needs: the answer; a judge. Only for cases of rejection.
    Evidence: {"reply": the last reply, "verdicts": each verdict with its reply and model}.
    Source: Chen et al. 2024, "Benchmarking Large Language Models in Retrieval-Augmented Generation", Rej*.

    | case | result |
    |---|---|
    | the answer declines | 1, if the judge finds so |
    | the answer is empty | 0, and the judge is not asked |
    | no passages | scored; none are needed |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name = "rgb.judge.rejection"
    _file = "rgb_rejection"

    async def score(self, case: Case, response: Response, /) -> Score:
        if case.condition.get("ability") != "rejection":
            return Score.not_applicable("Rej* is about questions whose documents hold no answer.")
        return await self._ask(case, response)


@dataclass(frozen=True)
class RgbErrorJudge(_Judge):
    """`rgb.judge.error_detection`, ED*: 1.0 where the judge finds that the answer reports an error, else 0.0.

    Formula: 1 if the judge's verdict is that the answer has identified the error, else 0.
    Range: 0 or 1, higher is better.
    Needs: the answer; a judge. Only for counterfactual cases with documents.
    Evidence: {"reply": the last reply, "verdicts": each verdict with its reply and model}.
    Source: Chen et al. 2024, "Benchmarking Large Language Models in Retrieval-Augmented Generation", ED*.

    | case | result |
    |---|---|
    | the answer declines | as the judge finds |
    | the answer is empty | 0, and the judge is not asked |
    | no passages | scored; none are needed |
    | no reference | scored; none is needed |
    | the judge failed | failed |
    """

    name = "rgb.judge.error_detection"
    _file = "rgb_error_detection"

    async def score(self, case: Case, response: Response, /) -> Score:
        if case.condition.get("ability") != "counterfactual" or case.condition.get("closed_book"):
            return Score.not_applicable("ED* is about questions whose documents hold a false answer.")
        return await self._ask(case, response)


@dataclass(frozen=True)
class RgbBindingJudge(_Judge):
    """`rgb.judge.binding`: 1.0 where the judge finds that the answer gives each part its own value, else 0.0.

    Formula: 1 if the judge's verdict is that the values are bound to their parts, else 0.
    Range: 0 or 1, higher is better.
    Needs: the answer, the reference; a judge. Only for cases of integration that `rgb.binding` finds "unbound".
    Evidence: {"reply": the last reply, "verdicts": each verdict with its reply and model}.
    Source: the misalignment errors of Chen et al. 2024, "Benchmarking Large Language Models in Retrieval-Augmented
    Generation", section 4.4.

    | case | result |
    |---|---|
    | the answer declines | not applicable |
    | the answer is empty | not applicable |
    | no passages | scored; none are needed |
    | no reference | not applicable |
    | the judge failed | failed |
    """

    name = "rgb.judge.binding"
    _file = "rgb_binding"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})

    async def score(self, case: Case, response: Response, /) -> Score:
        if outcome_of(RgbBinding().score(case, response)) != "unbound":
            return Score.not_applicable("The judge is asked only where `rgb.binding` cannot tell.")
        parts = [{"value": slot[0], "source": _source(case, slot)} for slot in case.sample.references]
        return await self._ask(case, response, parts=parts)


@dataclass(frozen=True)
class RgbConfusionJudge(_Judge):
    """`rgb.judge.confusion`: 1.0 where the judge finds that a wrong answer takes something similar for what was asked,
    else 0.0.

    Formula: 1 if the judge's verdict is that the answer is about another category, part, person or event of the same
    kind, which a document tells of, else 0.
    Range: 0 or 1, lower is better.
    Needs: the answer, the reference; a judge. Only for wrong answers of noise robustness and negative rejection, where
    the data do not say of which kind each document is.
    Evidence: {"reply": the last reply, "verdicts": each verdict with its reply and model}.
    Source: the errors by concept confusion of Chen et al. 2024, "Benchmarking Large Language Models in
    Retrieval-Augmented Generation", Table 4.

    | case | result |
    |---|---|
    | the answer declines | not applicable |
    | the answer is empty | not applicable |
    | no passages | not applicable |
    | no reference | not applicable |
    | the judge failed | failed |
    """

    name = "rgb.judge.confusion"
    better: ClassVar[Literal["higher", "lower", "neither"]] = "lower"
    _file = "rgb_confusion"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER, Need.REFERENCES})

    async def score(self, case: Case, response: Response, /) -> Score:
        documents = case.query.passages or ()
        labelled = any(passage.meta.get("kind") for passage in documents)
        if case.condition.get("ability") not in ("noise", "rejection") or labelled or not documents:
            return Score.not_applicable("The judge is asked only where the kinds of the documents are not known.")
        right, declined = AnswerMatch(strict=True).score(case, response).value, Refusal().score(case, response).value
        if right != 0.0 or declined == 1.0 or not response.answer.strip():
            return Score.not_applicable("The answer is right, or declines, or cannot be compared.")
        texts = [passage.text[:_SOURCE] for passage in documents]
        return await self._ask(case, response, right=[slot[0] for slot in case.sample.references], documents=texts)


def _source(case: Case, slot: Sequence[str]) -> str:
    """The beginning of the first relevant passage that states a part."""
    texts = (passage.text for passage in case.query.passages or () if passage.relevant)
    return next((text[:_SOURCE] for text in texts if any(find_answer(alias, text) for alias in slot)), "")


def judge_turns(kind: type[_Judge], question: str, answer: str) -> tuple[Turn, ...]:
    """What a judge is asked about an answer, for `--dry-run`."""
    return turns_of(_load_prompt(kind._file).prompt, {"question": question, "answer": answer})


PLUGINS = {
    "rgb.judge.rejection": RgbRejectionJudge, "rgb.judge.error_detection": RgbErrorJudge,
    "rgb.judge.binding": RgbBindingJudge, "rgb.judge.confusion": RgbConfusionJudge,
}  # fmt: skip
