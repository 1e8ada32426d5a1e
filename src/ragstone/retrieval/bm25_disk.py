"""BM25 from an index on disk (tantivy), for pools whose index does not fit into memory: the same passages, scores and
order as the index in memory.

tantivy ranks by Lucene's BM25 with k1 = 1.2 and b = 0.75, which it fixes, but keeps the length of a passage in one
byte: rounded down, so its score is never below the formula's. It therefore only selects candidates. Their scores are
computed from their words and exact lengths; candidates are added until the k-th score is above tantivy's score for all
others.
The words are those of `bm25.terms_of`, written with spaces between them and split at spaces.
"""

import asyncio
import contextlib
import heapq
import importlib.metadata
import importlib.util
import json
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragstone.errors import StorageError
from ragstone.optional import load
from ragstone.retrieval.index_folder import bytes_of, discard, kept_index
from ragstone.types import Passage

log = logging.getLogger(__name__)

K1, B = 1.2, 0.75
"""Lucene's parameters, which tantivy has as constants."""
_VERSION = 1  # part of every key: raise it when the meaning of the stored data changes
_HEAP = 128_000_000  # bytes of postings in memory before they are written
_AT_ONCE = 1_000  # passages between two chances to be cancelled
_SPARE = 16  # candidates beyond twice k
_MOST = 10_000  # candidates at which equal scores end the search
_ROUNDING = 1e-5  # relative error of a sum of single-precision numbers
_LONGEST = 1_000  # characters of a term; longer ones are cut, because tantivy drops terms above 65,530 bytes
_LOG_EVERY = 10.0  # seconds


@dataclass(frozen=True)
class Source:
    """The source of an index. `passages` are read once, one at a time. `pool`: the same passages, if they are in
    memory; else they are kept in the index, and `placed` gives what is returned for one that was found. `key`
    identifies the passages, "" if nothing is cached."""

    passages: Iterable[Passage]
    key: str
    pool: Sequence[Passage] | None = None
    placed: Callable[[Passage], Passage] = lambda passage: passage


class DiskBm25:
    """Searches the index in `folder` of a source. `terms` splits a query into index terms. `facts` go into reports."""

    def __init__(
        self, name: str, folder: Path, source: Source, terms: Callable[[str], list[str]], facts: Mapping[str, Any]
    ) -> None:
        self.id, self._source, self._terms, self._folder = name, source, terms, folder
        tantivy = _library()
        index = tantivy.Index.open(str(folder))
        self._schema, self._searcher, self._query, self._occur = (
            index.schema, index.searcher(), tantivy.Query, tantivy.Occur,
        )  # fmt: skip
        made = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        self._documents, self._mean = made["documents"], made["terms"] / max(1, made["documents"])
        self.facts: Mapping[str, Any] = {
            "library": _version(), "k1": K1, "b": B, "passages": made["passages"], "index_bytes": bytes_of(folder),
            **facts,
        }  # fmt: skip

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query that share a word with it, best first; ties keep the pool's order. Raises
        StorageError for an index that is damaged; it is built again the next time."""
        try:
            return await asyncio.to_thread(lambda: [self._search(query, k) for query in queries])
        except BaseException as error:  # tantivy ends in a panic where it finds no error of its own
            if not isinstance(error, ValueError) and type(error).__name__ != "PanicException":
                raise
            discard(self._folder)
            reason = " ".join(str(error).split())[:200]
            raise StorageError(
                f"{self._folder}: the index is damaged ({reason}). Run the same command again: it is built anew."
            ) from error

    def _search(self, query: str, k: int) -> list[Passage]:
        weights = self._weights(Counter(map(_storable, self._terms(query))))
        if not weights or k < 1:
            return []
        # A term that the question repeats counts as often.
        parsed = self._query.boolean_query([
            (self._occur.Should, self._query.boost_query(self._term(term), float(count)))
            for term, (count, _) in weights.items()
        ])  # fmt: skip
        scored: list[tuple[float, int, Any]] = []
        size = 2 * k + _SPARE
        while True:
            hits = self._searcher.search(parsed, size, count=False).hits
            scored += self._exact([address for _, address in hits[len(scored) :]], weights)
            best = heapq.nsmallest(k, scored)
            if len(hits) < size or size > k + _MOST:
                break
            # No other passage can score more. tantivy leaves the constant factor k1 + 1 in its scores.
            if len(best) == k and -best[-1][0] > hits[-1][0] / (K1 + 1) * (1 + _ROUNDING):
                break
            size *= 2
        return [replace(self._passage(place, address), score=-negative) for negative, place, address in best]

    def _passage(self, place: int, address: Any) -> Passage:
        if self._source.pool is not None:
            return self._source.pool[place]
        return self._source.placed(unpacked(self._searcher.doc(address).get_first("passage")))

    def _weights(self, counts: Mapping[str, int]) -> dict[str, tuple[int, float]]:
        """The counts of known terms in the question, and each times the term's idf."""
        weights = {}
        for term, count in counts.items():
            if among := self._searcher.doc_freq("terms", term):
                idf = math.log1p((self._documents - among + 0.5) / (among + 0.5))
                weights[term] = (count, count * idf)
        return weights

    def _term(self, term: str) -> Any:
        return self._query.term_query(self._schema, "terms", term, "freq")

    def _exact(
        self, addresses: Sequence[Any], weights: Mapping[str, tuple[int, float]]
    ) -> Iterator[tuple[float, int, Any]]:
        """The negative score of each passage by the formula, its place in the source, and its address."""
        places = self._searcher.fast_field_values("place", list(addresses)) if addresses else ()
        for address, place in zip(addresses, places, strict=True):
            words = self._searcher.doc(address).get_first("terms").split(" ")
            norm = K1 * (1 - B + B * len(words) / self._mean)
            found = Counter(word for word in words if word in weights)
            score = math.fsum(weights[term][1] * count / (count + norm) for term, count in found.items())
            yield -score, int(place), address


