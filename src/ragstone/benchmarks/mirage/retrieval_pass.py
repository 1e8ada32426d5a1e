"""The chunks that every retriever finds for every question of a pool, stored as positions in the pool."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from ragstone.datasets.pools import Pool, PoolQuestion
from ragstone.models import ModelOptions
from ragstone.retrieval import facts_of, open_retriever, parse
from ragstone.retrieval.chunkers import Chunking
from ragstone.text import find_answer
from ragstone.types import Passage, Retriever

__all__ = ["NEGATIVES", "ChunkedPool", "RetrievalPass", "RetrievedLists"]

log = logging.getLogger(__name__)

_PLAIN = Chunking()

NEGATIVES = "negatives"
_BATCH = 256  # questions per call of a retriever
_HARDER = 20  # candidates for harder negatives: some support an answer and are skipped


class ChunkedPool:
    """The passages of a pool, or the parts that they were cut into, and which of them support which question.

    A part of a supporting passage is supporting if it states the answer; if no part does (the label is on the whole
    passage), all parts are."""

    def __init__(self, pool: Pool, size: int, chunking: Chunking = _PLAIN) -> None:
        self.cut = size > 0
        self.passages: Sequence[Passage] = chunking.cut(pool.passages, size) if size else pool.passages
        self.places = {passage.id: place for place, passage in enumerate(self.passages)}
        self._parts: dict[str, list[Passage]] = {}
        if self.cut:
            for passage in self.passages:
                self._parts.setdefault(passage.meta["document"], []).append(passage)
        self._gold: dict[str, frozenset[str]] = {}

    def gold(self, question: PoolQuestion) -> frozenset[str]:
        """The ids of the passages that support an answer."""
        if question.id not in self._gold:
            self._gold[question.id] = self._supporting_ids(question) if self.cut else frozenset(question.gold)
        return self._gold[question.id]

    def _supporting_ids(self, question: PoolQuestion) -> frozenset[str]:
        ids: set[str] = set()
        for key in question.gold:
            parts = self._parts.get(key, ())
            stated = [part.id for part in parts if _states_answer(part.text, question.answers)]
            ids.update(stated or [part.id for part in parts])
        return frozenset(ids)


@dataclass
class RetrievedLists:
    """The results of one retriever: position of a question → positions of passages with their scores, best first."""

    chunked: ChunkedPool
    lists: dict[int, list[tuple[int, float]]]

    def best(self, place: int, question: PoolQuestion, k: int) -> tuple[Passage, ...]:
        """The k best passages for a question, with their labels."""
        gold = self.chunked.gold(question)
        return tuple(
            replace(passage, score=score, relevant=passage.id in gold, meta={})
            for at, score in self.lists.get(place, [])[:k]
            for passage in [self.chunked.passages[at]]
        )

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
            current = self.chunked.passages[self.chunked.places[key]]
            new = current if key in gold else next((passage for passage in best if passage.id not in used_ids), current)
            used_ids.add(new.id)
            passages.append(replace(new, relevant=key in gold, score=None))
        return tuple(passages)


@dataclass
class RetrievalPass:
    """All searches of a run. `options`: for the models that retrievers call; `chunking`: how the pool is cut;
    `full_names`: name of a retriever → the user's spelling, whose address may contain keys; it is stored nowhere
    else."""

    options: ModelOptions = field(default_factory=ModelOptions)
    chunking: Chunking = _PLAIN
    results: dict[tuple[str, int], RetrievedLists] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    full_names: Mapping[str, str] = field(default_factory=dict, repr=False)
    _cuts: dict[int, ChunkedPool] = field(default_factory=dict)

    def cut(self, pool: Pool, size: int) -> ChunkedPool:
        """The pool in chunks of this size (0: unchanged), cut once."""
        if size not in self._cuts:
            self._cuts[size] = ChunkedPool(pool, size, self.chunking)
        return self._cuts[size]

    async def run(
        self, pool: Pool, questions: Sequence[PoolQuestion], searches: Sequence[tuple[str, int]], *, depth: int
    ) -> None:
        """Search all questions with each (retriever, chunk size). Raises what `open_retriever` and models raise."""
        ids: dict[str, list[str]] = {}
        for question in questions:
            ids.setdefault(question.text, []).append(question.id)
        for name, size in searches:
            chunked = self.cut(pool, size)
            lists_of_retriever, started = RetrievedLists(chunked, {}), time.perf_counter()
            if parse(name).function != "run":
                log.info("%s: indexing %s chunks", name, f"{len(chunked.passages):,}")
            async with open_retriever(
                self.full_names.get(name, name), chunked.passages, options=self.options, queries=ids
            ) as retriever:
                opened = time.perf_counter()
                for start in range(0, len(questions), _BATCH):
                    batch = questions[start : start + _BATCH]
                    lists = await _retrieve(retriever, batch, max(depth, _HARDER))
                    for place, passages in enumerate(lists, start):
                        lists_of_retriever.lists[place] = [
                            (chunked.places[passage.id], passage.score or 0.0) for passage in passages
                        ]
                per_question = (time.perf_counter() - opened) / max(1, len(questions))
                facts = {**facts_of(retriever), "seconds_per_question": per_question}
            seconds = time.perf_counter() - started
            self.facts[f"{name}/c{size}" if size else name] = {**facts, "seconds": seconds}
            log.info("%s: searched for %s questions; %.1f s in all", name, f"{len(questions):,}", seconds)
            self.results[name, size] = lists_of_retriever

    def planned(self, pool: Pool, size: int) -> RetrievedLists:
        """Placeholder results, the pool's first passages for each question, for cost estimates."""
        chunked = self.cut(pool, size)
        first = [(place, 0.0) for place in range(min(_HARDER, len(chunked.passages)))]
        return RetrievedLists(chunked, _SameLists(first))


class _SameLists(dict[int, list[tuple[int, float]]]):
    """The same list for every question."""

    def __init__(self, chunked: list[tuple[int, float]]) -> None:
        super().__init__()
        self._held = chunked

    def get(self, key: int, default: Any = None) -> list[tuple[int, float]]:
        return self._held


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
