"""Free text in a case index: SQLite's full-text search finds the records in which a word can occur, their texts decide.

A word matches anywhere, also inside another, in any language. Words of three and more characters are found by their
trigrams. Of Chinese, whose words are often shorter, single characters and pairs are indexed, too; other words of one or
two characters are looked up as the beginning of a trigram, for which each text ends with two more characters.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ragstone.analysis.case_index_store import Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 20_000
"""Records whose texts are compared for one search. Of more, those that are shown are compared, and the count is of
those that have the parts of the words."""
_GRAM = 3  # characters
_END = "\n\n"
_LAST = "\U0010ffff"
_FIRST_WIDE = "\u2e80"  # from here on: Chinese, Japanese and Korean characters
_TABLES = ("grams", "pairs")


@dataclass(frozen=True)
class Found:
    """The result of a search: which records it finds. `exact`: each was compared, or need not be. `compared` is False
    where some only have the parts of the words: compare those that are shown."""

    mask: "NDArray[np.bool_]"
    exact: bool
    compared: bool


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
            for table in _TABLES:
                delete = f"INSERT INTO {table} ({table}, rowid, text) VALUES ('delete', ?, ?)"
                store.many(delete, [(position, _parts(table, before))])
            _add(store, [(position, text)])
    return before


def add_texts(store: Store, most: int) -> bool:
    """Makes the texts of more records searchable, inside a transaction. False if there are none left."""
    start = searchable(store)
    texts = store.all("SELECT n, text FROM texts WHERE n >= ? ORDER BY n LIMIT ?", start, most)
    if texts:
        _add(store, texts)
        store.set_note("searchable", start + len(texts))
    return bool(texts)


def _add(store: Store, texts: Sequence[tuple[int, str]]) -> None:
    for table in _TABLES:
        store.many(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", [(n, _parts(table, text)) for n, text in texts])


def _parts(table: str, text: str) -> str:
    """What a table indexes of a text."""
    return text + _END if table == "grams" else " ".join(_pairs(text))


def _pairs(text: str) -> set[str]:
    """The wide characters of a text, and the pairs of them that stand together."""
    if text.isascii():
        return set()
    wide = [char if char >= _FIRST_WIDE and char.isalnum() else "" for char in text]
    return {*filter(None, wide), *(one + two for one, two in pairwise(wide) if one and two)}


def contain(store: Store, positions: Iterable[int], words: Sequence[str]) -> "NDArray[np.int64]":
    """Which of these records have every word in their texts, in their order."""
    tests = "".join(" AND instr(t.text, ?) > 0" for _ in words)
    query = f"SELECT t.n FROM json_each(?) p CROSS JOIN texts t ON t.n = p.value{tests}"
    return np.array([n for (n,) in store.all(query, json.dumps([*map(int, positions)]), *words)], np.int64)


def having(store: Store, words: Sequence[str], selected: "NDArray[np.bool_]") -> Found:
    """Which of the selected records have every word."""
    candidates, compared = np.flatnonzero(selected), False
    if len(candidates) > MOST:
        possible = np.zeros(len(selected), bool)
        listed, compared = _candidates(store, words)
        possible[listed[listed < len(selected)]] = True
        possible[searchable(store) :] = True  # not searchable yet: to be compared
        compared = compared and searchable(store) >= len(selected)
        candidates = np.flatnonzero(possible & selected)
    mask = np.zeros(len(selected), bool)
    if compared or len(candidates) > MOST:
        mask[candidates] = True
        return Found(mask, compared, compared)
    mask[contain(store, candidates, words)] = True
    return Found(mask, exact=True, compared=True)


def _candidates(store: Store, words: Sequence[str]) -> tuple["NDArray[np.int64]", bool]:
    """The records that may have all these words; and whether they have them for certain."""
    terms = {word: _terms(word) for word in words}
    certain = all(len(found) == 1 for _, found in terms.values())
    found: NDArray[np.int64] | None = None
    for table in _TABLES:
        if quoted := {part for name, parts in terms.values() if name == table for part in parts}:
            match = " AND ".join('"' + part.replace('"', '""') + '"' for part in sorted(quoted))
            places = store.integers(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", match)
            found = places if found is None else np.intersect1d(found, places, assume_unique=True)
    if found is not None:
        return found, certain
    listed = [_beginning(store, word) for word in words]
    best = min(listed, key=len)
    return (best, False) if len(best) <= MOST else (np.arange(store.size), False)


def _terms(word: str) -> tuple[str, list[str]]:
    """The table in which a word is looked up, and its parts there; no parts if it is too short."""
    if len(word) >= _GRAM:
        return "grams", sorted({word[start : start + _GRAM] for start in range(len(word) - _GRAM + 1)})
    return "pairs", [word] if all(char >= _FIRST_WIDE and char.isalnum() for char in word) else []


def _beginning(store: Store, word: str) -> "NDArray[np.int64]":
    """At most `MOST` + 1 records with a trigram that begins with this word."""
    query = "SELECT DISTINCT doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?"
    return store.integers(query, word, word + _LAST, MOST + 1)
