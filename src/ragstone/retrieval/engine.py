"""Search engines and vector databases as retrievers: what they share. Each engine is one file with an `EngineKind`.

    ENGINE(PLACE, collection=NAME, embedder=EMBEDDER, id=FIELD, text=FIELD, title=FIELD, vector=FIELD)

PLACE is an address, or the folder or file of an engine that runs in this process; such an engine takes a temporary
folder where none is given. With `collection`, the user's own collection is searched; without it, ragstone fills one
with the pool, named after its content, and later runs reuse it. `embedder` embeds the questions, and for a pool the
passages; `embedder_url` is the base URL of its endpoint. What is found is the pool's passage of that id or text, else
a passage with the text in the collection.
"""

import asyncio
import contextlib
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol, TypeAlias
from urllib.parse import urlsplit

import msgspec
import numpy as np

from ragstone.errors import DataError, RagstoneError, Unauthorized, Unreachable, UsageError
from ragstone.models import ModelOptions, open_embedder
from ragstone.models.concurrency import gather_all
from ragstone.models.nested_names import Spec
from ragstone.retrieval.embedders import embed_all
from ragstone.retrieval.index_folder import bytes_of
from ragstone.retrieval.registry import Building
from ragstone.text.redaction import redact, secrets_of, shown_url
from ragstone.types import Embedder, Passage, Retriever

Vectors: TypeAlias = np.ndarray[Any, Any] | None
"""One vector, or a matrix with one a row; None where an engine searches words."""

_IN_FLIGHT = 8  # concurrent searches
_SHARED = ("collection", "embedder", "embedder_url", "id", "text", "title")


class Hit(NamedTuple):
    """A find of an engine: higher scores are better. `text` is "" where the collection has none."""

    id: str
    score: float
    text: str = ""
    title: str = ""


@dataclass(frozen=True)
class Fields:
    """The names of a collection's fields. `id` "": the engine's own id."""

    id: str = ""
    text: str = "text"
    title: str = "title"
    vector: str = ""

    def hit(self, key: Any, score: float, values: Mapping[str, Any]) -> Hit:
        """An entry with these values, as it was found."""
        text, title = value_at(values, self.text), value_at(values, self.title)
        return Hit(str(key), float(score), str(text or ""), str(title or ""))


@dataclass(frozen=True)
class EngineTarget:
    """The place to connect to. `place`: an address, a folder or a file. `options`: those of this kind of engine."""

    place: str
    fields: Fields
    options: Mapping[str, str]
    model_options: ModelOptions

    @property
    def is_address(self) -> bool:
        return "://" in self.place


class Engine(Protocol):
    """An open engine. `library`: its name and version. Raises what its client raises."""

    library: str

    async def collections(self) -> Sequence[str]: ...
    async def count(self, collection: str) -> int: ...
    async def check(self, collection: str, dimensions: int) -> int:
        """The dimensions of the vectors of the user's collection; `dimensions` (0: words are searched) where nobody
        knows. Raises UsageError if it cannot be searched with such vectors."""

    async def fill(self, collection: str, passages: Sequence[Passage], vectors: np.ndarray[Any, Any] | None) -> None:
        """Creates the collection with these passages; replaces one of this name."""

    async def search(self, collection: str, query: str, vector: np.ndarray[Any, Any] | None, k: int) -> list[Hit]: ...
    def entries(self, collection: str) -> AsyncIterator[Hit]:
        """All entries of a collection, in any order, with a score of 0."""


@dataclass(frozen=True)
class EngineKind:
    """A kind of engine, which opens retrievers by their names. `label`: its name in errors. `key`: the environment
    variable of its key or password. `schemes`: of its addresses. `local`: it can run in this process. `words`: it
    searches words if no embedder is named. `more_keys`: further variables of a user and a password. `unreachable`,
    `unauthorized`: the names of its client's exceptions for these."""

    name: str
    label: str
    connect: Callable[[EngineTarget], contextlib.AbstractAsyncContextManager[Engine]]
    key: str
    example: str
    schemes: tuple[str, ...] = ("http", "https")
    local: bool = False
    words: bool = False
    options: tuple[str, ...] = ()
    more_keys: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    unauthorized: tuple[str, ...] = ()

    def __call__(self, spec: Spec, building: Building) -> contextlib.AbstractAsyncContextManager[Retriever]:
        return _open_engine(self, spec, building)


