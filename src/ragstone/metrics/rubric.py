"""The user's own criteria: what a good answer holds, in which order, and how good it is on a scale; by a judge.

A rubric is a TOML file (`_rubric_file.py` says its keys). The judge sees one rubric and one sample in one request, and
says of each element whether the answer has it, with the words that it means, and a step of the scale. It never says
whether the order is right: that is computed here from where the quoted words stand in the answer.

The score is the weighted mean of all that the rubric asks for and that applies, in [0, 1]:

    sum(weight of each element that is present) + order_weight * order + scale.weight * (step - min) / (max - min)
    ----------------------------------------------------------------------------------------------------------------
    sum(weight of each element that applies)    + order_weight         + scale.weight

- An answer that lacks a `required` element gets 0.
- Of a group of `any_of` the heaviest element that is present counts; without any, the heaviest is missing. Once one is
  present, the others are not needed.
- An element with `if_known` does not apply where it is absent and nothing that the judge was shown makes it known.
- `order` is the share of the pairs in the right order, of all pairs of elements that apply and that the rubric orders.
  A pair of which one is missing is not in order, so leaving something out never pays. A pair of which the judge
  misquoted one cannot be ordered and is left out; a misquoted element still counts as present, and is marked so.
- Without pairs there is no order term, without a scale no scale term.

The passages and the reference are shown where the rubric `needs` them, and where it has an element that applies only
if known. Nothing is cut: what is too long for the model fails and says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from msgspec.structs import replace

from ragstone.errors import DataError, UsageError, check_name
from ragstone.metrics import Maker, Tools
from ragstone.metrics._passages import NO_PASSAGES
from ragstone.metrics._references import NO_REFERENCE
from ragstone.metrics._rubric_evidence import counted, documented, judged_elements, ordered_pairs, step_of, summary
from ragstone.metrics._rubric_file import mistakes_in, parse_rubric, read_rubric
from ragstone.metrics._rubric_types import Anchor, Element, Rubric, Scale, Text
from ragstone.metrics.judge.claims import JudgeFailed
from ragstone.metrics.judge.inputs import Texts
from ragstone.metrics.judge.problems import problem
from ragstone.metrics.judge.prompts import Prompt, Prompts
from ragstone.metrics.judge.record import ElementVerdict, JudgeStep, evidence
from ragstone.metrics.judge.reply import ids_problem
from ragstone.metrics.judge.request import ask, turns_of
from ragstone.models.concurrency import gather_all
from ragstone.text import estimate_tokens
from ragstone.types import Case, Model, Need, Response, Score, Usage

__all__ = [
    "PLUGINS", "READY", "Anchor", "Element", "Overall", "Rubric", "RubricMetric", "Scale", "Text", "find_rubric",
    "mistakes_in", "parse_rubric", "read_rubric", "ready_rubric", "rubric_files", "rubric_metric", "rubric_names",
    "rubric_text",
]  # fmt: skip

READY = (
    "process_actionability", "policy_compliance", "empathy", "problem_solving_completeness", "user_sentiment", "bias",
    "toxicity",
)  # fmt: skip

_NO_ANSWER = "the answer is empty"
_NOTHING = "nothing that the rubric asks for applies to this sample"
_HINT = "`ragstone rubrics list` lists them; a file of yours is written with its path, as in ./NAME.toml."
_WRITTEN, _ELEMENT_WRITTEN = 70, 34  # tokens of a reply, and of each element in it, for --dry-run


@dataclass(frozen=True)
class RubricMetric:
    """A score by one rubric. Each rubric has a class of its own (`rubric_metric`), which explains it."""

    rubric: ClassVar[Rubric]
    name: ClassVar[str]
    version: ClassVar[int]
    needs: ClassVar[frozenset[Need]]
    better: ClassVar[Literal["higher", "lower", "neither"]]
    hash: ClassVar[str]  # of the rubric: another is another question
    uses: ClassVar[tuple[str, ...]] = ("model",)
    steps: ClassVar[frozenset[str]] = frozenset()  # of the judge of the matrix: none
    asks: ClassVar[tuple[str, ...]] = ("rubric",)  # the prompts that it rests on

    model: Model
    prompts: Prompts
    language: str = ""  # of the prompts; "" follows each sample

    @classmethod
    def make(cls, tools: Tools, /) -> Self:
        """The metric by the chat model and the prompts of these tools."""
        assert tools.model is not None
        return cls(tools.model, tools.prompts or Prompts.load(), tools.language)

    @property
    def spec(self) -> Mapping[str, str]:
        """What makes its verdicts what they are, beside the judge's model: for the run file."""
        return {self.name: self.hash, **{f"rubric/{spoken}": self._prompt(spoken).hash[:12] for spoken in ("en", "zh")}}

    async def score(self, case: Case, response: Response, /) -> Score:
        """The score, with every element, pair and step, and what the judge was asked and replied, in its evidence."""
        texts = Texts.of(case, response, self.language)
        early = self._without_asking(texts)
        if early is not None:
            return early
        language = self._language(texts)
        steps: list[JudgeStep] = []
        try:
            reply = await ask(
                self.model, self._prompt(language), self.shown(texts), steps=steps, check=self._problem_with,
                sample=texts.sample,
            )  # fmt: skip
        except JudgeFailed as error:
            return Score.failed(
                str(error), evidence=self._evidence(error.steps, {"rubric": self._description(language)})
            )
        elements = tuple(
            ElementVerdict(verdict["id"], verdict["status"], verdict["quote"]) for verdict in reply["elements"]
        )
        steps[-1] = replace(steps[-1], elements=elements, score=reply["score"], reason=reply["reason"])
        return self._scored(reply, texts.answer, language, steps)

    def estimate(self, case: Case, response: Response, /) -> Usage:
        """The request and tokens that one sample is likely to take, before any is asked."""
        texts = Texts.of(case, response, self.language)
        if self._without_asking(texts) is not None:
            return Usage()
        turns = turns_of(self._prompt(self._language(texts)), self.shown(texts))
        prompt_tokens = sum(estimate_tokens(turn.content) for turn in turns)
        written = _WRITTEN + _ELEMENT_WRITTEN * len(self.rubric.elements)
        return Usage(prompt_tokens=prompt_tokens, completion_tokens=written, requests=1)

    def shown(self, texts: Texts) -> dict[str, Any]:
        """What the judge is shown of a sample and of the rubric, in the rubric's language for the sample."""
        rubric, language = self.rubric, self._language(texts)
        knowing = any(element.if_known for element in rubric.elements)
        passages = texts.passages if knowing or "contexts" in rubric.needs else ()
        scale = rubric.scale and {str(anchor.value): anchor.text.to(language) for anchor in rubric.scale.anchors}
        return {
            "question": texts.asked,
            "answer": texts.answer,
            "passages": {str(number): text for number, text in enumerate(passages, start=1)},
            "reference": (texts.reference or None) if knowing or "reference" in rubric.needs else None,
            "criterion": rubric.question.to(language),
            "scale": scale,
            "elements": {
                str(number): {"text": element.text.to(language), "if_known": element.if_known}
                for number, element in enumerate(rubric.elements, start=1)
            },
        }

    def _language(self, texts: Texts) -> str:
        spoken = self.rubric.languages
        return texts.language if texts.language in spoken else spoken[0]

    def _prompt(self, language: str) -> Prompt:
        return self.prompts.get("rubric", language)

    def _description(self, language: str) -> dict[str, Any]:
        rubric = self.rubric
        return {
            "name": rubric.name, "title": rubric.title.to(language), "question": rubric.question.to(language),
            "version": rubric.version, "hash": rubric.hash[:12], "language": language, "better": rubric.better,
        }  # fmt: skip

    def _without_asking(self, texts: Texts) -> Score | None:
        if Need.REFERENCES in self.needs and not texts.reference:
            return Score.not_applicable(NO_REFERENCE)
        if Need.PASSAGES in self.needs and not texts.passages:
            return Score.not_applicable(NO_PASSAGES)
        if not texts.answer.strip():
            return Score.of(0.0, reason=_NO_ANSWER) if self.better == "higher" else Score.not_applicable(_NO_ANSWER)
        return None

    def _problem_with(self, reply: Mapping[str, Any]) -> str:
        """What a schema cannot say of a reply: each element once, quotes with their words, a step of the scale."""
        elements, scale = self.rubric.elements, self.rubric.scale
        if found := ids_problem(reply["elements"], len(elements), "elements"):
            return found
        for item in reply["elements"]:
            if item["status"] == "present" and not item["quote"].strip():
                return problem("no_quote", at="elements", id=item["id"])
            if item["status"] == "unknown" and not elements[item["id"] - 1].if_known:
                return problem("unknown_element", at="elements", id=item["id"])
        if scale is None:
            return problem("no_scale") if reply["score"] is not None else ""
        if reply["score"] is None or not scale.low <= reply["score"] <= scale.high:
            return problem("off_scale", score=reply["score"], low=scale.low, high=scale.high)
        return ""

    # --- the number ----------------------------------------------------------------------------------------------

    def _scored(self, reply: Mapping[str, Any], answer: str, language: str, steps: list[JudgeStep]) -> Score:
        rubric = self.rubric
        elements = judged_elements(rubric, reply["elements"], answer, language)
        pairs = ordered_pairs(rubric, elements)
        parts: dict[str, tuple[float, float]] = {}  # what was reached, of how much
        if counting := counted(rubric, elements):
            reached = sum(element["weight"] for element in counting if element["status"] == "present")
            parts["elements"] = (reached, sum(element["weight"] for element in counting))
        if decided := [pair["right"] for pair in pairs if pair["right"] is not None]:
            parts["order"] = (rubric.order_weight * sum(decided) / len(decided), rubric.order_weight)
        details: dict[str, Any] = {"rubric": self._description(language), "elements": elements, "order": pairs}
        if rubric.scale is not None:
            parts["scale"] = (rubric.scale.weight * rubric.scale.share(reply["score"]), rubric.scale.weight)
            details["scale"] = step_of(rubric.scale, reply["score"], language)
        details["parts"] = {name: {"reached": reached, "of": of} for name, (reached, of) in parts.items()}
        details["reason"] = reply["reason"].strip()
        possible = sum(of for _, of in parts.values())
        if not possible:
            return Score.not_applicable(_NOTHING, evidence=self._evidence(steps, details))
        value = min(1.0, sum(reached for reached, _ in parts.values()) / possible)
        if any(element["required"] and element["status"] == "missing" for element in elements):
            value = 0.0
        return Score.of(value, evidence=self._evidence(steps, details), reason=summary(details))

    def _evidence(self, steps: Iterable[JudgeStep], details: Mapping[str, Any]) -> dict[str, Any]:
        return evidence(steps, details, metric=self.name)


