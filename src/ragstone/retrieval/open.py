"""Opens a retriever by name over a pool of passages.

Each module of this package lists its retrievers in `PLUGINS`, a mapping from the function in a name (`bm25`, `hybrid`…)
to its opener. Other packages register theirs by an entry point in the group `ragstone.retrievers`.
"""

import contextlib
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from ragstone.errors import DataError, UsageError
from ragstone.models import ModelOptions, check_key, check_model
from ragstone.models.nested_names import HTTP, PLACE, Spec, is_http, parse
from ragstone.registry import is_place
from ragstone.retrieval.corpus import Documents
from ragstone.retrieval.registry import _DEFAULT, RETRIEVERS, Building
from ragstone.types import Passage, Retriever
from ragstone.user_code.isolated import source_hash

# The end of a model's error about a missing address; the model of a retriever has other options for it.
_NO_ADDRESS = " --base-url: the address of the endpoint."
_EMBEDDERS = ("dense", "multivector", "late")  # their first argument is an embedder
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s,(){}\"']+", re.IGNORECASE)
_AFTER_MODEL = ("rerank", "rewrite", "multiquery")  # they open their model before the inner retriever


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

    def __init__(self, options: ModelOptions | None, *, keys: bool) -> None:
        self._options, self._keys = options, keys

    @contextlib.asynccontextmanager
    async def open(self, name: str) -> AsyncIterator[None]:
        check_retriever(name, self._options, keys=self._keys)
        yield

    def __getattr__(self, name: str) -> Any:
        raise _NameIsValid


def check_retriever(name: Any, options: ModelOptions | None = None, *, keys: bool = False) -> None:
    """Checks a retriever's name and options. Builds nothing and, without `keys`, needs no key, so a typing error in the
    last of several retrievers is reported before the first one embeds its pool. With `options`, the names and addresses
    of its models are checked too; with `keys`, whether the keys that these need are set. An object is not checked.
    Raises UsageError for an invalid name or option, DataError if the file of `run:FILE` is missing, and MissingKey."""
    if not isinstance(name, str):
        return
    spec = parse(name)
    _refuse_passwords(spec)
    make = RETRIEVERS.get(spec.function)
    if spec.function == "run":
        if not (path := Path(spec.arguments[0]).expanduser()).is_file():
            problem = "is not a file; run: needs the file of a run." if path.exists() else "there is no such file."
            raise DataError(path, problem)
        return
    if not {"collection", "embedder"} & spec.options.keys():  # else it is an engine, whose argument is a place
        for inner in spec.arguments:
            parse(inner)
    if not make.__module__.startswith("ragstone."):
        return  # another package's opener may do any work before it reads the pool
    with contextlib.suppress(_NameIsValid):
        _begin(make(spec, cast("Building", _CheckOnly(options, keys=keys))))
    if spec.function in _AFTER_MODEL and spec.arguments:
        check_retriever(spec.arguments[0], options, keys=keys)
    if options is not None:
        with _advising_address():
            _check_model(spec, options, keys=keys)


def retriever_name(retriever: Any) -> str:
    """The name of a retriever as tables show it: its spelling without keys, or the id or class of an object."""
    if isinstance(retriever, str):
        return parse(retriever).name
    name = getattr(retriever, "id", None)
    return name if isinstance(name, str) else str(getattr(retriever, "__name__", "") or type(retriever).__name__)


def named_retrievers(retrievers: Iterable[Any]) -> dict[str, Any]:
    """The retrievers by their names. Raises UsageError for two objects of one name."""
    names: dict[str, Any] = {}
    for retriever in retrievers:
        before = names.setdefault(retriever_name(retriever), retriever)
        if before is not retriever and not (isinstance(before, str) and isinstance(retriever, str)):
            raise UsageError(
                f"Two retrievers are named {retriever_name(retriever)!r}: give each object an `id` of its own."
            )
    return names


def brings_documents(retriever: Any) -> bool:
    """True if a retriever has documents of its own and so needs no pool: code, an address, an object, an engine with a
    collection of the user's, BM25 over a corpus of its own, and what only these are inside of."""
    if not isinstance(retriever, str):
        return True
    spec = parse(retriever)
    if spec.function in (PLACE, HTTP) or {"collection", "corpus"} & spec.options.keys():
        return True
    inner = spec.arguments[:1] if spec.function in _AFTER_MODEL else spec.arguments
    return spec.function in (*_AFTER_MODEL, "hybrid") and bool(inner) and all(map(brings_documents, inner))


