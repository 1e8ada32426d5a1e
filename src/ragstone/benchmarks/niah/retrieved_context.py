"""A needle test of a system that retrieves: the haystack is cut into chunks, and what a retriever finds among them for
the question is all that the model gets.

A chunk is relevant where it has some of a needle that is asked for. Whether the retriever found the needle, whether the
model stated it, and both, are three maps.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from ragstone.benchmarks.niah.contexts import Context
from ragstone.models import ModelOptions
from ragstone.models.cache import Shared
from ragstone.retrieval import open_retriever
from ragstone.retrieval.chunking import chunk
from ragstone.types import Frozen, Passage, Retriever, to_json

__all__ = ["Rag", "Searcher", "chunks_of"]

_AT_ONCE = 2  # indexes that are built side by side: each is as large as its context
_KEPT = 4096  # searches that are remembered: every template and model asks the same


class Rag(Frozen, frozen=True):
    """How contexts are searched: by which retriever, in chunks of how many tokens, and how many of them are given."""

    retriever: str
    chunk: int
    k: int

    @property
    def id(self) -> str:
        return f"{self.retriever}/c{self.chunk}/k{self.k}"


def chunks_of(
    context: Context, needles: Sequence[str], wanted: Sequence[int], size: int, language: str
) -> list[Passage]:
    """The chunks of a context, in order. `needles[i]` begins at `context.places[i]`; `wanted` are those asked for. Of a
    chunk, `meta["needles"]` lists [which needle, from, to], in characters of the needle."""
    found = []
    for number, part in enumerate(chunk(context.text, size=size, language=language)):
        held = []
        for at in wanted:
            start, stop = context.places[at], context.places[at] + len(needles[at])
            if part.start < stop and start < part.end:
                held.append([at, max(part.start, start) - start, min(part.end, stop) - start])
        meta = {"needles": held} if held else {}
        found.append(Passage(f"chunk-{number:05d}", part.text, relevant=bool(held), meta=meta))
    return found


@dataclass
class Searcher:
    """Searches contexts, a few at a time, and remembers what was found. `options` are for the models that retrievers
    ask; `given`: name of a retriever → as it was given, with what its address may hold of keys, which is kept nowhere
    else."""

    options: ModelOptions = field(default_factory=ModelOptions)
    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    _found: dict[str, tuple[Passage, ...]] = field(default_factory=dict)
    _under_way: dict[str, Shared[tuple[Passage, ...]]] = field(default_factory=dict)
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def check(self, rags: Sequence[Rag], texts: Sequence[str]) -> None:
        """Opens each retriever over a few texts and asks it once, so that what is wrong with it (a missing package, a
        model that is not there) is told before anything else is asked. Raises what opening and asking raise."""
        pool = [Passage(f"chunk-{at}", text) for at, text in enumerate(texts)]
        for name in dict.fromkeys(rag.retriever for rag in rags):
            async with self._open(name, pool) as retriever:
                await retriever.retrieve([texts[0][:80]], k=1)

    def _open(self, name: str, pool: Sequence[Passage]) -> contextlib.AbstractAsyncContextManager[Retriever]:
        return open_retriever(self.given.get(name, name), pool, options=self.options)

    async def search(
        self, key: object, question: str, make_pool: Callable[[], Sequence[Passage]], rag: Rag
    ) -> tuple[Passage, ...]:
        """The best chunks of a pool for a question, the best first. `key` says which context it is; who asks for the
        same while it is searched waits for that search. The pool is made, in a thread, when its turn to be searched
        comes. Raises what making it, opening the retriever and asking it raise."""
        name = to_json([key, question, rag.id])
        if (found := self._found.get(name)) is not None:
            return found
        shared = self._under_way.get(name)
        if shared is None or shared.abandoned:
            task = asyncio.ensure_future(self._search(name, question, make_pool, rag))
            shared = self._under_way[name] = Shared(task)
            task.add_done_callback(functools.partial(self._done, name, shared))
        return await shared.result()

    def _done(self, name: str, shared: Shared[tuple[Passage, ...]], _: "asyncio.Future[tuple[Passage, ...]]") -> None:
        if self._under_way.get(name) is shared:  # an abandoned one may have a successor already
            del self._under_way[name]

    async def _search(
        self, name: str, question: str, make_pool: Callable[[], Sequence[Passage]], rag: Rag
    ) -> tuple[Passage, ...]:
        async with self._gate:
            pool = await asyncio.to_thread(make_pool)
            async with self._open(rag.retriever, pool) as retriever:
                (best,) = await retriever.retrieve([question], k=rag.k)
        if len(self._found) >= _KEPT:
            self._found.pop(next(iter(self._found)))
        found = self._found[name] = tuple(replace(one, score=0.0 if one.score is None else one.score) for one in best)
        return found
