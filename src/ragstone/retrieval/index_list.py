"""Lists what a system can find, its index: the passages that its retriever searches, as they stand there.

    ./chunks.jsonl, ./indexed/        a file (JSONL, JSON, CSV…) or a folder: passages as systems export them
    app.py:chunks                     code: a list, a function that returns one, a vector store, an index or a
                                      retriever of LangChain, LlamaIndex or Haystack, a collection of Chroma
    qdrant(http://localhost:6333,collection=docs)        the collection of an engine (`retrieval/engine.py`)

Items may be texts, dicts, documents or nodes of a framework, or pairs of one and its id. Named code runs in a process
of its own.
"""

import hashlib
import inspect
import json
import re
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ragstone.errors import DataError, SystemFailed, UsageError
from ragstone.models import ModelOptions
from ragstone.registry import is_place
from ragstone.responses.returned_passages import passages_of
from ragstone.retrieval.corpus import Corpus, Documents
from ragstone.retrieval.corpus_rows import text_of
from ragstone.storage import FormatError, parse_json
from ragstone.types import Passage
from ragstone.user_code.calls import Served, guarded, located, result_of, with_article

_PAGE = 5000  # passages that a process of its own hands over at a time
_DEEPEST = 6  # objects inside of objects
_INNER = (
    "retrievers", "chunks", "passages", "documents", "docs", "docstore", "_docstore", "document_store", "store",
    "vectorstore", "vector_store",
    "_vector_store", "index", "_index", "retriever", "_retriever", "base_retriever", "corpus", "_dict",
)  # fmt: skip
"""Attributes with the passages of frameworks' objects, or the object that has them."""
_WRAPPED = ("payload", "_source", "entity", "node", "__data__")  # where engines and frameworks export the fields
_ENGINE = re.compile(r"[a-z][a-z0-9]*\(.*\)", re.DOTALL)


async def read_index(source: Any, options: ModelOptions | None = None) -> Corpus:
    """The passages of an index. `options`: the time limit of code, and how to reach an engine. Raises UsageError for
    what cannot be read or lists nothing, and DataError, one line each."""
    if isinstance(source, Corpus):
        return source
    if isinstance(source, str) and not source.strip():
        raise UsageError("--index is empty: name a folder, a file, code such as app.py:chunks, or an engine.")
    options = options or ModelOptions()
    name = str(source) if isinstance(source, str | Path) else with_article(type(source).__name__)
    if isinstance(source, str) and is_place(source):
        passages = await _of_code(source, options)
    elif isinstance(source, str) and _ENGINE.fullmatch(source.strip()):
        passages = await _of_engine(source, options)
    elif isinstance(source, str) and "://" in source:
        raise _unlistable(name, "an address has no list; an engine is qdrant(ADDRESS,collection=NAME)")
    elif isinstance(source, str | Path):
        passages = passages_of(map(_unwrapped, _of_path(Path(source))))
    else:
        passages = await _listed(source, name, options.deadline)
    passages = tuple(replace(one, relevant=None, score=None) for one in passages if one.text.strip())
    if not passages:
        raise _unlistable(name, "it has no passage with text")
    digest = hashlib.sha256()
    for entry in sorted(json.dumps([one.id, one.title, one.text]) for one in passages):
        digest.update(entry.encode("ascii"))
    return Corpus(name, passages, digest.hexdigest())


def _of_path(path: Path) -> Iterator[Any]:
    """The rows of a file of JSON, else the passages of the documents of a file or folder."""
    path = path.expanduser()
    if path.is_file() and path.suffix.lower() in (".json", ".jsonl", ".ndjson"):
        yield from _rows(path)
    else:
        yield from (passage for _, passage, _ in Documents(path))


def _rows(path: Path) -> Iterator[Any]:
    text = text_of(path)
    if path.suffix.lower() == ".json":
        try:
            found = _items(parse_json(text), _DEEPEST)
        except FormatError as error:
            raise DataError(path, f"{error}.", line=error.line) from None
        yield from found or ()
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield parse_json(line)
            except FormatError as error:
                raise DataError(path, f"{error}.", line=number) from None


def _unwrapped(item: Any) -> Any:
    """The fields of an exported passage beside those of its wrapping: `payload`, `_source`…, and of a vector without a
    text those of its metadata."""
    if not isinstance(item, Mapping):
        return item
    inner: Mapping[str, Any] = next((item[key] for key in _WRAPPED if isinstance(item.get(key), Mapping)), {})
    fields = {**{key: value for key, value in item.items() if key not in _WRAPPED}, **inner}
    metadata = fields.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("text"), str):
        fields.setdefault("text", metadata["text"])
    return fields


async def _of_engine(source: str, options: ModelOptions) -> tuple[Passage, ...]:
    from ragstone.models.nested_names import parse  # noqa: PLC0415  (loads all retrievers)
    from ragstone.retrieval.engine import EngineKind, list_collection  # noqa: PLC0415
    from ragstone.retrieval.registry import RETRIEVERS  # noqa: PLC0415

    spec = parse(source)
    kind = RETRIEVERS.get(spec.function)
    if not isinstance(kind, EngineKind):
        engines = ", ".join(name for name, made in RETRIEVERS if isinstance(made, EngineKind))
        raise UsageError(f"The index {source!r} is no engine: name one of {engines} with collection=NAME.")
    return tuple([passage async for passage in list_collection(kind, spec, options)])


