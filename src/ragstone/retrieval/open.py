"""Opens a retriever by name over a pool of passages.

Each module of this package lists its retrievers in `PLUGINS`, a mapping from the function in a name (`bm25`, `hybrid`…)
to its opener. Other packages register theirs by an entry point in the group `ragstone.retrievers`.
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
# The end of a model's error about a missing address; the model of a retriever has other options for it.
_NO_ADDRESS = " --base-url: the address of the endpoint."
_EMBEDDERS = ("dense", "multivector", "late", "lancedb", "elasticsearch")  # their first argument is an embedder
_AFTER_MODEL = ("rerank", "rewrite", "multiquery")  # they open their model before the inner retriever


@dataclass(frozen=True)
class Building:
    """What a retriever is built from. `pool`: all passages, with unique ids. `queries`: question → its ids, if the
    questions are known in advance (`run:FILE` needs the ids)."""

    pool: Sequence[Passage]
    options: ModelOptions = _DEFAULT
    queries: Mapping[str, Sequence[str]] = field(default_factory=dict)
    _opened: dict[str, Retriever] = field(default_factory=dict, repr=False)

    def calling(self, spec: Spec) -> ModelOptions:
        """Options for opening this retriever's model: its option `url`, if given, is the base URL."""
        url = spec.options.get("url")
        return replace(self.options, base_url=url) if url else self.options

    @contextlib.asynccontextmanager
    async def open(self, name: str) -> AsyncIterator[Retriever]:
        """Opens an inner retriever over the same pool."""
        spec = parse(name)
        async with RETRIEVERS.get(spec.function)(spec, self) as opened:
            yield opened


Opener: TypeAlias = "Callable[[Spec, Building], contextlib.AbstractAsyncContextManager[Retriever]]"

RETRIEVERS: Registry[Opener] = Registry("retriever", "ragstone.retrieval", "ragstone.retrievers")


def _begin(opened: contextlib.AbstractAsyncContextManager[Any]) -> None:
    """Runs an async context manager up to its first real await, then closes it."""
    steps = opened.__aenter__()
    try:
        steps.send(None)
    except StopIteration:
        pass
    finally:
        steps.close()


class _NameIsValid(BaseException):
    """An opener has checked its whole name and starts building."""


class _CheckOnly:
    """Replaces `Building` when only a name is checked: inner names are checked too, and nothing is built."""

    def __init__(self, options: ModelOptions | None) -> None:
        self._options = options

    @contextlib.asynccontextmanager
    async def open(self, name: str) -> AsyncIterator[None]:
        check_retriever(name, self._options)
        yield

    def __getattr__(self, name: str) -> Any:
        raise _NameIsValid


def check_retriever(name: str, options: ModelOptions | None = None) -> None:
    """Checks a retriever's name and options. Builds nothing and needs no key, so a typing error in the last of several
    retrievers is reported before the first one embeds its pool. With `options`, the names and addresses of its models
    are checked too. Raises UsageError for an invalid name or option, DataError if the file of `run:FILE` is missing."""
    spec = parse(name)
    make = RETRIEVERS.get(spec.function)
    if spec.function == "run":
        if not (path := Path(spec.arguments[0]).expanduser()).is_file():
            problem = "is not a file; run: needs the file of a run." if path.exists() else "there is no such file."
            raise DataError(path, problem)
        return
    for inner in spec.arguments:
        parse(inner)
    if not make.__module__.startswith("ragstone."):
        return  # another package's opener may do any work before it reads the pool
    with contextlib.suppress(_NameIsValid):
        _begin(make(spec, cast("Building", _CheckOnly(options))))
    if spec.function in _AFTER_MODEL and spec.arguments:
        check_retriever(spec.arguments[0], options)
    if options is not None:
        with _advising_address():
            _check_model(spec, options)


def _check_model(spec: Spec, options: ModelOptions) -> None:
    """Raises UsageError if the name or the address of a retriever's model is invalid."""
    from ragstone.models.rerank import is_reranker, reranker_endpoint  # noqa: PLC0415  (loads aiohttp)

    calling = Building((), options).calling(spec)
    if spec.function in _EMBEDDERS and spec.arguments:
        check_model(spec.arguments[0], "embedder", options if spec.function == "elasticsearch" else calling)
    elif spec.function in _AFTER_MODEL and len(spec.arguments) == 2:  # the inner retriever and the model
        if is_reranker(model := spec.arguments[1]):
            reranker_endpoint(model, options, url=spec.options.get("url", ""))
        else:
            check_model(model, "model", calling)


@contextlib.contextmanager
def _advising_address() -> Iterator[None]:
    """Rewrites the error for a model without an address: it names the retriever's own options for it."""
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
    """Opens the retriever `name` with its index built. A retriever object is returned as it is.

    `options` configure the models that it calls; `queries` maps a question to its ids, for `run:FILE`. Raises
    UsageError for an invalid name, an empty pool or a duplicate passage id, and any error of a model that is called
    while the index is built."""
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
        raise UsageError(f"Two passages of the pool have the id {twice!r}: give each its own.")
    async with contextlib.AsyncExitStack() as stack:
        with _advising_address():
            opened = await stack.enter_async_context(make(spec, Building(pool, options, queries or {})))
        yield opened


def facts_of(retriever: Retriever) -> dict[str, Any]:
    """What a retriever reports about itself: size of the index in bytes, seconds to build it, its library."""
    return dict(getattr(retriever, "facts", {}))
