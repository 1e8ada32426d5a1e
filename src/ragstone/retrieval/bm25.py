"""BM25 over the words of passages, for English, Chinese and mixed text.

    bm25
    bm25(k1=0.9,b=0.4)
    bm25(corpus=wiki/,chunk=330)        documents of its own, which are never in memory together (`bm25_corpus`)

Words are folded, Chinese is segmented (`text.words`), and English words are stemmed (Snowball), so "sails" matches
"sailing"; `stem=no` turns stemming off. The title is searched like the text; `title=no` leaves it out. The formula is
Lucene's (Robertson's idf, always positive), with Lucene's defaults k1 = 1.2 and b = 0.75.

The index in memory comes from bm25s (Lù 2024, https://arxiv.org/abs/2407.03618) and scores exactly every passage that
shares a word with the query; `docs/decisions/0019-bm25.md` says why bm25s was chosen. Large pools are indexed on disk
(`bm25_disk`), with the same results; `index=memory` and `index=disk` choose.

Between runs the terms of each text are cached, and the index of each pool (memory-mapped). A bm25s index cannot grow:
its scores depend on the term frequencies and mean length of all passages. Splitting texts into terms takes most of the
time: 0.9 s for 5,000 English passages, 4.4 s for 5,000 Chinese ones, against 0.5 s for building the index. When a pool
grows, only its new texts are split, and the index is rebuilt.
"""

import asyncio
import contextlib
import functools
import hashlib
import importlib.metadata
import json
import logging
import shutil
import sqlite3
import tempfile
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from ragstone.errors import StorageError, UsageError
from ragstone.models.nested_names import Spec
from ragstone.retrieval.bm25_disk import K1, B, Source, has_tantivy, open_disk_index
from ragstone.retrieval.corpus import Documents
from ragstone.retrieval.index_folder import MAX_INDEXES, delete_oldest, key_of
from ragstone.retrieval.open import searched_text
from ragstone.retrieval.registry import Building
from ragstone.storage import Layout, connect
from ragstone.text import Wording
from ragstone.types import Passage, Retriever

log = logging.getLogger(__name__)

INDEXES = ("auto", "memory", "disk")
_MANY = 100_000  # passages from which the index is on disk


class Bm25:
    """A BM25 index of `passages`. `terms` splits a text into index terms; `kind` identifies that function in cache
    keys. `folder` caches terms and index (None: no cache)."""

    def __init__(
        self, name: str, passages: Sequence[Passage], terms: Callable[[str], list[str]], *, k1: float = K1,
        b: float = B, title: bool = True, folder: Path | None = None, kind: str = "",
    ) -> None:  # fmt: skip
        started = time.perf_counter()
        self.id, self._passages, self._terms = name, passages, terms
        texts = [searched_text(passage, title=title) for passage in passages]
        key = key_of(texts, importlib.metadata.version("bm25s"), kind, k1, b, len(texts)) if folder else ""
        stored = load_index(folder, key) if folder else None
        if stored is None:
            split = cached_terms(folder, kind, texts, terms) if folder else map(terms, texts)
            stored = _built(split, k1, b)
            if folder and stored[0] is not None:
                save_index(folder, key, *stored)
        # Index row → position of the passage in the pool; passages without a word have no row.
        self._index, self._places = stored
        self._vocabulary: Mapping[str, int] = {} if self._index is None else self._index.vocab_dict
        self.facts: Mapping[str, Any] = {
            "library": f"bm25s {importlib.metadata.version('bm25s')}", "k1": k1, "b": b, "passages": len(passages),
            "vocabulary": len(self._vocabulary.keys() - {""}), "index_bytes": self._bytes(),
            "build_seconds": time.perf_counter() - started,
        }  # fmt: skip

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        """At most `k` passages per query that share a word with it, best first; ties keep the pool's order."""
        return await asyncio.to_thread(lambda: [self._search(query, k) for query in queries])

    def _search(self, query: str, k: int) -> list[Passage]:
        known = self._vocabulary
        ids = [known[term] for term in self._terms(query) if term in known]
        if not ids or k < 1:
            return []
        scores = self._index.get_scores_from_ids(ids)
        return [
            replace(self._passages[self._places[row]], score=float(scores[row])) for row in _best(scores, k).tolist()
        ]

    def _bytes(self) -> int:
        if self._index is None:
            return 0
        return sum(int(self._index.scores[name].nbytes) for name in ("data", "indices", "indptr"))


