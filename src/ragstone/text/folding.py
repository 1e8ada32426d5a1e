"""Normalizes text (width, case, accents, traditional characters, numerals) and maps positions back to the original."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragstone.text.characters import fold_table
from ragstone.text.numerals import rewrites


@dataclass(frozen=True, eq=False)
class Folded:
    """A folded text. `offsets[i]`: start, in the original, of the unit that `text[i]` comes from. The last of the
    len(text) + 1 offsets is the length of the original. Offsets never decrease."""

    text: str
    offsets: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The (start, end) in the original that text[start:end] comes from, in whole units. Requires start < end."""
        offsets = self.offsets
        last = offsets[end - 1]
        while end < len(offsets) - 1 and offsets[end] == last:
            end += 1
        return offsets[start], offsets[end]


# A comma of full width between digits of half width is no thousands sign: 根据文档1，226人 is not about 1,226 people.
_COMMA = re.compile(r"(?<=[0-9])，(?=[0-9])")
# Passages recur with every question about them. Texts longer than this are not cached.
_LONGEST_CACHED = 20_000


def fold_characters(text: str) -> Folded:
    """Folds character by character: full width to half width, upper case to lower, é to e, traditional to simplified,
    one form for all quotes, dashes and blanks. Removes invisible characters."""
    return _characters(text) if len(text) <= _LONGEST_CACHED else _characters.__wrapped__(text)


def fold(text: str, language: str = "") -> Folded:
    """Folds characters (`fold_characters`), then numerals: 十二人 and 12 人, 1.2亿 and 120,000,000 become the same.

    `language` "en" leaves Chinese numerals unchanged, "zh" English number words; "" converts both.
    """
    return _numerals(text, language) if len(text) <= _LONGEST_CACHED else _numerals.__wrapped__(text, language)


def letters_of(text: str) -> str:
    """The letters and digits of the folded text, by which texts are the same whatever their spaces and punctuation."""
    return "".join(filter(str.isalnum, fold_characters(text).text))


@lru_cache(maxsize=512)
def _characters(text: str) -> Folded:
    table = fold_table()
    if "，" in text:
        text = _COMMA.sub("；", text)
    folded = text.translate(table)
    if not table.odd or table.odd.isdisjoint(text):
        return Folded(folded, range(len(text) + 1))
    offsets = array("q")
    for position, char in enumerate(text):
        width = 1 if char not in table.odd else len(table[ord(char)])
        if width == 1:
            offsets.append(position)
        elif width:
            offsets.extend([position] * width)
    offsets.append(len(text))
    return Folded(folded, offsets)


@lru_cache(maxsize=512)
def _numerals(text: str, language: str) -> Folded:
    plain = fold_characters(text)
    pieces: list[str] = []
    offsets: array[int] = array("q")
    done = 0
    for start, end, numeral in rewrites(plain.text, chinese=language != "en", english=language != "zh"):
        pieces += (plain.text[done:start], numeral)
        offsets.extend(plain.offsets[done:start])
        offsets.extend([plain.offsets[start]] * len(numeral))
        done = end
    if not done:
        return plain
    pieces.append(plain.text[done:])
    offsets.extend(plain.offsets[done:])
    return Folded("".join(pieces), offsets)