def packed(passage: Passage) -> bytes:
    """A passage without its score and label, for an index."""
    parts = [passage.id, passage.text, passage.title, passage.meta]
    return json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")


def unpacked(stored: bytes) -> Passage:
    """The passage of `packed`."""
    key, text, title, meta = json.loads(stored.decode("utf-8", "surrogatepass"))
    return Passage(key, text, title=title, meta=meta)


@contextlib.asynccontextmanager
async def open_disk_index(
    name: str, source: Source, terms: Callable[[str], list[str]], *, text: Callable[[Passage], str], cache: Path | None
) -> AsyncIterator[DiskBm25]:
    """The index of the `text` of each passage: the one in `cache`, or a new one. Raises MissingExtra without tantivy,
    StorageError if it cannot be written."""
    _library()
    started = time.perf_counter()

    async def build(folder: Path) -> None:
        await _build(name, folder, source, lambda passage: terms(text(passage)))

    parent = cache / "bm25-disk" if cache is not None else None
    async with kept_index(parent, f"{_VERSION}-{source.key}", build, _opens) as folder:
        yield DiskBm25(name, folder, source, terms, {"build_seconds": time.perf_counter() - started})


async def _build(name: str, folder: Path, source: Source, terms: Callable[[Passage], list[str]]) -> None:
    """Writes the index into an empty folder, some passages at a time."""
    tantivy = _library()
    fields = tantivy.SchemaBuilder()
    fields.add_text_field("terms", stored=True, tokenizer_name="whitespace", index_option="freq")
    fields.add_integer_field("place", fast=True)
    fields.add_bytes_field("passage", stored=True)
    index = tantivy.Index(fields.build(), str(folder))
    # One thread: what is indexed does not depend on which thread took which passages.
    writer = index.writer(_HEAP, 1)
    counted, remaining, last = Counter[str](), enumerate(source.passages), time.monotonic()

    def add() -> bool:
        some = list(islice(remaining, _AT_ONCE))
        for place, passage in some:
            if words := terms(passage):
                document = tantivy.Document(terms=_joined(words), place=place)
                if source.pool is None:
                    document.add_bytes("passage", packed(passage))
                writer.add_document(document)
                counted.update(documents=1, terms=len(words))
        counted["passages"] += len(some)
        return bool(some)

    def finish() -> None:
        writer.commit()
        writer.wait_merging_threads()
        known = {key: counted[key] for key in ("documents", "terms", "passages")}
        (folder / "facts.json").write_text(json.dumps(known), encoding="utf-8")

    try:
        while await asyncio.to_thread(add):
            if time.monotonic() - last >= _LOG_EVERY:
                last = time.monotonic()
                log.info("%s: %s passages indexed", name, f"{counted['passages']:,}")
        await asyncio.to_thread(finish)
    except ValueError as error:  # how tantivy reports the disk's errors
        raise StorageError(f"{folder}: the index cannot be written ({error}). Free some space.") from error


def _joined(words: Sequence[str]) -> str:
    """The terms with spaces between them."""
    text = " ".join(words)
    if len(text.split()) == len(words) and max(map(len, words)) <= _LONGEST:
        return text
    return " ".join(map(_storable, words))


def _storable(term: str) -> str:
    """A term of at most `_LONGEST` characters without a space in it."""
    return "_".join(term[:_LONGEST].split()) or "_"


def _opens(folder: Path) -> bool:
    """True for a folder with a complete index."""
    try:
        made = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
        return bool(_library().Index.open(str(folder)).searcher().num_docs == made["documents"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def has_tantivy() -> bool:
    """True if tantivy is installed."""
    return importlib.util.find_spec("tantivy") is not None


def _version() -> str:
    return f"tantivy {importlib.metadata.version('tantivy')}"


def _library() -> Any:
    return load("tantivy", extra="tantivy", purpose="A BM25 index on disk")