def _built(words: Iterable[list[str]], k1: float, b: float) -> tuple[Any, list[int]]:
    """The bm25s index (None if no passage has a word) and the pool position of each of its rows."""
    import bm25s  # noqa: PLC0415  (brings numpy)

    vocabulary: dict[str, int] = {}
    rows, places = list[list[int]](), list[int]()
    for place, terms in enumerate(words):
        if terms:
            rows.append([vocabulary.setdefault(term, len(vocabulary)) for term in terms])
            places.append(place)
    if not rows:
        return None, []
    index = bm25s.BM25(k1=k1, b=b, method="lucene")
    index.index((rows, vocabulary), show_progress=False)
    return index, places


def _best(scores: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, Any]:
    """Rows with the `k` highest scores above 0, highest first; ties in row order."""
    if len(scores) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        rows = np.flatnonzero(scores >= least) if least > 0 else np.flatnonzero(scores)
    else:
        rows = np.flatnonzero(scores)
    order = np.argsort(-scores[rows], kind="stable")[:k]
    return np.asarray(rows[order])


def terms_of(*, stem: bool = True) -> Callable[[str], list[str]]:
    """A function that splits a text into BM25 terms: `text.words`, stemmed if `stem`."""
    if not stem:
        return Wording()
    import Stemmer  # noqa: PLC0415

    stemmer = Stemmer.Stemmer("english")
    stemmed: Callable[[str], str] = functools.lru_cache(maxsize=100_000)(stemmer.stemWord)
    return Wording(lambda words: [stemmed(word) if word.isascii() else word for word in words])


@contextlib.asynccontextmanager
async def open_bm25(spec: Spec, building: Building) -> AsyncIterator[Retriever]:
    """Opens the retriever with its index built. Raises UsageError for invalid options, MissingExtra if `index=disk`
    lacks tantivy, StorageError if an index on disk cannot be written."""
    k1, b, index = _checked(spec)
    stem, title = spec.options.get("stem") != "no", spec.options.get("title") != "no"
    terms, text, kind = terms_of(stem=stem), functools.partial(searched_text, title=title), f"stem={stem}"
    if path := spec.options.get("corpus"):
        from ragstone.retrieval.bm25_corpus import open_corpus  # noqa: PLC0415  (it loads the readers of documents)

        documents, chunk = Documents(path), spec.count("chunk", 330, least=0)
        async with open_corpus(
            spec.name, documents, building, terms, text=text, kind=f"{kind},title={title}", chunk=chunk
        ) as opened:
            yield opened
        return
    pool, folder = building.pool, building.options.cache
    if index == "disk" or (index == "auto" and _is_large(spec.name, pool)):
        key = await asyncio.to_thread(lambda: key_of(map(text, pool), kind)) if folder else ""
        source = Source(pool, key, pool)
        async with open_disk_index(spec.name, source, terms, text=text, cache=folder) as on_disk:
            yield on_disk
        return
    yield await asyncio.to_thread(Bm25, spec.name, pool, terms, k1=k1, b=b, title=title, folder=folder, kind=kind)


def _checked(spec: Spec) -> tuple[float, float, str]:
    """k1, b and the kind of index. Raises UsageError for invalid options."""
    spec.only("k1", "b", "stem", "title", "index", "corpus", "chunk")
    if spec.arguments:
        raise UsageError(f"{spec.name}: bm25 takes only options, for example bm25(k1=0.9,b=0.4).")
    for name in ("stem", "title"):
        spec.flag(name)
    k1, b = spec.number("k1", K1, least=0), spec.number("b", B, least=0, most=1)
    index, own = spec.one_of("index", INDEXES), "corpus" in spec.options
    if own and not spec.options["corpus"]:
        raise UsageError(f"{spec.name}: name a file or folder, for example bm25(corpus=docs/).")
    if own and index == "memory":
        raise UsageError(f"{spec.name}: corpus=PATH is indexed on disk. Leave out index=memory, or use --corpus PATH.")
    if "chunk" in spec.options and not own:
        raise UsageError(f"{spec.name}: chunk is an option of corpus=PATH.")
    if (k1, b) != (K1, B):
        if index == "disk" or own:
            raise UsageError(
                f"{spec.name}: the index on disk has k1={K1} and b={B}. Leave them out, or use index=memory."
            )
        index = "memory"
    return k1, b, index


