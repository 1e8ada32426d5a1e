"""The figures that the MIRAGE paper printed (Park et al. 2025), and when they may stand beside ours.

`published.json` has them as printed. They are data: nothing tests them, because the answers behind them were not
published. They are of the official rule (`mirage.em_loose`) and, of retrievers, of the official NDCG.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from ragstone.types import Frozen

__all__ = ["Adapted", "Asked", "Flag", "Paper", "Retrieval", "apart", "asked_of", "paper"]


class Retrieval(Frozen, frozen=True):
    """A retriever at k, in per cent; `ndcg` is the official one."""

    retriever: str
    k: int
    f1: float
    precision: float
    recall: float
    ndcg: float


class Accuracy(Frozen, frozen=True):
    """A model's right answers in each setting, in per cent."""

    model: str
    base: float
    oracle: float
    mixed: float


class Adapted(Frozen, frozen=True):
    """The four shares of a model with a retriever at k, in per cent; None where a figure is lost."""

    model: str
    retriever: str
    k: int
    nv: float | None
    ca: float | None
    ci: float
    cm: float

    @property
    def total(self) -> float | None:
        """The sum -NV + CA - CI - CM, in per cent."""
        return None if self.nv is None or self.ca is None else self.ca - self.nv - self.ci - self.cm


class Flag(Frozen, frozen=True):
    """What is odd about a row of "models" or "adaptability". `note` has a text for each language."""

    table: str
    model: str
    note: dict[str, str]
    retriever: str = ""
    k: int = 0


class Paper(Frozen, frozen=True):
    """All printed figures. `questions` is how many are behind each."""

    about: str
    citation: str
    questions: int
    retrievers: tuple[Retrieval, ...]
    models: tuple[Accuracy, ...]
    adaptability: tuple[Adapted, ...]
    flags: tuple[Flag, ...]

    def notes(self, table: str, language: str) -> list[str]:
        """What is to be known of rows of a table."""
        return [
            " ".join(part for part in (flag.model, flag.retriever, f"k={flag.k}" if flag.k else "") if part)
            + f": {flag.note[language]}"
            for flag in self.flags
            if flag.table == table
        ]


@cache
def paper() -> Paper:
    """The figures, read once from the package."""
    return msgspec.json.decode((files("ragstone.benchmarks.mirage") / "published.json").read_bytes(), type=Paper)


class Asked(Frozen, frozen=True):
    """How a run was asked, as far as it decides whether the paper's figures are of the same thing."""

    official_data: bool = False
    template: str = ""
    questions: int = 0


def asked_of(meta: Mapping[str, Any], questions: int) -> Asked:
    """From what a run says about itself, and how many questions it has."""
    options, question = (meta.get(key) for key in ("options", "question"))
    options = options if isinstance(options, Mapping) else {}
    template = question.get("template") if isinstance(question, Mapping) else None
    name = template.get("name", "") if isinstance(template, Mapping) else ""
    return Asked(options.get("data_name") == "official", str(name), questions)


def apart(asked: Asked, *, answers: bool) -> list[str]:
    """Why the paper's rows stand apart from the measured ones; empty where they need not. Each reason is a key of the
    words of this package. `answers`: the rows are of answers, for which the prompts must be the paper's too."""
    reasons = []
    if not asked.official_data:
        reasons.append("apart_data")
    elif asked.questions != paper().questions:
        reasons.append("apart_questions")
    if answers and asked.template != "official":
        reasons.append("apart_template")
    return reasons
