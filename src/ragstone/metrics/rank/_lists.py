"""A ranked list with its labels, and the base class of its measures."""

import math
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ragstone.metrics._passages import NO_PASSAGES, NOTHING_RETRIEVED, retrieved
from ragstone.responses.stages import STAGE_WORDS, passages_at
from ragstone.types import Case, Need, Passage, Response, Score

_NO_STAGE = "the system has no such stage, or did not tell it"


GOLD_DOCUMENTS = "documents"
"""`Sample.meta["gold"]` where labels are ids of documents: chunks then count as their document, at the place of the
first."""
_CHUNK = re.compile(r"(?P<document>.+?)(?:#[^#/]*|[:@]\d+(?:-\d+)?|[_-](?:chunk|part)[_-]?\d+)")


class Ranking(NamedTuple):
    """What a measure needs of a list: only its relevant passages, because they are few and the list may be long.

    `places`: their ranks, from 1, ascending; `gains`: their grades, in the same order; `length`: how many passages
    the list has; `ideal`: the grades of all that are known to be relevant, the highest first."""

    places: tuple[int, ...]
    gains: tuple[float, ...]
    length: int
    ideal: tuple[float, ...]

    def hits(self, k: int | None) -> int:
        """How many of the first k are relevant; of the whole list if k is None."""
        return len(self.places) if k is None else bisect_right(self.places, k)


@dataclass(frozen=True)
class RankMetric(ABC):
    """A measure of a ranked list: of its first `k` passages, or of the whole list if `k` is None. `stage`: of the list
    at a stage of the system ("fetched", "reranked", "prompted"); "": of the list that the answer was made from."""

    stem: ClassVar[str]
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({Need.PASSAGES, Need.LABELS})

    k: int | None = None
    stage: str = ""

    @property
    def name(self) -> str:
        name = self.stem if self.k is None else f"{self.stem}@{self.k}"
        return f"{name} {self.stage}" if self.stage else name

    def score(self, case: Case, response: Response, /) -> Score:
        ranking = _ranking(case, response, self.stage)
        if isinstance(ranking, str):
            return Score.not_applicable(ranking)
        if self.k is not None and self.k > ranking.length and case.sample.meta.get("ranking_cut"):
            return Score.not_applicable(f"the list was kept to {ranking.length} passages: run again with this metric")
        evidence = {
            "places": list(ranking.places), "retrieved": ranking.length, "relevant": len(ranking.ideal),
        }  # fmt: skip
        if not ranking.length:
            return Score.of(0.0, evidence=evidence, reason=NOTHING_RETRIEVED)
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
    """The two plug-ins of a measure: of the whole list, and of the first k."""
    return {kind.stem: kind(), f"{kind.stem}@k": Family(kind)}


# The last ranking, because several measures of one case use it in turn.
_last: tuple[Case, Response, str, Ranking | str] | None = None


def _ranking(case: Case, response: Response, stage: str) -> Ranking | str:
    """The ranking of a case at a stage, or the reason why there is none."""
    global _last  # noqa: PLW0603
    last = _last
    if last is not None and last[0] is case and last[1] is response and last[2] == stage:
        return last[3]
    ranking = _build_ranking(case, response, stage)
    _last = (case, response, stage, ranking)
    return ranking


def _build_ranking(case: Case, response: Response, stage: str) -> Ranking | str:
    grades = {passage.id: _grade(passage) for passage in case.sample.passages if passage.relevant}
    if not grades:
        labelled = any(passage.relevant is not None for passage in case.sample.passages)
        return "no passage is known to be relevant" if labelled else "the sample has no labelled passages"
    ids = _stage_ids(response, stage) if stage else _retrieved_ids(case, response)
    if ids is None and stage:
        return _NO_STAGE
    if ids is None:
        return "the passages were not retrieved"
    if case.sample.meta.get("gold") == GOLD_DOCUMENTS:
        ids = dict.fromkeys([document_of(passage_id, grades) for passage_id in ids])
    if not ids and not stage and not response.empty_retrieval and "ranking" not in case.sample.meta:
        return NO_PASSAGES
    places = [(place, grades[passage_id]) for place, passage_id in enumerate(ids, start=1) if passage_id in grades]
    return Ranking(
        tuple(place for place, _ in places), tuple(gain for _, gain in places), len(ids),
        tuple(sorted(grades.values(), reverse=True)),
    )  # fmt: skip


def _stage_ids(response: Response, stage: str) -> dict[str, None] | None:
    passages = passages_at(response, STAGE_WORDS[stage])
    return None if passages is None else dict.fromkeys(passage.id for passage in passages)


def document_of(passage_id: str, gold: Container[str]) -> str:
    """The id of the document that a chunk belongs to, by the usual spellings: `doc#3`, `doc.md:2`, `doc.pdf#page=3`,
    `doc_chunk_4`. An id in `gold` stays as it is, and so does one that is not spelled like a chunk's."""
    while passage_id not in gold and (match := _CHUNK.fullmatch(passage_id)):
        passage_id = match["document"]
    return passage_id


def _retrieved_ids(case: Case, response: Response) -> dict[str, None] | None:
    """The ids of the list, each once. A benchmark that retrieves gives its list in `meta["ranking"]`, as [id, score],
    because it may be longer than what a system is given; None if its passages were not retrieved."""
    if "ranking" not in case.sample.meta:
        return dict.fromkeys([passage.id for passage in retrieved(case, response)])
    ranking = case.sample.meta["ranking"]
    return None if ranking is None else dict.fromkeys([str(row[0]) for row in ranking])


def _grade(passage: Passage) -> float:
    """The grade of a relevant passage: a positive number, 1 by default."""
    grade = passage.meta.get("grade", 1)
    usable = isinstance(grade, int | float) and math.isfinite(grade) and grade > 0
    return float(grade) if usable else 1.0
