"""Free text in a case index: SQLite's trigrams find the records in which a word can occur, their texts decide.

A word matches anywhere, also inside another, in any language. One of fewer than three characters, as many Chinese words
have, is looked up as the beginning of a trigram; for that, each text ends with two more characters.
"""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragstone.analysis.case_index_store import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_texts", "contain", "having", "replace_text", "searchable"]

MOST = 20_000
"""Records whose texts are compared for one query; a search with more matches than that is not exact."""
_GRAM = 3  # characters
_END = "\n\n"
_LAST = "\U0010ffff"


def searchable(store: Store) -> int:
    """How many records, from the first on, are found by their texts."""
    return int(store.note("searchable") or 0)


def replace_text(store: Store, position: int, text: str) -> str | None:
    """Writes the text of a record, inside a transaction. Returns the one that it had before."""
    found = store.all("SELECT text FROM texts WHERE n = ?", position)
    before = str(found[0][0]) if found else None
    if before != text:
        store.many("INSERT OR REPLACE INTO texts VALUES (?, ?)", [(position, text)])
        if before is not None and position < searchable(store):
            store.many("INSERT INTO grams (grams, rowid, text) VALUES ('delete', ?, ?)", [(position, before + _END)])
            store.many("INSERT INTO grams (rowid, text) VALUES (?, ?)", [(position, text + _END)])
    return before


def add_texts(store: Store, most: int) -> bool:
    """Makes the texts of more records searchable, inside a transaction. False if there are none left."""
    start, size = searchable(store), store.size
    end = min(size, start + most)
    if start < end:
        query = "INSERT INTO grams (rowid, text) SELECT n, text || ? FROM texts WHERE n >= ? AND n < ? ORDER BY n"
        store.many(query, [(_END, start, end)])
        store.set_note("searchable", end)
    return start < end


def contain(store: Store, positions: Iterable[int], words: Sequence[str]) -> "NDArray[np.int64]":
    """Which of these records have every word in their texts."""
    tests = "".join(" AND instr(t.text, ?) > 0" for _ in words)
    query = f"SELECT t.n FROM json_each(?) p CROSS JOIN texts t ON t.n = p.value{tests}"
    return np.array([n for (n,) in store.all(query, json.dumps([*map(int, positions)]), *words)], np.int64)


def having(store: Store, words: Sequence[str], selected: "NDArray[np.bool_]") -> tuple["NDArray[np.bool_]", bool]:
    """Which of the selected records have every word; and whether these are all."""
    count = int(np.count_nonzero(selected))
    candidates, exact = np.flatnonzero(selected), True
    if count > MOST:
        candidates, exact = _candidates(store, words)
        candidates = candidates[selected[candidates]]
    mask = np.zeros(len(selected), bool)
    mask[contain(store, candidates[:MOST], words)] = True
    return mask, exact and len(candidates) <= MOST


def _candidates(store: Store, words: Sequence[str]) -> tuple["NDArray[np.int64]", bool]:
    """The records that may have the rarest of the words; and whether these are all."""
    listed = [_listed(store, word) for word in words]
    best = min(listed, key=len)
    fresh = np.arange(searchable(store), store.size)  # those that are not searchable yet
    return np.union1d(best, fresh), len(best) <= MOST


def _listed(store: Store, word: str) -> "NDArray[np.int64]":
    """At most `MOST` + 1 records that may have this word."""
    if len(word) < _GRAM:
        query = "SELECT DISTINCT doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?"
        rows = store.all(query, word, word + _LAST, MOST + 1)
    else:
        grams = {word[start : start + _GRAM] for start in range(len(word) - _GRAM + 1)}
        quoted = " AND ".join('"' + gram.replace('"', '""') + '"' for gram in sorted(grams))
        rows = store.all("SELECT rowid FROM grams WHERE grams MATCH ? LIMIT ?", quoted, MOST + 1)
    return np.array([n for (n,) in rows], np.int64)