# --- classes --------------------------------------------------------------------------------------------------------


def rubric_metric(rubric: Rubric, source: str = "a rubric of the user's own") -> type[RubricMetric]:
    """The class of metrics by this rubric; the same one for the same rubric."""
    return _class(rubric, source)


@cache
def _class(rubric: Rubric, source: str) -> type[RubricMetric]:
    needs = {Need.ANSWER}
    needs |= {Need.PASSAGES} if "contexts" in rubric.needs else set()
    needs |= {Need.REFERENCES} if "reference" in rubric.needs else set()
    fields = {
        "__doc__": documented(rubric, needs, source),
        "__module__": __name__,
        "rubric": rubric,
        "name": f"rubric.{rubric.name}",
        "version": rubric.version,
        "needs": frozenset(needs),
        "better": rubric.better,
        "hash": rubric.hash[:12],
    }
    return dataclass(frozen=True)(type(f"Rubric_{rubric.name}", (RubricMetric,), fields))


@dataclass(frozen=True)
class Overall:
    """`rubric.overall`: all rubrics that were given, as one score: the mean of theirs by the weights in their files.

    Formula: sum(weight * score) / sum(weight) over the rubrics that apply; where lower is better, 1 - score stands for
    the score, and rubrics of which neither is better are left out.
    Range: 0 to 1, higher is better.
    Needs: the answer; what each rubric needs; a judge's model.
    Evidence: {"of": each rubric's {"value", "weight"}, without the replies, which stand at the rubrics themselves}.
    Source: ragstone.

    | case | result |
    |---|---|
    | a rubric does not apply | the mean of the others; not applicable where none does |
    | the judge failed at one | failed |
    """

    name: ClassVar[str] = "rubric.overall"
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER})
    better: ClassVar[Literal["higher", "lower", "neither"]] = "higher"
    uses: ClassVar[tuple[str, ...]] = ("model",)
    steps: ClassVar[frozenset[str]] = frozenset()
    asks: ClassVar[tuple[str, ...]] = ("rubric",)

    rubrics: tuple[RubricMetric, ...]

    @classmethod
    def make(cls, tools: Tools, /) -> Self:
        """Of all rubrics of these tools. UsageError where there are none."""
        kinds = [find_rubric(name.removeprefix("rubric:")) for name in rubric_names(tools.rubrics)]
        if not kinds:
            raise UsageError("rubric:overall is the mean of rubrics, and none is given: --rubric NAME|FILE|DIR.")
        return cls(tuple(metric for kind in kinds if isinstance(metric := kind.make(tools), RubricMetric)))

    async def score(self, case: Case, response: Response, /) -> Score:
        """The weighted mean. The requests are those of the rubrics themselves, which are under way or known."""
        counting = [metric for metric in self.rubrics if metric.better != "neither" and metric.rubric.weight]
        scores = await gather_all(*(metric.score(case, response) for metric in counting))
        if failed := [f"{metric.name}: {score.reason}" for metric, score in _zipped(counting, scores, "failed")]:
            return Score.failed("; ".join(failed))
        scored = list(_zipped(counting, scores, "scored"))
        of = {metric.name: {"value": score.value, "weight": metric.rubric.weight} for metric, score in scored}
        if not of:
            return Score.not_applicable("no rubric applies to this sample", evidence={"of": of})
        total = sum(metric.rubric.weight for metric, _ in scored)
        good = sum(metric.rubric.weight * _good(metric, score) for metric, score in scored)
        return Score.of(min(1.0, good / total), evidence={"of": of})


