"""The tables of `cues.txt`: cues for what a question asks for, and patterns of sentences that answer it."""

import re
from functools import lru_cache

from ragstone.text.patterns import pattern_lines

# (pattern of the question, pattern of its answer)
Look = tuple[re.Pattern[str], re.Pattern[str]]


def _lines(section: str) -> tuple[str, ...]:
    return pattern_lines("ragstone.systems", "cues.txt")[section]


@lru_cache(maxsize=32)
def cue(section: str) -> re.Pattern[str]:
    """A pattern that matches any line of this section."""
    return re.compile("|".join(_lines(section)))


@lru_cache(maxsize=4)
def looks(language: str, kind: str) -> tuple[Look, ...]:
    """The pairs of a language for "number" or "name", in order."""
    pairs = (line.split(" => ") for line in _lines(f"{language}.{kind}"))
    return tuple((re.compile(question), re.compile(answer)) for question, answer in pairs)


@lru_cache(maxsize=1)
def stop_words() -> frozenset[str]:
    """English words without topical content."""
    return frozenset(" ".join(_lines("en.stop")).split())
