"""Locates a quotation in its source text, ignoring punctuation, spacing and case."""

import re

from ragstone.text.characters import HAN
from ragstone.text.folding import Folded, fold_characters

_LEFT_OUT = re.compile(r"\s*(?:…+|⋯+|\.{3,}|\[…\]|\[\.{3}\])\s*")
_LETTER = re.compile(rf"[^\W_{HAN}]")


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """(start, end) of the first occurrence of `quote` in `text`, or None.

    Ignores width, case, accents, punctuation, spaces, and traditional or simplified characters; the words and their
    order must match. An ellipsis in the middle marks an omission: the parts must occur in order, and the result spans
    from the first to the last. A quote without a letter or a digit is never found.
    """
    exact = quote.strip()
    if exact and any(map(str.isalnum, exact)) and (at := _whole(exact, text)) >= 0:
        return at, at + len(exact)
    parts = [bare for part in _LEFT_OUT.split(quote) if (bare := _bare(fold_characters(part))[0])]
    if not parts:
        return None
    folded = fold_characters(text)
    letters, places = _bare(folded)
    first = last = -1
    after = 0
    for part in parts:
        at = letters.find(part, after)
        while at >= 0 and _inside_word(folded.text, places[at], places[at + len(part) - 1] + 1):
            at = letters.find(part, at + 1)
        if at < 0:
            return None
        first = at if first < 0 else first
        after = at + len(part)
        last = after - 1
    return folded.span(places[first], places[last] + 1)


def _whole(exact: str, text: str) -> int:
    """Position of the exact string in the text, not inside a longer word; -1 if absent."""
    at = text.find(exact)
    while at >= 0 and _inside_word(text, at, at + len(exact)):
        at = text.find(exact, at + 1)
    return at


def _bare(folded: Folded) -> tuple[str, list[int]]:
    """The letters and digits of a folded text, and the position of each."""
    places = [at for at, character in enumerate(folded.text) if character.isalnum()]
    return "".join(folded.text[at] for at in places), places


def _inside_word(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] starts or ends inside a word of a script that separates words by spaces."""
    return any(0 < at < len(text) and _LETTER.match(text, at - 1) and _LETTER.match(text, at) for at in (start, end))
