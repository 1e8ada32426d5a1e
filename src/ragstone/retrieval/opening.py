"""A retriever by its name, over a pool of passages.

A module of this package offers what it has in `PLUGINS`: from the function of a name (`bm25`, `hybrid`…) to a function
that opens it. Another package does so by an entry point of the group `ragstone.retrievers`.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ragstone.errors import UsageError
from ragstone.models import ModelOptions
from ragstone.registry import Registry
from ragstone.retrieval.names import Spec, parse
from ragstone.types import Passage, Retriever

__all__ = ["RETRIEVERS", "Building", "Opener", "check_retriever", "facts_of", "open_retriever"]

_DEFAULT = ModelOptions()


@dataclass(frozen=True)
class Building:
    """What a retriever is built from. `pool`: all passages, whose ids differ. `queries`: question → its id, where the
    questions are known beforehand (`run:FILE` finds its lines by it)."""

    pool: Sequence[Passage]
    options: ModelOptions = _DEFAULT
    queries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _opened: dict[str, Retriever] = field(default_factory=dict, repr=False)

    @contextlib.asynccontextmanager
    async def open(self, name: str) -> AsyncIterator[Retriever]:
        """The retriever of an inner name over the same pool."""
        spec = parse(name)
        async with RETRIEVERS.get(spec.function)(spec, self) as opened:
            yield opened


Opener: TypeAlias = "Callable[[Spec, Building], contextlib.AbstractAsyncContextManager[Retriever]]"

RETRIEVERS: Registry[Opener] = Registry("retriever", "ragstone.retrieval", "ragstone.retrievers")


def check_retriever(name: str) -> None:
    """Raises UsageError where nothing can have this name. Opens nothing and needs no key. What stands within a name
    may be a model's, so only that it can be read is checked there."""
    spec = parse(name)
    RETRIEVERS.get(spec.function)
    for inner in spec.arguments if spec.function != "run" else ():
        parse(inner)


@contextlib.asynccontextmanager
async def open_retriever(
    name: str,
    pool: Sequence[Passage],
    *,
    options: ModelOptions = _DEFAULT,
    queries: Mapping[str, Sequence[str]] | None = None,
) -> AsyncIterator[Retriever]:
    """The retriever of this name, its index built. `options` are for the models that it asks; `queries`: question →
    the ids it is known by, for `run:FILE`.

    Raises UsageError for a name that cannot be, a pool that is empty, and an id that two passages have; what a model
    raises, where one is asked while the index is built."""
    spec = parse(name)
    make = RETRIEVERS.get(spec.function)
    if not pool:
        raise UsageError(f"The retriever {name} has nothing to search: the pool has no passage.")
    if len({passage.id for passage in pool}) < len(pool):
        seen: set[str] = set()
        twice = next(passage.id for passage in pool if passage.id in seen or seen.add(passage.id))  # type: ignore[func-returns-value]
        raise UsageError(f"The pool has two passages of the id {twice!r}: give each its own.")
    async with make(spec, Building(pool, options, queries or {})) as opened:
        yield opened


def facts_of(retriever: Retriever) -> dict[str, Any]:
    """What a retriever tells of itself (bytes of the index, seconds to build it, its library), for a report."""
    return dict(getattr(retriever, "facts", {}))
