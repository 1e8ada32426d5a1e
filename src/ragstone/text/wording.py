"""Splits a text into folded words, for BM25 and word overlap."""

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from ragstone.text.characters import HAN
from ragstone.text.folding import fold, fold_characters
from ragstone.text.language import detect
from ragstone.text.numerals import BEGINS_NUMERAL, CHINESE_NUMERALS, JOINS_NUMERAL

_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|\d+(?:[.,:]\d+)*%?|[^\W_]+(?:'[^\W_]+)*")
_HAN_RUN = re.compile(rf"[{HAN}]+")


def words(text: str, language: str = "") -> list[str]:
    """The words of `text` in order, folded (`fold`), without punctuation. Chinese is segmented with jieba's dictionary.

    `language` "" is detected. A possessive 's is dropped; a number, with its percent sign, is one word.
    """
    folded = fold(text, language).text
    if not language and not text.isascii():
        language = detect(text)
    if language == "zh" or (not folded.isascii() and _HAN_RUN.search(folded)):
        return [word for word in _segment(folded) if word[0].isalnum() or word[-1].isalnum()]
    return [word.replace(".", "") if word[-1] == "." else word.removesuffix("'s") for word in _WORD.findall(folded)]


class Wording:
    """As `words`, several times faster for many texts: the words of each chunk between spaces are cached. `each` maps
    the words, word by word (to their stems, for example).

    Only numerals depend on neighbouring chunks ("twenty one", "5 per cent", "$ 5m"); such chunks are read together. A
    text with Chinese is not split into chunks."""

    def __init__(self, each: Callable[[list[str]], list[str]] = list) -> None:
        self._each, self._known = each, _Chunks(each)

    def __call__(self, text: str) -> list[str]:
        known, chunks = self._known, text.split(" ")
        if len(known) > _MOST:
            known = self._known = _Chunks(self._each)
        parts = list(map(known.__getitem__, chunks))
        if not known.special.isdisjoint(chunks):
            if not known.whole.isdisjoint(chunks):
                return self._each(words(text))
            parts = self._with_numerals(chunks, parts)
        return list(chain.from_iterable(parts))

    def _with_numerals(self, chunks: Sequence[str], parts: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Reads a numeral whose neighbour may belong to it together with the chunk before and the six after it ("one
        hundred and twenty five per cent"), and with the next such numeral if these overlap."""
        joining = [place for place, chunk in enumerate(chunks) if chunk in self._known.joining]
        places = sorted({
            near
            for place in joining
            for near in (place - 1, place + 1)
            if 0 <= near < len(chunks) and chunks[near] in self._known.numerals
        })  # fmt: skip
        read: list[tuple[str, ...]] = []
        done = number = 0
        while number < len(places):
            start = places[number] - 1
            while number + 1 < len(places) and places[number + 1] <= places[number] + _REACH:
                number += 1
            end = places[number] + _REACH
            read += parts[done : max(done, start)]
            read.append(tuple(self._each(words(" ".join(chunks[max(done, start) : end])))))
            done, number = end, number + 1
        return read + parts[done:]


_REACH = 7
# Maximum number of cached chunks: about 50 MB.
_MOST = 200_000
_CHINESE = re.compile(rf"[{HAN}{CHINESE_NUMERALS}]")


class _Chunks(dict[str, tuple[str, ...]]):
    """A chunk between two spaces → its words. `numerals`: chunks with a numeral; `joining`: chunks that may belong to a
    numeral in a neighbouring chunk; `whole`: chunks (Chinese) whose text must be read as a whole."""

    def __init__(self, each: Callable[[list[str]], list[str]]) -> None:
        super().__init__()
        self._each = each
        self.numerals: set[str] = set()
        self.joining: set[str] = set()
        self.whole: set[str] = set()
        self.special: set[str] = set()
        """`joining` and `whole`."""

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        folded = chunk.lower() if chunk.isascii() else fold_characters(chunk).text
        if not chunk.isascii() and (_CHINESE.search(chunk) or _CHINESE.search(folded)):
            self.whole.add(chunk)
            self.special.add(chunk)
        numeral = BEGINS_NUMERAL.search(folded) is not None
        if numeral:
            self.numerals.add(chunk)
        if JOINS_NUMERAL.search(folded):
            self.joining.add(chunk)
            self.special.add(chunk)
        # One word, of letters or of digits, that folding does not change further.
        simple = chunk.isascii() and (chunk.isdigit() or (chunk.isalpha() and not numeral))
        parts = self[chunk] = tuple(self._each([folded] if simple else words(chunk)))
        return parts


def _segment(text: str) -> list[str]:
    import rjieba  # noqa: PLC0415

    segmenter: Any = rjieba
    # The segmenter rejects lone surrogates.
    return [str(word) for word in segmenter.cut(text.encode("utf-8", "replace").decode("utf-8"))]
