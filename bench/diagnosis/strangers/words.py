"""Words of a text, as the search of these applications counts them."""

from __future__ import annotations

import re

_WORDS = """
a an the of to in on at is are was were be by for from with and or which what who how does do did under its it each
every any has have had must up as that this not no than them they their there new many ask please look chapter after
before least most into beyond will can may
"""
_STOP = frozenset(_WORDS.split())
_TOKEN = re.compile(r"[a-z0-9][a-z0-9-]*|[\u4e00-\u9fff]+")
_STOP_ZH = frozenset("的了在是于须为每多少什么哪从最到和以及".strip())


def _stem(word: str) -> str:
    if re.search(r"\d", word):
        return word
    for suffix in ("ing", "ed", "es", "s"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word.removesuffix(suffix)
            break
    return word.removesuffix("e")


def words(text: str) -> list[str]:
    """Stemmed English words without stop words, and pairs of Chinese characters."""
    found: list[str] = []
    for token in _TOKEN.findall(text.lower()):
        if "\u4e00" <= token[0] <= "\u9fff":
            pairs = [token[at : at + 2] for at in range(max(1, len(token) - 1))]
            found += [pair for pair in pairs if not (len(pair) == 2 and all(sign in _STOP_ZH for sign in pair))]
        elif token not in _STOP:
            found.append(_stem(token))
            found += [part for part in token.split("-") if "-" in token and part]
    return found
