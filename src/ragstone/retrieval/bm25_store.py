"""What BM25 keeps between runs: the words of each text, and the index of each pool, which is mapped into memory.

An index of bm25s cannot grow. Its scores are computed when it is built, from the frequencies of words in all passages
and their mean length, so one more passage changes every score. What takes long is to find the words: of 5,000 passages
0.9 s in English and 4.4 s in Chinese, and 0.5 s to build the index from them. So the words are kept by the text, a pool
that has grown costs the words of what is new, and the index is built again (`docs/decisions/0019-bm25.md`).
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
from ragstone.storage import Layout, connect

__all__ = ["kept_words", "load_index", "save_index"]

log = logging.getLogger(__name__)

_VERSION = 1  # to be raised when what is stored changes its meaning
_AT_ONCE = 500  # keys in one statement
_SELECT = "SELECT key, words FROM words WHERE key IN ({})"
_KEPT = 8  # indexes; the oldest are deleted
_LAYOUT = Layout(
    what="BM25 word cache",
    application_id=0x52474257,  # "RGBW"
    version=1,
    # The words of a text as compressed JSON.
    tables=("CREATE TABLE words (key BLOB PRIMARY KEY, words BLOB NOT NULL) WITHOUT ROWID",),
    durable=False,
)


def kept_words(folder: Path, kind: str, texts: Sequence[str], find: Callable[[str], list[str]]) -> list[list[str]]:
    """The words of each text. Those that are not stored for `kind`, how words are found, are found and stored."""
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
    """The stored words; None where they are damaged."""
    with contextlib.suppress(zlib.error, ValueError, TypeError):
        words = json.loads(zlib.decompress(blob))
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return words
    log.warning("The words of a passage in the cache are damaged; they are found again.")
    return None


def load_index(folder: Path, key: str) -> tuple[Any, list[int]] | None:
    """A stored index, mapped into memory, and the place in the pool of each of its rows; None where there is none."""
    import bm25s  # noqa: PLC0415  (brings numpy)

    stored = folder / "bm25" / key
    if not stored.is_dir():
        return None
    try:
        index = bm25s.BM25.load(stored, mmap=True, show_progress=False)
        places = json.loads((stored / "places.json").read_text(encoding="utf-8"))
        stored.touch()
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        log.warning("A BM25 index in the cache cannot be read (%s); it is built again.", error)
        shutil.rmtree(stored, ignore_errors=True)
        return None
    return index, places


def save_index(folder: Path, key: str, index: Any, places: Sequence[int]) -> None:
    """Stores an index whole or not at all, and deletes the oldest of more than `_KEPT`."""
    parent = folder / "bm25"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=parent))
        try:
            index.save(made, show_progress=False)
            (made / "places.json").write_text(json.dumps(list(places)), encoding="utf-8")
            made.rename(parent / key)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        indexes = sorted((one for one in parent.iterdir() if one.name[0] != "."), key=lambda one: -one.stat().st_mtime)
        for old in indexes[_KEPT:]:
            shutil.rmtree(old, ignore_errors=True)
    except (OSError, ValueError) as error:  # another process was first, the folder cannot be written, half a character
        log.info("The BM25 index is not kept: %s", error)
