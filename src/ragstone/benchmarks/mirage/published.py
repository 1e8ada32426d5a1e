"""The figures of the MIRAGE paper (Park et al. 2025), and when they are comparable with measured ones.

`published.json` has them as printed. They cannot be verified, because the answers behind them were not published. They
use the official rule (`mirage.em_loose`) and, for retrievers, the official NDCG.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from ragstone.structs import Frozen


class Retrieval(Frozen, frozen=True):
    """A retriever's scores at k, in per cent; `ndcg` is the official one."""

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
    """The four shares of a model with a retriever at k, in per cent; None for an illegible figure."""

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


class MirageFlag(Frozen, frozen=True):
    """A remark on a row of "models" or "adaptability". `note`: language → text."""

    table: str
    model: str
    note: dict[str, str]
    retriever: str = ""
    k: int = 0


class MiragePaper(Frozen, frozen=True):
    """All printed figures. `questions`: the number of questions behind each."""

    about: str
    citation: str
    questions: int
    retrievers: tuple[Retrieval, ...]
    models: tuple[Accuracy, ...]
    adaptability: tuple[Adapted, ...]
    flags: tuple[MirageFlag, ...]

    def notes(self, table: str, language: str) -> list[str]:
        """The remarks on rows of a table."""
        return [
            " ".join(part for part in (flag.model, flag.retriever, f"k={flag.k}" if flag.k else "") if part)
            + f": {flag.note[language]}"
            for flag in self.flags
            if flag.table == table
        ]


@cache
def paper() -> MiragePaper:
    """The figures, read once from the package."""
    return msgspec.json.decode((files("ragstone.benchmarks.mirage") / "published.json").read_bytes(), type=MiragePaper)


class MirageSetting(Frozen, frozen=True):
    """The part of a run's configuration that decides whether the paper's figures are comparable."""

    official_data: bool = False
    template: str = ""
    questions: int = 0


def options_of(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options in the metadata of a run; empty if it has none."""
    options = meta.get("options")
    return options if isinstance(options, Mapping) else {}


def setting_of(meta: Mapping[str, Any], questions: int) -> MirageSetting:
    """The setting of a run, from its metadata and its number of questions."""
    options, question = options_of(meta), meta.get("question")
    template = question.get("template") if isinstance(question, Mapping) else None
    name = template.get("name", "") if isinstance(template, Mapping) else ""
    return MirageSetting(options.get("data_name") == "official", str(name), questions)


def reasons_apart(setting: MirageSetting, *, answers: bool) -> list[str]:
    """Why the paper's rows are not comparable with the measured ones, as message keys; empty if they are. `answers`:
    the rows are about answers, for which the prompts must also be the paper's."""
    reasons = []
    if not setting.official_data:
        reasons.append("apart_data")
    elif setting.questions != paper().questions:
        reasons.append("apart_questions")
    if answers and setting.template != "official":
        reasons.append("apart_template")
    return reasons
