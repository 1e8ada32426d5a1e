"""The chunks that every retriever finds for every question of a pool, stored as positions in the pool."""

import logging
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

from msgspec.structs import replace

from ragstone.datasets.pools import Pool, PoolQuestion
from ragstone.models import ModelOptions
from ragstone.retrieval import facts_of, open_retriever, parse
from ragstone.retrieval.chunkers import Chunking
from ragstone.retrieval.cost_estimate import TextCount, query_tokens
from ragstone.text import estimate_tokens, find_answer
from ragstone.text.folding import fold_characters
from ragstone.types import Passage, Retriever

log = logging.getLogger(__name__)

_PLAIN = Chunking()

NEGATIVES = "negatives"
LABELS = ("document", "evidence", "chunk")
RANKED = 100
"""The minimum depth of a ranking: that of recall@100."""
RECORDED = 10_000
"""The depth to which a recorded list (`run:FILE`) is read; its scores are those of the whole list."""
_BATCH = 256  # questions per call of a retriever
_HARDER = 20  # candidates for harder negatives: some support an answer and are skipped
_SEVERAL = 5  # chunks searched for each document of a ranking, because several may be of one document


class ChunkedPool:
    """The passages of a pool, or the parts that they were cut into, and which of them support which question.

    `labels`: what a label belongs to. "chunk": a part of a supporting passage is supporting if it states the answer; if
    no part does (the label is on the whole passage), all parts are. "evidence": those parts are that have at least half
    of one of the question's texts of evidence; where it is cut in smaller pieces, those with the largest.
    "document": the passage is ranked instead of its parts."""

    def __init__(self, pool: Pool, size: int, chunking: Chunking = _PLAIN, labels: str = "chunk") -> None:
        self.cut, self.labels = size > 0, labels
        self.passages: Sequence[Passage] = chunking.cut(pool.passages, size) if size else pool.passages
        self.places = {passage.id: place for place, passage in enumerate(self.passages)}
        self._parts: dict[str, list[Passage]] = {}
        if self.cut:
            for passage in self.passages:
                self._parts.setdefault(passage.meta["document"], []).append(passage)
        self._gold: dict[str, dict[str, float]] = {}

    def gold(self, question: PoolQuestion) -> Mapping[str, float]:
        """The supporting units (`unit`) with their grades."""
        if question.id not in self._gold:
            self._gold[question.id] = {
                unit: question.grades.get(key, 1.0) for key in question.gold for unit in self._supporting(key, question)
            }
        return self._gold[question.id]

    def unit(self, passage: Passage) -> str:
        """The id of what is ranked: of the passage, or of its document."""
        return str(passage.meta.get("document", passage.id)) if self.labels == "document" else passage.id

    def passage(self, unit: str) -> Passage:
        """The passage of a unit; without text if the pool does not have it, or if it is a document that was cut."""
        return self.passages[self.places[unit]] if unit in self.places else Passage(unit, "")

    def _supporting(self, key: str, question: PoolQuestion) -> list[str]:
        """The units that support a question, of the passage with this id. An absent passage stands for itself."""
        parts = self._parts.get(key) if self.cut else None
        if self.labels == "document" or parts is None:
            return [key]
        if self.labels == "evidence":
            shares = [max((overlap(part.text, text) for text in question.evidence), default=0.0) for part in parts]
            enough = min(0.5, max(shares, default=0.0))
            return [part.id for part, share in zip(parts, shares, strict=True) if share and share >= enough]
        stated = [part.id for part in parts if _states_answer(part.text, question.answers)]
        return stated or [part.id for part in parts]


def overlap(text: str, evidence: str) -> float:
    """The share of the evidence that a text has in one piece, after folding; blanks do not count."""
    text, evidence = ("".join(fold_characters(one).text.split()) for one in (text, evidence))
    if evidence in text:
        return float(bool(evidence))
    return SequenceMatcher(None, text, evidence, autojunk=False).find_longest_match().size / len(evidence)


@dataclass
class RetrievedLists:
    """The results of one retriever: position of a question → positions of passages with their scores, best first.
    Positions from `len(chunked.passages)` on are of `outside`, passages that the pool does not have. `depth`: how deep
    was searched; `whole`: the lists were recorded, so their scores are those of the whole list."""

    chunked: ChunkedPool
    depth: int = 0
    whole: bool = False
    outside: list[Passage] = field(default_factory=list)
    _lists: dict[int, tuple["array[int]", "array[float]"]] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)

    def add(self, place: int, passages: Sequence[Passage]) -> None:
        """The list of the question at this position."""
        scores = array("d", [passage.score or 0.0 for passage in passages])
        self._lists[place] = array("L", map(self._place, passages)), scores

    def _place(self, passage: Passage) -> int:
        if (place := self.chunked.places.get(passage.id)) is not None:
            return place
        if passage.id not in self._places:
            self._places[passage.id] = len(self.chunked.passages) + len(self.outside)
            self.outside.append(replace(passage, score=None))
        return self._places[passage.id]

    def _found(self, place: int) -> Iterator[Passage]:
        """The list of a question, without labels."""
        pool = self.chunked.passages
        for at, score in zip(*self._lists.get(place, ((), ())), strict=True):
            passage = pool[at] if at < len(pool) else self.outside[at - len(pool)]
            yield replace(passage, score=score)

    def best(self, place: int, question: PoolQuestion, k: int) -> tuple[Passage, ...]:
        """The k best passages for a question, with their labels; those whose text is not known are left out."""
        gold = self.chunked.gold(question)
        return tuple(
            replace(passage, relevant=self.chunked.unit(passage) in gold, meta={})
            for passage in islice(self._found(place), k)
            if passage.text.strip()
        )

    def ranking(self, place: int, k: int) -> tuple[list[list[Any]], bool]:
        """The k best units for a question (of a recorded list all) as [id, score], and whether there may be more."""
        ranking: dict[str, float] = {}
        found = 0
        for passage in self._found(place):
            found += 1
            ranking.setdefault(self.chunked.unit(passage), passage.score or 0.0)
        rows = [[unit, float(f"{score:.6g}")] for unit, score in islice(ranking.items(), None if self.whole else k)]
        return rows, found >= self.depth or len(rows) < len(ranking)

    def harder(self, place: int, question: PoolQuestion) -> tuple[Passage, ...]:
        """The chunks of mixed with the noise replaced by the best chunks that neither support the question nor state an
        answer. If there are too few, the original chunk stays."""
        gold = set(question.gold)
        best = iter(
            passage
            for passage in self.best(place, question, _HARDER)
            if passage.id not in gold and not _states_answer(passage.text, question.answers)
        )
        passages = []
        used_ids: set[str] = set()
        for key in question.mapped:
            current = self.chunked.passage(key)
            new = current if key in gold else next((passage for passage in best if passage.id not in used_ids), current)
            used_ids.add(new.id)
            passages.append(replace(new, relevant=key in gold, score=None))
        return tuple(passages)