def _zipped(
    metrics: Sequence[RubricMetric], scores: Sequence[Score], status: str
) -> Iterable[tuple[RubricMetric, Score]]:
    return ((metric, score) for metric, score in zip(metrics, scores, strict=True) if score.status == status)


def _good(metric: RubricMetric, score: Score) -> float:
    assert score.value is not None
    return 1.0 - score.value if metric.better == "lower" else score.value


# --- finding them ---------------------------------------------------------------------------------------------------


def rubric_text(name: str) -> str:
    """The text of the file of a ready rubric: what a user copies and changes. Raises UnknownName."""
    check_name("rubric", name, READY, hint=_HINT)
    return (files("ragstone.metrics") / "rubrics" / f"{name}.toml").read_text(encoding="utf-8")


@cache
def ready_rubric(name: str) -> Rubric:
    """One of ours. Raises UnknownName."""
    rubric, mistakes = parse_rubric(rubric_text(name))
    assert rubric is not None, mistakes
    return rubric


def find_rubric(name: str) -> type[Maker]:
    """What makes the metric of a ready rubric's name, of a file, or of "overall". Raises UnknownName and DataError."""
    if name == "overall":
        return Overall
    path = Path(name)
    if path.is_file() or path.suffix == ".toml":
        return rubric_metric(read_rubric(path))
    if path.is_dir():
        raise UsageError(f"{path} is a folder of rubrics: --rubric takes it; rubric:FILE names one of them.")
    return rubric_metric(ready_rubric(name), _SOURCE)


