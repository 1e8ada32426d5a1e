"""Classes of characters and their folded forms."""

import unicodedata
from functools import lru_cache
from typing import Any

# Han characters for use inside a regular expression's brackets: the unified ideographs with their extensions, the
# compatibility ideographs, and 〇.
HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

# Characters with the same meaning that Unicode's compatibility forms do not unify.
_SAME = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u02b9`\u00b4", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58", "-"),
    **dict.fromkeys("\u2022\u2027\u2219\u22c5\u30fb\u25cf\u0387", "\u00b7"),
    **dict.fromkeys("\u25cb\u25ef\u3007", "\u3007"),  # a circle typed for the numeral 〇
    "\u3001": "\u3001",
    "\u3002": "\u3002",
    "\ufe6a": "%",
}


def vocabulary(words: str) -> frozenset[str]:
    """A set of words, given separated by spaces."""
    return frozenset(words.split())


def is_han(char: str) -> bool:
    """Whether this one character is a Han character."""
    return (
        "\u4e00" <= char <= "\u9fff"
        or char == "\u3007"
        or "\u3400" <= char <= "\u4dbf"
        or "\uf900" <= char <= "\ufaff"
        or "\U00020000" <= char <= "\U0003ffff"
    )


@lru_cache(maxsize=1)
def _converter() -> Any:
    """OpenCC's converter from traditional to simplified characters. Loaded on first use (10 ms)."""
    from opencc import OpenCC  # noqa: PLC0415

    return OpenCC("t2s")


class FoldTable(dict[int, str]):
    """The folded form of each character, filled on demand; for `str.translate`.

    `odd`: the characters so far whose folded form is not exactly one character.
    """

    def __init__(self) -> None:
        super().__init__()
        self.odd: set[str] = set()

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded, before = _fold_character(char), char
        while folded != before:  # parts of a ligature or accented letter may need folding themselves
            folded, before = "".join(map(_fold_character, folded)), folded
        self[code] = folded
        if len(folded) != 1:
            self.odd.add(char)
        return folded


def _fold_character(char: str) -> str:
    if char in _SAME:
        return _SAME[char]
    category = unicodedata.category(char)
    # Soft hyphens, zero-width characters and stray accents are invisible or unintended.
    if category in {"Cf", "Mn"}:
        return ""
    # ① and ² stay: as plain digits they would merge with an adjacent number. ₂ follows letters and is folded.
    if category == "Cs" or (category == "No" and not "\u2080" <= char <= "\u2089"):
        return char
    folded = unicodedata.normalize("NFKC", char)
    if any(is_han(part) for part in folded):
        # Converted one character at a time, so that positions stay the same.
        return str(_converter().convert(folded))
    if category[0] == "Z" or char in "\t\n\r\v\f":
        return " " if folded else ""
    folded = folded.casefold()
    if folded.isascii():
        return folded
    plain = "".join(part for part in unicodedata.normalize("NFKD", folded) if unicodedata.category(part) != "Mn")
    # é becomes e, but Korean syllables and Japanese kana are not split into parts.
    return plain if plain.isascii() or "LATIN" in unicodedata.name(char, "") else folded


@lru_cache(maxsize=1)
def fold_table() -> FoldTable:
    """The table, shared within the process."""
    return FoldTable()
