"""A retriever by its name, over a pool of passages.

A module of this package offers what it has in `PLUGINS`: from the function of a name (`bm25`, `hybrid`…) to a function
that opens it. Another package does so by an entry point of the group `ragstone.retrievers`.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from ragstone.errors import DataError, UsageError
from ragstone.models import ModelOptions, check_model
from ragstone.registry import Registry
from ragstone.retrieval.names import Spec, parse
from ragstone.types import Passage, Retriever

__all__ = ["RETRIEVERS", "Building", "Opener", "check_retriever", "facts_of", "open_retriever"]

_DEFAULT = ModelOptions()
_NO_ADDRESS = " --base-url: the address of the endpoint."  # what a model says that has none; here it would not help
_EMBEDDERS = ("dense", "multivector", "late", "lancedb", "elasticsearch")  # their first argument is an embedder
_AFTER_MODEL = ("rerank", "rewrite", "multiquery")  # they open their model before the retriever within


@dataclass(frozen=True)
class Building:
    """What a retriever is built from. `pool`: all passages, whose ids differ. `queries`: question → its id, where the
    questions are known beforehand (`run:FILE` finds its lines by it)."""

    pool: Sequence[Passage]
    options: ModelOptions = _DEFAULT
    queries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _opened: dict[str, Retriever] = field(default_factory=dict, repr=False)

    def calling(self, spec: Spec) -> ModelOptions:
        """The options for a model of this retriever: at the address of its option `url`, where it has one."""
        url = spec.options.get("url")
        return replace(self.options, base_url=url) if url else self.options

    @contextlib.asynccontextmanager
    async def open(self, name: str) -> AsyncIterator[Retriever]:
        """The retriever of an inner name over the same pool."""
        spec = parse(name)
        async with RETRIEVERS.get(spec.function)(spec, self) as opened:
            yield opened


Opener: TypeAlias = "Callable[[Spec, Building], contextlib.AbstractAsyncContextManager[Retriever]]"

RETRIEVERS: Registry[Opener] = Registry("retriever", "ragstone.retrieval", "ragstone.retrievers")


def _begin(opened: contextlib.AbstractAsyncContextManager[Any]) -> None:
    """Opens up to the first thing that would be waited for."""
    steps = opened.__aenter__()
    try:
        steps.send(None)
    except StopIteration:
        pass
    finally:
        steps.close()


class _Reached(BaseException):
    """An opener has looked at all that stands in its name, and begins to build."""


class _Unbuilt:
    """Stands for a `Building` where only a name is checked: what is within it is, and nothing is built."""

    def __init__(self, options: ModelOptions | None) -> None:
        self._options = options

    @contextlib.asynccontextmanager
    async def open(self, name: str) -> AsyncIterator[None]:
        check_retriever(name, self._options)
        yield

    def __getattr__(self, name: str) -> Any:
        raise _Reached


def check_retriever(name: str, options: ModelOptions | None = None) -> None:
    """Raises UsageError where nothing can have this name, or its options, and DataError for a run that is not there.
    Builds nothing and needs no key: of several retrievers, the last one's typing error is told before the first one's
    pool is embedded. `options`: how its models would be called; their names and addresses are then checked too."""
    spec = parse(name)
    make = RETRIEVERS.get(spec.function)
    if spec.function == "run":
        if not (path := Path(spec.arguments[0]).expanduser()).is_file():
            raise DataError(path, "is no file of a run." if path.exists() else "there is no such file.")
        return
    for inner in spec.arguments:
        parse(inner)
    if not make.__module__.startswith("ragstone."):
        return  # another package's may do anything before it asks for the pool
    with contextlib.suppress(_Reached):
        _begin(make(spec, cast("Building", _Unbuilt(options))))
    if spec.function in _AFTER_MODEL and spec.arguments:
        check_retriever(spec.arguments[0], options)
    if options is not None:
        with _advising_address():
            _check_model(spec, options)


def _check_model(spec: Spec, options: ModelOptions) -> None:
    """Raises UsageError if the model of a retriever cannot exist, or not at its address."""
    from ragstone.models.rerank import is_reranker, reranker_endpoint  # noqa: PLC0415  (loads aiohttp)

    calling = Building((), options).calling(spec)
    if spec.function in _EMBEDDERS and spec.arguments:
        check_model(spec.arguments[0], "embedder", options if spec.function == "elasticsearch" else calling)
    elif spec.function in _AFTER_MODEL and len(spec.arguments) == 2:  # the retriever within, and the model
        if is_reranker(model := spec.arguments[1]):
            reranker_endpoint(model, options, url=spec.options.get("url", ""))
        else:
            check_model(model, "model", calling)


@contextlib.contextmanager
def _advising_address() -> Iterator[None]:
    """Names the options that give an address to a retriever's model, where a model has none."""
    try:
        yield
    except UsageError as error:
        if (needs := str(error).removesuffix(_NO_ADDRESS)) == str(error):
            raise
        raise UsageError(
            f"{needs} an address: url=http://… in the name of the retriever, or --retriever-base-url."
        ) from None


@contextlib.asynccontextmanager
async def open_retriever(
    name: str | Retriever,
    pool: Sequence[Passage],
    *,
    options: ModelOptions = _DEFAULT,
    queries: Mapping[str, Sequence[str]] | None = None,
) -> AsyncIterator[Retriever]:
    """The retriever of this name, its index built; or itself, where it is one. `options` are for the models that it
    asks; `queries`: question → the ids it is known by, for `run:FILE`.

    Raises UsageError for a name that cannot be, a pool that is empty, and an id that two passages have; what a model
    raises, where one is asked while the index is built."""
    if not isinstance(name, str):
        yield name
        return
    spec = parse(name)
    make = RETRIEVERS.get(spec.function)
    if not pool:
        raise UsageError(f"The retriever {spec.name} has nothing to search: the pool has no passage.")
    if len({passage.id for passage in pool}) < len(pool):
        ids: set[str] = set()
        twice = next(passage.id for passage in pool if passage.id in ids or ids.add(passage.id))  # type: ignore[func-returns-value]
        raise UsageError(f"The pool has two passages of the id {twice!r}: give each its own.")
    async with contextlib.AsyncExitStack() as stack:
        with _advising_address():
            opened = await stack.enter_async_context(make(spec, Building(pool, options, queries or {})))
        yield opened


def facts_of(retriever: Retriever) -> dict[str, Any]:
    """What a retriever tells of itself (bytes of the index, seconds to build it, its library), for a report."""
    return dict(getattr(retriever, "facts", {}))
