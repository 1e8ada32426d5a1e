"""How many of the facts that a good answer says an answer gives: the nuggets of TREC RAG, made and assigned by a judge.

Step 1 makes nuggets from the references, or where there are none from the passages that the sample or the system has
(pooled, in groups that fit a request), and calls each vital or okay. Step 2 says which of them the answer gives. The
five measures share these requests.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias
from weakref import WeakKeyDictionary

from ragstone.metrics._ragas import Planned, RagasStyle, Talk, numbered
from ragstone.metrics.judge.matrix import BUDGET
from ragstone.metrics.judge.once import Once
from ragstone.metrics.judge.problems import problem
from ragstone.metrics.judge.record import JudgeStep
from ragstone.metrics.judge.split import groups
from ragstone.text import estimate_tokens
from ragstone.types import Model, Need, Score

Nugget: TypeAlias = Mapping[str, Any]  # "text", "importance" (vital, okay), "assignment" ([partial_|not_]support)
Weights: TypeAlias = tuple[float, float, float]  # of a vital nugget, of one that is okay, of partial support

# Pradeep et al. 2024; the same as nuggetizer's `calculate_nugget_scores`, which has all but Weighted.
MEASURES: Mapping[str, Weights] = {
    "all": (1.0, 1.0, 0.5),
    "strict_all": (1.0, 1.0, 0.0),
    "vital": (1.0, 0.0, 0.5),
    "strict_vital": (1.0, 0.0, 0.0),
    "weighted": (1.0, 0.5, 0.5),
}
MOST, _AT_ONCE = 30, 10  # nuggets of a question, and in one request to assign them: as nuggetizer
_KEPT = 256
_asked: WeakKeyDictionary[Model, Once] = WeakKeyDictionary()


def measure(nuggets: Iterable[Nugget], weights: Weights) -> float | None:
    """Σ weight · support / Σ weight over the nuggets; None where no nugget has a weight."""
    vital, okay, partial = weights
    support = {"support": 1.0, "partial_support": partial}
    pairs = [
        (vital if nugget["importance"] == "vital" else okay, support.get(nugget["assignment"], 0.0))
        for nugget in nuggets
    ]
    total = sum(weight for weight, _ in pairs)
    return sum(weight * share for weight, share in pairs) / total if total else None


@dataclass(frozen=True)
class Nuggets(RagasStyle):
    """One of the measures. Each has a class of its own, made from its row."""

    label: ClassVar[str] = ""
    asks: ClassVar[tuple[str, ...]] = ("nuggets_create", "nuggets_assign")
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ANSWER})
    empty: ClassVar[float | None] = 0.0
    weights: ClassVar[Weights]

    async def _measure(self, talk: Talk) -> Score:
        if not _texts(talk):
            return Score.not_applicable("there is neither a reference nor a passage to make nuggets from")
        key = (talk.key, *(self.prompts.get(step, talk.language).hash for step in self.asks))
        once = _asked.setdefault(self.model, Once(_KEPT))
        nuggets, steps = await once.get(key, lambda: _assigned(talk))
        talk.adopt(steps)
        evidence = {"nuggets": [dict(nugget) for nugget in nuggets], "from": _source(talk)}
        value = measure(nuggets, self.weights)
        if value is None:
            return Score.not_applicable("there is no nugget that counts", evidence=evidence)
        return Score.of(value, evidence=evidence)

    def _plan(self, talk: Talk) -> Iterable[Planned]:
        """One step of each kind, with five nuggets."""
        texts = _texts(talk)
        if texts:
            guess = [" ".join(["nugget"] * 8)] * 5
            for group in _groups(texts):
                yield Planned("nuggets_create", _material(talk, group, ()), 100)
            yield Planned("nuggets_assign", {**_asked_of(talk), "nuggets": numbered(guess)}, 60)


def _source(talk: Talk) -> str:
    return "reference" if talk.references else "passages"


def _texts(talk: Talk) -> Sequence[str]:
    return talk.references or talk.pool or talk.contexts


def _groups(texts: Sequence[str]) -> list[list[str]]:
    return list(groups(texts, BUDGET, estimate_tokens))


def _material(talk: Talk, texts: Sequence[str], nuggets: Sequence[str]) -> dict[str, Any]:
    return {"question": talk.question, "texts": numbered(texts), "nuggets": list(nuggets)}


def _asked_of(talk: Talk) -> dict[str, Any]:
    return {"question": talk.question, "answer": talk.answer}


async def _assigned(talk: Talk) -> tuple[list[Nugget], list[JudgeStep]]:
    """The nuggets of a sample with what the answer gives of them, and the requests that this took."""
    nuggets: list[dict[str, Any]] = []
    for group in _groups(_texts(talk)):
        shown = _material(talk, group, [nugget["text"] for nugget in nuggets])
        nuggets = (await talk.ask("nuggets_create", shown, check=_problem))["nuggets"][:MOST]
    for start in range(0, len(nuggets), _AT_ONCE):
        part = nuggets[start : start + _AT_ONCE]
        shown = {**_asked_of(talk), "nuggets": numbered([nugget["text"] for nugget in part])}
        reply = await talk.ask("nuggets_assign", shown, ids={"nuggets": len(part)})
        for item in reply["nuggets"]:
            part[item["id"] - 1]["assignment"] = item["assignment"]
    return list(nuggets), talk.steps


def _problem(reply: dict[str, Any]) -> str:
    blank = [number for number, nugget in enumerate(reply["nuggets"], start=1) if not nugget["text"].strip()]
    return problem("blank", at=f"nuggets[{blank[0]}]") if blank else ""


_DOCUMENT = """`nuggets.{name}`: {about}.

