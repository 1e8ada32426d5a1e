"""What every retriever finds for every question of a pool, kept as places in the pool."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from ragstone.datasets.pools import Pool, PoolQuestion
from ragstone.models import ModelOptions
from ragstone.retrieval import facts_of, open_retriever, parse
from ragstone.retrieval.chunking import Chunking
from ragstone.text import find_answer
from ragstone.types import Passage, Retriever

__all__ = ["NEGATIVES", "Cut", "Found", "Search"]

log = logging.getLogger(__name__)

_PLAIN = Chunking()

NEGATIVES = "negatives"
_BATCH = 256  # questions that a retriever gets at once
_HARDER = 20  # chunks that are looked at for harder negatives: some support an answer and are left out


class Cut:
    """The passages of a pool, or the parts that they were cut into, and which of them support which question.

    A part of a supporting passage supports an answer where it holds it; where no part does (the label rests on the
    whole passage), all of them count."""

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
        """Ids of the passages that support an answer."""
        if question.id not in self._gold:
            self._gold[question.id] = self._found(question) if self.cut else frozenset(question.gold)
        return self._gold[question.id]

    def _found(self, question: PoolQuestion) -> frozenset[str]:
        ids: set[str] = set()
        for key in question.gold:
            parts = self._parts.get(key, ())
            stated = [part.id for part in parts if _states(part.text, question.answers)]
            ids.update(stated or [part.id for part in parts])
        return frozenset(ids)


@dataclass
class Found:
    """What one retriever found: place of a question → places of passages with their scores, the best first."""

    held: Cut
    lists: dict[int, list[tuple[int, float]]]

    def best(self, place: int, question: PoolQuestion, k: int) -> tuple[Passage, ...]:
        """The k best for a question, with what the labels say of each."""
        gold = self.held.gold(question)
        return tuple(
            replace(passage, score=score, relevant=passage.id in gold, meta={})
            for at, score in self.lists.get(place, [])[:k]
            for passage in [self.held.passages[at]]
        )

    def harder(self, place: int, question: PoolQuestion) -> tuple[Passage, ...]:
        """The chunks of mixed, the noise among them replaced: by the best chunks that neither support the question nor
        state an answer. Where there are too few, the chunk that was there stays."""
        gold = set(question.gold)
        best = iter(
            passage
            for passage in self.best(place, question, _HARDER)
            if passage.id not in gold and not _states(passage.text, question.answers)
        )
        given = []
        taken: set[str] = set()
        for key in question.mapped:
            old = self.held.passages[self.held.places[key]]
            new = old if key in gold else next((one for one in best if one.id not in taken), old)
            taken.add(new.id)
            given.append(replace(new, relevant=key in gold, score=None))
        return tuple(given)


@dataclass
class Search:
    """All searches of a run. `options` are for the models that retrievers ask; `chunking` is how a pool is cut;
    `given`: name of a retriever → as it was given, with the keys in its address, which are kept nowhere else."""

    options: ModelOptions = field(default_factory=ModelOptions)
    chunking: Chunking = _PLAIN
    found: dict[tuple[str, int], Found] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    _cuts: dict[int, Cut] = field(default_factory=dict)

    def cut(self, pool: Pool, size: int) -> Cut:
        """The pool in chunks of this size (0: as it is), cut once."""
        if size not in self._cuts:
            self._cuts[size] = Cut(pool, size, self.chunking)
        return self._cuts[size]

    async def run(
        self, pool: Pool, questions: Sequence[PoolQuestion], searches: Sequence[tuple[str, int]], *, depth: int
    ) -> None:
        """Asks each (retriever, chunk size) all questions. Raises what `open_retriever` and models raise."""
        ids: dict[str, list[str]] = {}
        for question in questions:
            ids.setdefault(question.text, []).append(question.id)
        for name, size in searches:
            held = self.cut(pool, size)
            found, started = Found(held, {}), time.perf_counter()
            if parse(name).function != "run":
                log.info("%s: indexing %s chunks", name, f"{len(held.passages):,}")
            async with open_retriever(
                self.given.get(name, name), held.passages, options=self.options, queries=ids
            ) as retriever:
                opened = time.perf_counter()
                for start in range(0, len(questions), _BATCH):
                    batch = questions[start : start + _BATCH]
                    lists = await _retrieved(retriever, batch, max(depth, _HARDER))
                    for place, passages in enumerate(lists, start):
                        found.lists[place] = [(held.places[one.id], one.score or 0.0) for one in passages]
                each = (time.perf_counter() - opened) / max(1, len(questions))
                told = {**facts_of(retriever), "seconds_per_question": each}
            took = time.perf_counter() - started
            self.facts[f"{name}/c{size}" if size else name] = {**told, "seconds": took}
            log.info("%s: searched for %s questions; %.1f s in all", name, f"{len(questions):,}", took)
            self.found[name, size] = found

    def planned(self, pool: Pool, size: int) -> Found:
        """As if each retriever had found the first passages: what a run takes can be told from them."""
        held = self.cut(pool, size)
        first = [(place, 0.0) for place in range(min(_HARDER, len(held.passages)))]
        return Found(held, _Same(first))


class _Same(dict[int, list[tuple[int, float]]]):
    """The same list for every question."""

    def __init__(self, held: list[tuple[int, float]]) -> None:
        super().__init__()
        self._held = held

    def get(self, key: int, default: Any = None) -> list[tuple[int, float]]:
        return self._held


async def _retrieved(retriever: Retriever, questions: Sequence[PoolQuestion], k: int) -> list[list[Passage]]:
    """By the ids of the questions where the retriever knows them: the same text may be asked twice, with two ids."""
    by_id = getattr(retriever, "retrieve_for", None)
    if by_id is not None:
        found: list[list[Passage]] = await by_id([one.id for one in questions], k=k)
        return found
    return await retriever.retrieve([one.text for one in questions], k=k)


def _states(text: str, answers: Sequence[str]) -> bool:
    """Whether a text states one of the answers. The cheap test comes first: most texts hold none."""
    lowered = text.lower()
    return any(alias.lower() in lowered and bool(find_answer(alias, text)) for alias in answers if alias.strip())