def rubric_files(folder: Path) -> list[Path]:
    """The files of rubrics in a folder, sorted. Raises DataError where there are none."""
    paths = sorted(path for path in folder.glob("*.toml") if path.is_file())
    if not paths:
        advice = "`ragstone rubrics copy NAME DIR` puts one of ours there."
        raise DataError(folder, "holds no rubric (NAME.toml).", advice=advice)
    return paths


def rubric_names(files: Iterable[Path | str]) -> list[str]:
    """Names of ready rubrics, files and folders of them, as the names of metrics that `make_metrics` takes.

    Raises UsageError where a rubric is wrong or unknown, and where two have one name."""
    names: list[str] = []
    at: dict[str, str] = {}
    for file in files:
        places = list(map(str, rubric_files(Path(file)))) if Path(file).is_dir() else [str(file)]
        for place in places:
            kind = find_rubric(place)
            called = getattr(kind, "name", place)
            if at.setdefault(called, place) != place:
                raise UsageError(f"{at[called]} and {place} are both the rubric {called}. Rename one of them.")
            if f"rubric:{place}" not in names:
                names.append(f"rubric:{place}")
    return names


_SOURCE = "ragstone's own criterion, to copy and change (`ragstone rubrics copy`)"
PLUGINS = {f"rubric.{name}": rubric_metric(ready_rubric(name), _SOURCE) for name in READY}