class EngineRetriever:
    """A retriever over a collection. `facts` go into reports."""

    def __init__(
        self, kind: EngineKind, name: str, engine: Engine, collection: str, embedder: Embedder | None,
        pool: Sequence[Passage], facts: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.id, self.facts = name, facts
        self._kind, self._engine, self._collection, self._embedder = kind, engine, collection, embedder
        self._by_id = {passage.id: passage for passage in pool}
        self._by_text = {passage.text.strip(): passage for passage in reversed(pool)}
        self._places = {key: place for place, key in enumerate(self._by_id)}

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query, best first; ties keep the pool's order. A blank query finds none. Raises
        DataError for what has no text and is not in the pool."""
        results: list[list[Passage]] = [[] for _ in queries]
        nonblank = [number for number, query in enumerate(queries) if query.strip()]
        if not nonblank or k < 1:
            return results
        asked = [queries[number] for number in nonblank]
        vectors: Any = [None] * len(asked)
        if self._embedder is not None:
            vectors = await embed_all(self._embedder, asked, kind="query")
        room = asyncio.Semaphore(_IN_FLIGHT)

        async def search(number: int, vector: Any) -> None:
            async with room:
                with _errors(self._kind, self.id):
                    hits = await self._engine.search(self._collection, queries[number], vector, k)
            results[number] = self._passages(hits)[:k]

        await gather_all(*(search(number, vector) for number, vector in zip(nonblank, vectors, strict=True)))
        return results

    def _passages(self, hits: Sequence[Hit]) -> list[Passage]:
        found: dict[str, Passage] = {}
        for hit in hits:
            known = self._by_id.get(hit.id) or (self._by_text.get(hit.text.strip()) if hit.text.strip() else None)
            if known is None and not hit.text.strip():
                raise DataError(
                    self._collection, f"id {hit.id!r} is in the collection but not in the pool, and it has no text.",
                    advice="Name the field with the text: text=FIELD; or index the pool's passages with their ids.",
                )  # fmt: skip
            passage = known or Passage(hit.id, hit.text, title=hit.title)
            found.setdefault(passage.id, msgspec.structs.replace(passage, score=hit.score))
        last = len(self._places)
        return sorted(found.values(), key=lambda item: (-(item.score or 0.0), self._places.get(item.id, last)))


@contextlib.asynccontextmanager
async def _open_engine(kind: EngineKind, spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens a retriever. Raises UsageError, MissingExtra, DataError, the embedder's errors, and Unreachable."""
    place = _checked_place(kind, spec)
    if "embedder" not in spec.options and not kind.words:
        raise UsageError(f"{spec.name}: name what embeds the questions: embedder=local/e5-small.")
    pool = [passage for passage in building.pool if passage.text.strip()]
    async with contextlib.AsyncExitStack() as stack:
        embedder: Embedder | None = None
        if name := spec.options.get("embedder"):
            url = spec.options.get("embedder_url")
            options = replace(building.options, base_url=url) if url else building.options
            embedder = await stack.enter_async_context(open_embedder(name, options))
        started, scratch = time.perf_counter(), ""
        if not place:
            place = scratch = stack.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
        with _errors(kind, spec.name):
            engine = await stack.enter_async_context(kind.connect(_target(place, spec, building.options)))
        collection = await _collection(kind, spec, engine, embedder, pool)
        with _errors(kind, spec.name):
            count = await engine.count(collection)
        facts: dict[str, Any] = {
            "library": engine.library, "collection": collection, "passages": count,
            "build_seconds": time.perf_counter() - started,
        }  # fmt: skip
        if embedder is not None:
            facts["embedder"] = embedder.id
        if scratch:
            facts["index_bytes"] = bytes_of(Path(scratch))
        yield EngineRetriever(kind, spec.name, engine, collection, embedder, building.pool, facts)


async def list_collection(kind: EngineKind, spec: Spec, options: ModelOptions) -> AsyncIterator[Passage]:
    """The entries of the user's collection, as passages; no embedder is needed. Raises UsageError, MissingExtra and
    Unreachable."""
    place = _checked_place(kind, spec)
    if "collection" not in spec.options:
        raise UsageError(f"{spec.name}: name the collection to list with collection=NAME.")
    async with contextlib.AsyncExitStack() as stack:
        with _errors(kind, spec.name):
            engine = await stack.enter_async_context(kind.connect(_target(place, spec, options)))
        await _names(kind, spec, engine)
        with _errors(kind, spec.name):
            async for hit in engine.entries(spec.options["collection"]):
                yield Passage(hit.id, hit.text, title=hit.title)


async def _names(kind: EngineKind, spec: Spec, engine: Engine) -> Sequence[str]:
    """The names of the collections. Raises UsageError if the user's is none of them."""
    with _errors(kind, spec.name):
        names = await engine.collections()
    if (name := spec.options.get("collection", "")) and name not in names:
        has = ", ".join(sorted(names)[:10]) or "none"
        raise UsageError(f"{spec.name}: there is no collection {name!r}. There is: {has}.")
    return names


def _target(place: str, spec: Spec, options: ModelOptions) -> EngineTarget:
    fields = {key: spec.options[key] for key in ("id", "text", "title", "vector") if key in spec.options}
    return EngineTarget(place, Fields(**fields), spec.options, options)


def _checked_place(kind: EngineKind, spec: Spec) -> str:
    """The address or path in a name, whose options are checked. Raises UsageError."""
    spec.only(*_SHARED, *kind.options)
    if len(spec.arguments) > 1:
        raise UsageError(f"{spec.name}: {kind.name} takes one address or path, for example {kind.example}.")
    place = spec.arguments[0] if spec.arguments else ""
    own = "collection" in spec.options
    if "://" in place:
        try:
            parts = urlsplit(place)
            secret = bool(parts.password or secrets_of(place) or (parts.username and "http" in parts.scheme))
        except ValueError:
            raise UsageError(f"{shown_url(place)!r} is not an address.") from None
        if secret:
            raise UsageError(
                f"{spec.name}: an address must not contain a user name or password. Put it into the environment "
                f"variable {kind.key}."
            )
        if parts.scheme not in kind.schemes:
            raise UsageError(f"{spec.name}: give an address or path like {kind.example}.")
    elif not kind.local:
        raise UsageError(f"{spec.name}: give the server's address, for example {kind.example}.")
    elif own and not Path(place or "-").expanduser().exists():
        raise UsageError(f"{spec.name}: there is no {place or 'path'}. Give the folder or file with your collection.")
    if not own and set(spec.options) & {"id", "text", "title", "vector"}:
        raise UsageError(f"{spec.name}: id, text, title and vector are fields of your own collection=NAME.")
    return place


async def _collection(
    kind: EngineKind, spec: Spec, engine: Engine, embedder: Embedder | None, pool: Sequence[Passage]
) -> str:
    """The user's collection, or the pool's: a complete one from an earlier run, or a new one."""
    names = await _names(kind, spec, engine)
    if name := spec.options.get("collection", ""):
        dimensions = (await embed_all(embedder, ["?"], kind="query")).shape[1] if embedder is not None else 0
        with _errors(kind, spec.name):
            size = await engine.check(name, dimensions)
        if size != dimensions:
            raise UsageError(
                f"The collection {name} has vectors of {size} dimensions, and the embedder's have {dimensions}: name "
                "the embedder that filled it."
            )
        return name
    name = f"ragstone_{_digest(embedder, pool)}"
    with _errors(kind, spec.name):
        if name in names and await engine.count(name) == len(pool):
            return name
    vectors = None
    if embedder is not None:
        vectors = await embed_all(embedder, [passage.text for passage in pool], kind="passage")
    with _errors(kind, spec.name):
        await engine.fill(name, pool, vectors)
    return name


def _digest(embedder: Embedder | None, pool: Sequence[Passage]) -> str:
    """The part of a collection's name that identifies the pool and the embedder."""
    digest = hashlib.sha256((embedder.id if embedder else "").encode())
    for passage in pool:
        digest.update(f"\x00{passage.id}\x01{passage.title}\x02{passage.text}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _errors(kind: EngineKind, name: str) -> Iterator[None]:
    """Turns a client's errors into ragstone's, in one line."""
    try:
        yield
    except RagstoneError:
        raise
    except Exception as error:
        secrets = tuple(filter(None, [os.environ.get(kind.key, "")]))
        line = " ".join(redact(str(error), secrets, keys=True).split())[:200].rstrip(".") or type(error).__name__
        names = {cls.__name__ for cause in _causes(error) for cls in type(cause).__mro__}
        if names & set(kind.unauthorized):
            raise Unauthorized(f"{name}: {line}. Set the key in {kind.key}.") from None
        if names & {*kind.unreachable, "ConnectionError", "TimeoutError"}:
            raise Unreachable(f"{name}: no connection ({line}). Is {kind.label} running?") from None
        raise UsageError(f"{name}: {kind.label} refused this ({type(error).__name__}: {line}).") from None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def similarity(distance: float, metric: str) -> float:
    """A similarity from a distance: of "l2" 1 / (1 + distance), of others, which are 1 - similarity, the similarity."""
    return 1.0 / (1.0 + distance) if metric == "l2" else 1.0 - distance


def value_at(values: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, which may also be a name with dots; None if there is none."""
    if path in values:
        return values[path]
    value: Any = values
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
