"""BM25's cache between runs: the terms of each text, and the index of each pool (memory-mapped).

A bm25s index cannot grow: its scores depend on the term frequencies and mean length of all passages, so one more
passage changes every score. Splitting texts into terms takes most of the time: 0.9 s for 5,000 English passages, 4.4 s
for 5,000 Chinese ones, against 0.5 s for building the index. Terms are therefore cached per text. When a pool grows,
only its new texts are split, and the index is rebuilt (`docs/decisions/0019-bm25.md`).
"""

import contextlib
import hashlib
import json
import logging
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ragstone.errors import StorageError, UsageError
from ragstone.retrieval.index_folder import MAX_INDEXES, delete_oldest
from ragstone.storage import Layout, connect

log = logging.getLogger(__name__)

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
