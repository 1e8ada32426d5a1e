"""A needle test with retrieval: the haystack is cut into chunks, and the model gets only the chunks that a retriever
finds for the question.

A chunk is relevant if it contains part of a requested needle. Three maps show whether the retriever found the needle,
whether the model stated it, and both.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from ragstone.benchmarks.niah.contexts import BuiltContext
from ragstone.models import ModelOptions
from ragstone.models.cache import Shared
from ragstone.retrieval import open_retriever
from ragstone.retrieval.chunkers import chunk
from ragstone.structs import Frozen, to_json
from ragstone.types import Passage, Retriever

_CONCURRENT_INDEXES = 2  # indexes built at the same time: each is as large as its context
_CACHED_SEARCHES = 4096  # every template and model repeats the same searches


class RagSetting(Frozen, frozen=True):
    """How contexts are searched: the retriever, the tokens per chunk, and the number of chunks in the prompt."""

    retriever: str
    chunk: int
    k: int

    @property
    def id(self) -> str:
        return f"{self.retriever}/c{self.chunk}/k{self.k}"


def chunks_of(
    context: BuiltContext, needles: Sequence[str], relevant: Sequence[int], size: int, language: str
) -> list[Passage]:
    """The chunks of a context, in order. `needles[i]` begins at `context.places[i]`; `relevant` has the indexes of the
    requested needles. `meta["needles"]` of a chunk lists [needle index, start, end] in characters of the needle."""
    chunks = []
    for number, part in enumerate(chunk(context.text, size=size, language=language)):
        overlaps = []
        for index in relevant:
            start, stop = context.places[index], context.places[index] + len(needles[index])
            if part.start < stop and start < part.end:
                overlaps.append([index, max(part.start, start) - start, min(part.end, stop) - start])
        meta = {"needles": overlaps} if overlaps else {}
        chunks.append(Passage(f"chunk-{number:05d}", part.text, relevant=bool(overlaps), meta=meta))
    return chunks


@dataclass
class Searcher:
    """Searches contexts, a few at a time, and caches the results. `options`: for the models that retrievers call.
    `full_names`: name of a retriever → the user's spelling, whose address may contain keys; it is stored nowhere
    else."""

    options: ModelOptions = field(default_factory=ModelOptions)
    full_names: Mapping[str, str] = field(default_factory=dict, repr=False)
    _results: dict[str, tuple[Passage, ...]] = field(default_factory=dict)
    _pending: dict[str, Shared[tuple[Passage, ...]]] = field(default_factory=dict)
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_CONCURRENT_INDEXES))

    async def check(self, settings: Sequence[RagSetting], texts: Sequence[str]) -> None:
        """Open each retriever over a few texts and query it once, so that a problem (a missing package, an unavailable
        model) is reported before any other request. Raises whatever opening and querying raise."""
        pool = [Passage(f"chunk-{at}", text) for at, text in enumerate(texts)]
        for name in dict.fromkeys(rag.retriever for rag in settings):
            async with self._open(name, pool) as retriever:
                await retriever.retrieve([texts[0][:80]], k=1)

    def _open(self, name: str, pool: Sequence[Passage]) -> contextlib.AbstractAsyncContextManager[Retriever]:
        return open_retriever(self.full_names.get(name, name), pool, options=self.options)

    async def search(
        self, key: object, question: str, make_pool: Callable[[], Sequence[Passage]], setting: RagSetting
    ) -> tuple[Passage, ...]:
        """The best chunks of a pool for a question, best first. `key` identifies the context; concurrent callers with
        the same key share one search. The pool is built in a thread when the search starts. Raises whatever building
        it, opening the retriever and querying it raise."""
        name = to_json([key, question, setting.id])
        if (cached := self._results.get(name)) is not None:
            return cached
        shared = self._pending.get(name)
        if shared is None or shared.abandoned:
            task = asyncio.ensure_future(self._search(name, question, make_pool, setting))
            shared = self._pending[name] = Shared(task)
            task.add_done_callback(functools.partial(self._done, name, shared))
        return await shared.result()

    def _done(self, name: str, shared: Shared[tuple[Passage, ...]], _: "asyncio.Future[tuple[Passage, ...]]") -> None:
        if self._pending.get(name) is shared:  # an abandoned search may already have a successor
            del self._pending[name]

    async def _search(
        self, name: str, question: str, make_pool: Callable[[], Sequence[Passage]], setting: RagSetting
    ) -> tuple[Passage, ...]:
        async with self._gate:
            pool = await asyncio.to_thread(make_pool)
            async with self._open(setting.retriever, pool) as retriever:
                (passages,) = await retriever.retrieve([question], k=setting.k)
        if len(self._results) >= _CACHED_SEARCHES:
            self._results.pop(next(iter(self._results)))
        results = self._results[name] = tuple(
            replace(passage, score=0.0 if passage.score is None else passage.score) for passage in passages
        )
        return results
