"""Sentence patterns, and pools of them.

A pattern is a sentence with fields and choices: `{冠军}<昨晚|当晚>以{比分}击败{亚军}。` (an empty choice is allowed;
choices do not nest). A *world* is one event as a dict from field to text. Every pattern knows which fields it has,
so a passage that must not give the answer away is written from the same pools without the patterns that have it; a
passage about another year or another category is written from the same pools with another world.
"""

import functools
import itertools
import re
from typing import TypeAlias

World: TypeAlias = dict[str, str]

FIELD = re.compile(r"\{([^{}]+)\}")
CHOICE = re.compile(r"<([^<>]*)>")


class Pattern:
    """A compiled pattern: for each part (most have one) all its spellings, its fields, and whether one of these is
    drawn anew wherever it stands."""

    __slots__ = ("draws", "fields", "length", "order", "parts")

    def __init__(self, pattern: str, order: int = 0) -> None:
        self.order = order  # where it stands in its pool: details are written in the order of their file
        self.fields = frozenset(FIELD.findall(pattern))
        self.draws = any(field[0] == "~" for field in self.fields)
        self.parts = tuple(expand(part) for part in pattern.split("||"))
        self.length = sum(len(spellings[0]) for spellings in self.parts)


def expand(pattern: str) -> tuple[str, ...]:
    """All spellings of a pattern: one for each combination of its choices."""
    pieces = CHOICE.split(pattern)
    options = [piece.split("|") if i % 2 else [piece] for i, piece in enumerate(pieces)]
    return tuple("".join(chosen) for chosen in itertools.product(*options))


class PatternPool:
    """Patterns that serve the same purpose; compiled when first drawn from."""

    def __init__(self, *sources: str) -> None:
        self.sources = sources

    @functools.cached_property
    def patterns(self) -> list[Pattern]:
        """The compiled patterns, in the order of their file."""
        return [Pattern(source, order) for order, source in enumerate(self.sources)]


EMPTY = PatternPool()
