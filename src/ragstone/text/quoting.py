"""Where a text holds a quotation from it, however the one who quotes writes quotes, blanks and capitals."""

import re

from ragstone.text.characters import HAN
from ragstone.text.folding import Folded, fold_characters

__all__ = ["find_quote"]

_LEFT_OUT = re.compile(r"\s*(?:…+|⋯+|\.{3,}|\[…\]|\[\.{3}\])\s*")
_LETTER = re.compile(rf"[^\W_{HAN}]")


def find_quote(quote: str, text: str) -> tuple[int, int] | None:
    """(start, end) of the first place in `text` that `quote` is taken from; None where it is from elsewhere.

    Width, case, accents, punctuation, blanks, traditional and simplified characters do not matter; the words and
    their order do. Dots in the middle stand for what is left out: the parts have to follow each other, and the place
    reaches from the first to the last. A quote without a letter or a digit is found nowhere.
    """
    exact = quote.strip()
    if exact and any(map(str.isalnum, exact)) and (at := _whole(exact, text)) >= 0:
        return at, at + len(exact)
    parts = [bare for part in _LEFT_OUT.split(quote) if (bare := _bare(fold_characters(part))[0])]
    if not parts:
        return None
    folded = fold_characters(text)
    held, places = _bare(folded)
    first = last = -1
    after = 0
    for part in parts:
        at = held.find(part, after)
        while at >= 0 and _inside_word(folded.text, places[at], places[at + len(part) - 1] + 1):
            at = held.find(part, at + 1)
        if at < 0:
            return None
        first = at if first < 0 else first
        after = at + len(part)
        last = after - 1
    return folded.span(places[first], places[last] + 1)


def _whole(exact: str, text: str) -> int:
    """Where the text has these very characters, not within longer words; -1 for nowhere."""
    at = text.find(exact)
    while at >= 0 and _inside_word(text, at, at + len(exact)):
        at = text.find(exact, at + 1)
    return at


def _bare(folded: Folded) -> tuple[str, list[int]]:
    """The letters and digits of a folded text, and where each stands in it."""
    places = [at for at, character in enumerate(folded.text) if character.isalnum()]
    return "".join(folded.text[at] for at in places), places


def _inside_word(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] begins or ends within a word of a script that separates its words."""
    return any(0 < at < len(text) and _LETTER.match(text, at - 1) and _LETTER.match(text, at) for at in (start, end))