def _is_large(name: str, pool: Sequence[Passage]) -> bool:
    """True for a pool that is better indexed on disk; says so."""
    if len(pool) < _MANY:
        return False
    if has_tantivy():
        log.info("%s: %s passages are indexed on disk (tantivy), with the same results", name, f"{len(pool):,}")
        return True
    log.warning(
        "%s: %s passages are indexed in memory; with pip install 'ragstone[tantivy]' the index is on disk",
        name, f"{len(pool):,}",
    )  # fmt: skip
    return False


PLUGINS = {"bm25": open_bm25}


_VERSION = 1  # raise it when the meaning of the stored data changes
_AT_ONCE = 500  # keys per SQL statement
_SELECT = "SELECT key, words FROM words WHERE key IN ({})"
_LAYOUT = Layout(
    what="BM25 word cache",
    application_id=0x52474257,  # "RGBW"
    version=1,
    # One row per text: its terms as compressed JSON.
    tables=("CREATE TABLE words (key BLOB PRIMARY KEY, words BLOB NOT NULL) WITHOUT ROWID",),
    durable=False,
)


def cached_terms(folder: Path, kind: str, texts: Sequence[str], find: Callable[[str], list[str]]) -> list[list[str]]:
    """The terms of each text: from the cache, or from `find` and then cached. `kind` identifies `find` in the keys."""
    start = hashlib.sha256(json.dumps([_VERSION, kind]).encode())
    keys = []
    for text in texts:
        digest = start.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        keys.append(digest.digest())
    try:
        with contextlib.closing(connect(folder / "bm25-words.sqlite", _LAYOUT)) as file:
            stored: dict[bytes, bytes] = {}
            for begin in range(0, len(keys), _AT_ONCE):
                some = keys[begin : begin + _AT_ONCE]
                stored.update(file.execute(_SELECT.format(",".join("?" * len(some))), some))
            known = {key: words for key, blob in stored.items() if (words := _read(blob)) is not None}
            new = {key: find(text) for key, text in zip(keys, texts, strict=True) if key not in known}
            file.execute("BEGIN")
            rows = [(key, zlib.compress(json.dumps(words).encode(), 1)) for key, words in new.items()]
            file.executemany("INSERT OR REPLACE INTO words VALUES (?, ?)", rows)
            file.execute("COMMIT")
    except (StorageError, UsageError, sqlite3.Error, OSError) as error:
        log.warning("The BM25 word cache is not used: %s", error)
        return [find(text) for text in texts]
    return [known[key] if key in known else new[key] for key in keys]


def _read(blob: Any) -> list[str] | None:
    """The stored terms, or None if they are damaged."""
    with contextlib.suppress(zlib.error, ValueError, TypeError):
        words = json.loads(zlib.decompress(blob))
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return words
    log.warning("The cached words of a passage are damaged; the passage is split again.")
    return None


def load_index(folder: Path, key: str) -> tuple[Any, list[int]] | None:
    """A cached index (memory-mapped) and the pool position of each of its rows, or None if it is not cached."""
    import bm25s  # noqa: PLC0415  (brings numpy)

    stored = folder / "bm25" / key
    if not stored.is_dir():
        return None
    try:
        index = bm25s.BM25.load(stored, mmap=True, show_progress=False)
        places = json.loads((stored / "places.json").read_text(encoding="utf-8"))
        stored.touch()
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        log.warning("A cached BM25 index cannot be read (%s); it is rebuilt.", error)
        shutil.rmtree(stored, ignore_errors=True)
        return None
    return index, places


def save_index(folder: Path, key: str, index: Any, places: Sequence[int]) -> None:
    """Stores an index atomically; if there are more than `MAX_INDEXES`, deletes the oldest."""
    parent = folder / "bm25"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".new-", dir=parent))
        try:
            index.save(partial, show_progress=False)
            (partial / "places.json").write_text(json.dumps(list(places)), encoding="utf-8")
            partial.rename(parent / key)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        delete_oldest(parent, keep=MAX_INDEXES)
    # Another process stored it first, the folder is read-only, or a text has a lone surrogate.
    except (OSError, ValueError) as error:
        log.info("The BM25 index is not cached: %s", error)