async def _of_code(place: str, options: ModelOptions) -> tuple[Passage, ...]:
    from ragstone.user_code.isolated import open_isolated_code  # noqa: PLC0415

    opening = open_isolated_code(
        place, "index", "ragstone.retrieval.index_list:serve_listing", timeout=options.deadline, threads=1
    )
    async with opening as code:
        try:
            return tuple([passage async for passage in _pages(code.call)])
        except SystemFailed as error:
            line = str(error)
            raise UsageError(line) if line.startswith("The index ") else _unlistable(place, line) from None


def _unlistable(name: str, reason: str) -> UsageError:
    return UsageError(
        f"The index {name} cannot be listed: {reason.rstrip('.')}. Name a folder, a file, or a function that returns "
        "texts, dicts with `text`, or documents."
    )


async def _pages(call: Any) -> AsyncIterator[Passage]:
    start = 0
    while page := msgspec.convert(await call({"start": start}), list[Passage]):
        for passage in page:
            yield passage
        start += len(page)


def serve_listing(target: Any, settings: Mapping[str, Any]) -> Served:
    """The passages that are at a location, page by page, for `user_code.worker`."""
    known: list[tuple[Passage, ...]] = []

    async def call(value: Mapping[str, Any]) -> Any:
        if not known:
            known.append(await _listed(target, settings["place"], settings["timeout"]))
        return msgspec.to_builtins(known[0][value["start"] : value["start"] + _PAGE])

    return Served({}, call, True)


async def _listed(target: Any, name: str, timeout: float) -> tuple[Passage, ...]:
    """The passages of a live object, or of what a function or a class makes."""
    made = target
    try:
        if inspect.isroutine(target) or inspect.isclass(target):
            made = await guarded(lambda: result_of(target, blocks=not inspect.iscoroutinefunction(target)), timeout)
        items = _items(made, _DEEPEST)
        if isinstance(items, Awaitable):
            items = await items
    except SystemFailed as error:
        raise _unlistable(name, str(error)) from None
    except Exception as error:  # an object of a framework may raise anything
        raise _unlistable(name, located(error)) from None
    if items is None:
        kind = "None" if made is None else with_article(type(made).__name__)
        raise _unlistable(name, f"it is {kind}")
    found = passages_of(map(_unwrapped, items))
    if items and not found:
        raise _unlistable(name, f"its items ({type(items[0]).__name__}) have no text")
    return found


def _items(value: Any, deepest: int) -> Any:
    """The passages that a value is or has, as a list, or an awaitable of it; None if it has none that can be listed."""
    if value is None or isinstance(value, str | bytes | int | float) or deepest < 0:
        return None
    if isinstance(value, Mapping):
        return _of_mapping(value, deepest)
    if hasattr(value, "iloc"):  # a table of pandas
        return value.to_dict("records")
    if isinstance(value, Iterable) and not hasattr(value, "model_fields"):  # a model of pydantic yields its fields
        items = list(value)
        if not items or isinstance(items[0], str | Mapping) or passages_of(items[:1]):
            return items
        nested = [_items(item, deepest - 1) for item in items]
        return items if None in nested else [item for part in nested for item in part]
    if callable(filter_documents := getattr(value, "filter_documents", None)):
        return filter_documents()
    for name in _INNER:
        inner = getattr(value, name, None)
        if not inspect.isroutine(inner) and (found := _items(inner, deepest - 1)) is not None:
            return found
    get = getattr(value, "get", None)
    return _items(get(), deepest - 1) if callable(get) and not _needed(get) else None


def _needed(function: Any) -> bool:
    """True for a function that cannot be called without arguments."""
    parameters = inspect.signature(function).parameters.values()
    return any(one.default is one.empty and one.kind not in (2, 4) for one in parameters)


def _of_mapping(value: Mapping[Any, Any], deepest: int) -> Any:
    """The passages of columns (`ids`, `documents`, `metadatas`), of id → passage, or under one of its names."""
    texts = value.get("documents", value.get("texts"))
    if isinstance(texts, list) and isinstance(ids := value.get("ids"), list) and len(ids) == len(texts):
        rows = zip(ids, texts, value.get("metadatas") or [None] * len(ids), strict=True)
        return [{"id": key, "text": text, "metadata": metadata or {}} for key, text, metadata in rows]
    lists = [item for item in value.values() if isinstance(item, list | tuple)]
    if len(lists) == 1:
        return _items(lists[0], deepest - 1)
    named = [_named(key, _unwrapped(item)) for key, item in value.items()]
    return named if None not in named else None


def _named(key: Any, item: Any) -> Passage | None:
    """An entry of id → passage; None if it is none."""
    passage = next(iter(passages_of([item])), None)
    if passage is None:
        return None
    return replace(passage, id=str(key)) if passage.id.startswith("text-") else passage
