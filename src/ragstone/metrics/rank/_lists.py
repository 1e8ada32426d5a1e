"""A ranked list beside its labels, and what all measures of it share."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from ragstone.metrics._passages import NO_PASSAGES, retrieved
from ragstone.types import Case, Need, Passage, Response, Score

__all__ = ["Family", "RankMetric", "Ranking", "plugins"]


@dataclass(frozen=True)
class Ranking:
    """`gains`: of each retrieved passage in order, 0 where it is not relevant. `ideal`: of all that are relevant, the
    highest first."""

    gains: tuple[float, ...]
    ideal: tuple[float, ...]

    def first(self, k: int | None) -> tuple[float, ...]:
        """The gains of the first k places; of all of them where k is None."""
        return self.gains[:k]

    def hits(self, k: int | None) -> int:
        """How many of the first k are relevant."""
        return sum(gain > 0 for gain in self.first(k))


@dataclass(frozen=True)
class RankMetric(ABC):
    """A measure of a ranked list: of its first `k` passages, or of the whole of it where `k` is None."""

    stem: ClassVar[str]
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PASSAGES, Need.LABELS})

    k: int | None = None

    @property
    def name(self) -> str:
        return self.stem if self.k is None else f"{self.stem}@{self.k}"

    def score(self, case: Case, response: Response, /) -> Score:
        grades = {passage.id: _grade(passage) for passage in case.sample.passages if passage.relevant}
        if not grades:
            labelled = any(passage.relevant is not None for passage in case.sample.passages)
            none = "no passage is known to be relevant" if labelled else "the sample has no labelled passages"
            return Score.not_applicable(none)
        ids = list(dict.fromkeys(passage.id for passage in retrieved(case, response)))
        if not ids:
            return Score.not_applicable(NO_PASSAGES)
        gains = tuple(grades.get(one, 0.0) for one in ids)
        places = [place for place, gain in enumerate(gains, start=1) if gain]
        evidence = {"places": places, "retrieved": len(ids), "relevant": len(grades)}
        ranking = Ranking(gains, tuple(sorted(grades.values(), reverse=True)))
        return Score.of(self.value(ranking), evidence=evidence)

    @abstractmethod
    def value(self, ranking: Ranking, /) -> float:
        """The measure of one list. It has at least one passage, and at least one passage is relevant."""


@dataclass(frozen=True)
class Family:
    """A measure for every k: `recall@k`, of which `at(5)` is `recall@5`."""

    kind: type[RankMetric]

    @property
    def name(self) -> str:
        return f"{self.kind.stem}@k"

    def at(self, k: int, /) -> RankMetric:
        """The measure of the first k passages, k from 1."""
        return self.kind(k)


def plugins(kind: type[RankMetric]) -> dict[str, RankMetric | Family]:
    """A measure under both its names, of the whole list and of the first k."""
    return {kind.stem: kind(), f"{kind.stem}@k": Family(kind)}


def _grade(passage: Passage) -> float:
    """How relevant a relevant passage is: its grade where that is a positive number, else 1."""
    grade = passage.meta.get("grade", 1)
    usable = isinstance(grade, int | float) and math.isfinite(grade) and grade > 0
    return float(grade) if usable else 1.0