@dataclass
class RetrievalPass:
    """All searches of a run. `options`: for the models that retrievers call; `chunking`: how the pool is cut;
    `labels`: see `ChunkedPool`; `full_names`: name of a retriever → the user's spelling, whose address may contain
    keys, or the user's object; it is stored nowhere else."""

    options: ModelOptions = field(default_factory=ModelOptions)
    chunking: Chunking = _PLAIN
    labels: str = "chunk"
    results: dict[tuple[str, int], RetrievedLists] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    full_names: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _cuts: dict[int, ChunkedPool] = field(default_factory=dict)

    def cut(self, pool: Pool, size: int) -> ChunkedPool:
        """The pool in chunks of this size (0: unchanged), cut once."""
        if size not in self._cuts:
            self._cuts[size] = ChunkedPool(pool, size, self.chunking, self.labels)
        return self._cuts[size]

    def spelling(self, name: str) -> Any:
        """The retriever of this name as the user gave it."""
        return self.full_names.get(name, name)

    async def run(
        self, pool: Pool, questions: Sequence[PoolQuestion], searches: Sequence[tuple[str, int]], *, depth: int
    ) -> None:
        """Search all questions with each (retriever, chunk size). Raises what `open_retriever` and models raise."""
        ids: dict[str, list[str]] = {}
        for question in questions:
            ids.setdefault(question.text, []).append(question.id)
        for name, size in searches:
            chunked, recorded = self.cut(pool, size), _is_recorded(self.spelling(name))
            wanted = max(depth, _HARDER) * (_SEVERAL if size and self.labels == "document" else 1)
            lists = RetrievedLists(chunked, RECORDED if recorded else wanted, recorded)
            started = time.perf_counter()
            if not recorded:
                log.info("%s: indexing %s chunks", name, f"{len(chunked.passages):,}")
            async with open_retriever(
                self.spelling(name), chunked.passages, options=self.options, queries=ids
            ) as retriever:
                opened = time.perf_counter()
                for start in range(0, len(questions), _BATCH):
                    found = await _retrieve(retriever, questions[start : start + _BATCH], lists.depth)
                    for place, passages in enumerate(found, start):
                        lists.add(place, passages)
                per_question = (time.perf_counter() - opened) / max(1, len(questions))
                facts = {**facts_of(retriever), "seconds_per_question": per_question, "questions": len(questions)}
                facts["query_tokens"] = _query_tokens(self.spelling(name), questions)
            if lists.outside:
                facts["outside"] = len(lists.outside)
            seconds = time.perf_counter() - started
            self.facts[f"{name}/c{size}" if size else name] = {**facts, "seconds": seconds}
            log.info("%s: searched for %s questions; %.1f s in all", name, f"{len(questions):,}", seconds)
            self.results[name, size] = lists

    def planned(self, pool: Pool, size: int) -> RetrievedLists:
        """Placeholder results, the pool's first passages for each question, for cost estimates."""
        lists = RetrievedLists(self.cut(pool, size), depth=_HARDER)
        for place in range(len(pool.questions)):
            lists.add(place, lists.chunked.passages[:_HARDER])
        return lists


def _is_recorded(retriever: Any) -> bool:
    return isinstance(retriever, str) and parse(retriever).function == "run"


def _query_tokens(name: Any, questions: Sequence[PoolQuestion]) -> int:
    """An estimate of the tokens that the retriever embeds of these questions."""
    return query_tokens(name, TextCount(len(questions), sum(estimate_tokens(question.text) for question in questions)))


async def _retrieve(retriever: Retriever, questions: Sequence[PoolQuestion], k: int) -> list[list[Passage]]:
    """Retrieve by question id if the retriever supports it, because two questions may have the same text."""
    by_id = getattr(retriever, "retrieve_for", None)
    if by_id is not None:
        lists: list[list[Passage]] = await by_id([question.id for question in questions], k=k)
        return lists
    return await retriever.retrieve([question.text for question in questions], k=k)


def _states_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether a text states one of the answers. The cheap test comes first, because most texts contain none."""
    lowered = text.lower()
    return any(alias.lower() in lowered and bool(find_answer(alias, text)) for alias in answers if alias.strip())
