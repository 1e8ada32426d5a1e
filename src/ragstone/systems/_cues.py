"""The tables of `cues.txt`: what a question asks for, by its words, and how a sentence that answers it looks."""

import re
from functools import lru_cache

from ragstone.text.patterns import pattern_lines

__all__ = ["Look", "cue", "looks", "stop_words"]

# (what the question says, what its answer looks like)
Look = tuple[re.Pattern[str], re.Pattern[str]]


def _lines(section: str) -> tuple[str, ...]:
    return pattern_lines("ragstone.systems", "cues.txt")[section]


@lru_cache(maxsize=32)
def cue(section: str) -> re.Pattern[str]:
    """Any line of this section, compiled."""
    return re.compile("|".join(_lines(section)))


@lru_cache(maxsize=4)
def looks(language: str, kind: str) -> tuple[Look, ...]:
    """The pairs of "number" or "name" of a language, in order."""
    pairs = (line.split(" => ") for line in _lines(f"{language}.{kind}"))
    return tuple((re.compile(question), re.compile(answer)) for question, answer in pairs)


@lru_cache(maxsize=1)
def stop_words() -> frozenset[str]:
    """English words that say nothing of a topic."""
    return frozenset(" ".join(_lines("en.stop")).split())
