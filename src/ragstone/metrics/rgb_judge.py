"""The judged metrics of RGB: Rej* and ED*, by a model that reads the question and the answer.

The paper (Chen et al. 2024) has its figures by exact wording checked "with instructions and demonstrations" by a model,
because systems refuse and object in words of their own. The prompts are ragstone's, in `prompts/rgb_*.toml`; how saved
replies of the official judge are read is `rejection_verdict` and `error_verdict`, which read our own replies as we do.

What is judged is data. It travels as JSON between two lines with a code that the text cannot know: the code is a hash
over the text itself (and `nonce`), so a text that contains its own code would be a fixed point of the hash. A code that
depends on nothing else keeps a request the same from run to run, and so the reply cache of use.
"""

import json
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b, sha256
from importlib.resources import files
from typing import ClassVar, Self

from ragstone.errors import ModelError
from ragstone.metrics import Tools
from ragstone.types import Case, Frozen, Model, Need, Request, Response, Sampling, Score, Turn, to_json

__all__ = ["PLUGINS", "RgbErrorJudge", "RgbRejectionJudge", "error_verdict", "judge_turns", "rejection_verdict"]

_SHOWN = 80  # characters of an unusable reply that its reason quotes


def rejection_verdict(reply: str) -> bool:
    """Whether a judge's reply says that the answer rejects the question: the official rule, for saved replies."""
    return "not addressed" in reply


def error_verdict(reply: str) -> bool:
    """Whether a judge's reply says that the answer detects the error: the official rule, for saved replies."""
    return "has identified" in reply or "Yes" in reply


class _Demonstration(Frozen, frozen=True):
    question: str
    answer: str
    verdict: str


class _Prompt(Frozen, frozen=True):
    """A judge's prompt: `positive` is the verdict that scores 1, `again` names the problem of an unusable reply."""

    system: str
    again: str
    positive: str
    negative: str
    demonstrations: tuple[_Demonstration, ...]

    @property
    def schema(self) -> dict[str, object]:
        verdict = {"type": "string", "enum": [self.positive, self.negative]}
        return {
            "type": "object",
            "properties": {"verdict": verdict},
            "required": ["verdict"],
            "additionalProperties": False,
        }

    def turns(self, question: str, answer: str, nonce: str) -> tuple[Turn, ...]:
        """The instruction, the demonstrations as a conversation, and what is to be judged."""
        turns = [Turn("system", self.system.strip())]
        for shown in self.demonstrations:
            turns.append(Turn("user", _enclosed(shown.question, shown.answer, nonce)))
            turns.append(Turn("assistant", json.dumps({"verdict": shown.verdict})))
        return (*turns, Turn("user", _enclosed(question, answer, nonce)))

    def read(self, reply: str) -> tuple[bool | None, str]:
        """The verdict of a whole reply, or None and what is wrong with it. Nothing is searched for inside a reply."""
        text = reply.strip()
        if text.startswith("```") and text.endswith("```") and "\n" in text:  # a fence is form, not content
            text = text.partition("\n")[2].removesuffix("```").strip()
        try:
            found = json.loads(text, object_pairs_hook=_without_duplicates)
        except (ValueError, RecursionError):
            found = text.strip("\"'“”.。 \t\n")
        if isinstance(found, dict) and set(found) == {"verdict"}:
            found = found["verdict"]
        said = found.strip().lower() if isinstance(found, str) else ""
        if said in (self.positive, self.negative):
            return said == self.positive, ""
        return None, f"it is not one of the two verdicts: {reply.strip()[:_SHOWN]!r}" if text else "it is empty"


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("A key occurs twice.")
    return found


@cache
def _prompt(name: str) -> _Prompt:
    text = (files("ragstone.metrics") / "prompts" / f"{name}.toml").read_text(encoding="utf-8")
    read = tomllib.loads(text)
    shown = tuple(_Demonstration(**item) for item in read.pop("demonstrations"))
    return _Prompt(**read, demonstrations=shown)


def _enclosed(question: str, answer: str, nonce: str) -> str:
    """What is judged, as JSON between two lines with a code that it cannot contain (see above)."""
    content = json.dumps({"question": question, "answer": answer}, ensure_ascii=False)
    # A lone surrogate has no UTF-8; its escape means the same in JSON.
    content = content.encode("utf-8", "backslashreplace").decode("utf-8")
    code = blake2b(f"{nonce}\0{content}".encode(), digest_size=8, person=b"ragstone judge").hexdigest()
    return f"<judged {code}>\n{content}\n</judged {code}>"


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
        return sha256(to_json([self._prompt, self._prompt.schema]).encode()).hexdigest()

    @property
    def _prompt(self) -> _Prompt:
        return _prompt(self._file)

    async def _ask(self, case: Case, response: Response) -> Score:
        """Ask once, and once more with the problem named where the reply is none of the verdicts."""
        if not response.answer.strip():
            return Score.of(0.0, reason="The answer is empty; nothing was asked of the judge.")
        prompt = self._prompt
        turns = prompt.turns(case.query.question, response.answer, self.nonce)
        verdicts: list[dict[str, object]] = []
        reply = problem = ""
        for _ in range(2):
            request = Request(
                turns, Sampling(temperature=0.0), schema=prompt.schema, schema_name="verdict", sample=case.query.repeat
            )
            try:
                completion = await self.judge.generate(request)
            except ModelError as error:
                return Score.failed(f"{error.kind}: {error}", evidence={"reply": reply, "verdicts": verdicts})
            reply = completion.text
            found, problem = prompt.read(reply)
            verdict = None if found is None else prompt.positive if found else prompt.negative
            verdicts.append({"verdict": verdict, "reply": reply, "model": completion.model or self.judge.id})
            if found is not None:
                return Score.of(
                    float(found), evidence={"reply": reply, "verdicts": verdicts}, reason=f"The judge: {verdict}."
                )
            again = prompt.again.strip().replace("{problem}", problem)
            turns = (*turns, Turn("assistant", reply), Turn("user", again))
        return Score.failed(f"The judge's reply: {problem}", evidence={"reply": reply, "verdicts": verdicts})


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


def judge_turns(kind: type[_Judge], question: str, answer: str) -> tuple[Turn, ...]:
    """What a judge is asked about an answer, for `--dry-run`."""
    return _prompt(kind._file).turns(question, answer, "")


PLUGINS = {"rgb.judge.rejection": RgbRejectionJudge, "rgb.judge.error_detection": RgbErrorJudge}