Formula: Σ weight · support / Σ weight over the nuggets. Weight: vital {0:g}, okay {1:g}. Support: full 1, partial
{2:g}, none 0. Nuggets come from the reference, or where there is none from the sample's own passages (a pool that
all systems share), or else from those that the system was given.
Range: 0 to 1, higher is better.
Needs: the answer; a judge's model. With a reference nuggets are made from it, otherwise from passages.
Evidence: {{"nuggets": each one's text, importance and assignment, "from": "reference" or "passages", "verdicts"}}.
Source: Pradeep et al. 2024, "Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the AutoNuggetizer
Framework" (the measures and the steps; nuggetizer's limits of 30 nuggets, 10 at once). The prompts are ours, and step 1
calls nuggets vital or okay at once. Without a nugget that counts nuggetizer says 0, and this is not applicable.

| case | result |
|---|---|
| the answer declines | 0, as it gives no nugget |
| the answer is empty | 0, and the judge is not asked |
| no passages | scored from the reference; not applicable without one |
| no reference | scored from the passages; not applicable without any |
| the judge failed | failed |
"""
_ABOUT: Mapping[str, str] = {
    "all": "the share of all nuggets that the answer gives",
    "strict_all": "the share of all nuggets that the answer gives in full",
    "vital": "the share of the vital nuggets that the answer gives",
    "strict_vital": "the share of the vital nuggets that the answer gives in full",
    "weighted": "the share of all nuggets that the answer gives, where one that is okay counts half",
}


def _class(name: str, weights: Weights) -> type[Nuggets]:
    fields = {
        "__doc__": _DOCUMENT.format(*weights, name=name, about=_ABOUT[name]), "__module__": __name__,
        "name": f"nuggets.{name}", "weights": weights,
    }  # fmt: skip
    return dataclass(frozen=True)(type(f"Nuggets{name.title().replace('_', '')}", (Nuggets,), fields))


PLUGINS: dict[str, Callable[..., Nuggets]] = {
    f"nuggets.{name}": _class(name, weights) for name, weights in MEASURES.items()
}