def code_of(retriever: Any) -> dict[str, str]:
    """The hashes of the user's code and documents that a name contains, by location: what has changed is another
    retriever."""
    if not isinstance(retriever, str):
        return {}
    if is_place(retriever):
        return {retriever: source_hash(retriever)}
    hashes: dict[str, str] = {}
    with contextlib.suppress(UsageError):  # a path is no name
        spec = parse(retriever)
        if corpus := spec.options.get("corpus"):
            hashes[corpus] = Documents(corpus).sha256()
        for text in (*spec.arguments, *spec.options.values()):
            if text != retriever:
                hashes |= code_of(text)
    return hashes


def _refuse_passwords(spec: Spec) -> None:
    """Raises UsageError if an address anywhere in a name has a user name or password: names are stored and shown."""
    for text in (*spec.arguments, *spec.options.values()):
        for address in _ADDRESS.findall(text):
            try:
                parts = urlsplit(address)
            except ValueError:
                continue
            if parts.password or (parts.username and parts.scheme in ("http", "https")):
                raise UsageError(
                    f"{spec.name}: an address must not contain a user name or password. Put the password or key into "
                    f"the environment variable that docs/retrievers.md names for it."
                )


def _check_model(spec: Spec, options: ModelOptions, *, keys: bool) -> None:
    """Raises UsageError if the name or the address of a retriever's model is invalid; MissingKey if `keys`."""
    from ragstone.models.client import provider_key  # noqa: PLC0415  (loads aiohttp)
    from ragstone.models.rerank import is_reranker, reranker_endpoint  # noqa: PLC0415  (loads aiohttp)
    from ragstone.models.rerank_own import http_reranker_call  # noqa: PLC0415

    def check(model: str, kind: Literal["model", "embedder"], calling: ModelOptions) -> None:
        check_model(model, kind, calling)
        if keys:
            check_key(model, calling.base_url)

    calling = Building((), options).calling(spec)
    if spec.function in _EMBEDDERS and spec.arguments:
        check(spec.arguments[0], "embedder", calling)
    elif embedder := spec.options.get("embedder"):
        check(embedder, "embedder", replace(options, base_url=spec.options.get("embedder_url", options.base_url)))
    elif spec.function in _AFTER_MODEL and len(spec.arguments) == 2:  # the inner retriever and the model
        if spec.function == "rerank" and is_http(spec.arguments[1]):
            http_reranker_call(spec.arguments[1], options)
        elif is_reranker(model := spec.arguments[1]):
            provider, *_ = reranker_endpoint(model, options, url=spec.options.get("url", ""))
            if keys:
                provider_key(provider, own_endpoint="url" in spec.options)
        else:
            check(model, "model", calling)


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
    name: Any,
    pool: Sequence[Passage],
    *,
    options: ModelOptions = _DEFAULT,
    queries: Mapping[str, Sequence[str]] | None = None,
) -> AsyncIterator[Retriever]:
    """Opens the retriever `name` with its index built. A retriever object is returned as it is; a function (query, k)
    and a retriever, vector store or index of LangChain, LlamaIndex or Haystack becomes one (`retrieval/own.py`).

    `options` configure the models that it calls; `queries` maps a question to its ids, for `run:FILE`. Raises
    UsageError for an invalid name, an empty pool or a duplicate passage id, and any error of a model that is called
    while the index is built."""
    if not isinstance(name, str):
        from ragstone.retrieval.own import retriever_from  # noqa: PLC0415  (it needs `Building`)

        yield retriever_from(name, retriever_name(name), pool, timeout=options.deadline, in_flight=options.in_flight)
        return
    spec = parse(name)
    _refuse_passwords(spec)
    make = RETRIEVERS.get(spec.function)
    if not pool and not brings_documents(name):
        raise UsageError(f"The retriever {spec.name} has nothing to search: the pool has no passage.")
    if len({passage.id for passage in pool}) < len(pool):
        ids: set[str] = set()
        twice = next(passage.id for passage in pool if passage.id in ids or ids.add(passage.id))  # type: ignore[func-returns-value]
        raise UsageError(f"Two passages of the pool have the id {twice!r}: give each its own.")
    async with contextlib.AsyncExitStack() as stack:
        with _advising_address():
            opened = await stack.enter_async_context(make(spec, Building(pool, options, queries or {})))
        yield opened


def searched_text(passage: Passage, *, title: bool) -> str:
    """The searched text of a passage: its text, with `title` its title before it."""
    return f"{passage.title} {passage.text}" if title and passage.title else passage.text


def facts_of_inner(retriever: Retriever) -> dict[str, Any]:
    """The facts of a retriever around another one: its facts, and the size of its index as its own."""
    facts = facts_of(retriever)
    size = {"index_bytes": facts["index_bytes"]} if "index_bytes" in facts else {}
    return {"first": {retriever.id: facts}, **size}


def facts_of(retriever: Retriever) -> dict[str, Any]:
    """The facts of a retriever: size of the index in bytes, seconds to build it, its library."""
    return dict(getattr(retriever, "facts", {}))
