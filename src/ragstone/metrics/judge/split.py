"""Texts of any length as parts that fit into a request: groups of sentences or passages. Nothing is left out."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ragstone.text import estimate_tokens, sentences

T = TypeVar("T")


def sentences_of(text: str, language: str, budget: int) -> list[str]:
    """The sentences of a text, each with the blanks that follow it; one of more than `budget` tokens in stretches."""
    return [part for sentence in sentences(text, language) for part in _cut(sentence, budget)]


def groups(items: Sequence[T], budget: int, size: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in order, in groups of at most `budget` by `size`; an item beyond it makes a group of its own."""
    group: list[T] = []
    group_size = 0
    for item in items:
        more = size(item)
        if group and group_size + more > budget:
            yield group
            group, group_size = [], 0
        group.append(item)
        group_size += more
    if group:
        yield group


def pieces(text: str, budget: int, language: str) -> list[str]:
    """A passage in pieces of at most about `budget` tokens, cut between sentences; a sentence beyond it is cut within.
    One that fits is one piece, as it is."""
    if _fits(text, budget):
        return [text]
    return ["".join(group) for group in groups(sentences_of(text, language, budget), budget, estimate_tokens)]


def _cut(text: str, budget: int) -> list[str]:
    """A sentence as it is where it fits, else in stretches of equal length that do."""
    if _fits(text, budget):
        return [text]
    size = -(-len(text) // -(-estimate_tokens(text) // budget))
    return [text[start : start + size] for start in range(0, len(text), size)]


def _fits(text: str, budget: int) -> bool:
    # No character is estimated at more than two tokens: most texts are too short to be worth the look.
    return 2 * len(text) < budget or estimate_tokens(text) <= budget
