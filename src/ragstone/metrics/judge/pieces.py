"""Texts of any length as parts that fit into a request: groups of sentences or passages. Nothing is left out."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ragstone.text import estimate_tokens, sentences

__all__ = ["groups", "pieces", "split_sentences"]

T = TypeVar("T")


def split_sentences(text: str, language: str) -> list[str]:
    """The sentences of a text without the blanks around them; blank ones are left out."""
    return [part.strip() for part in sentences(text, language) if part.strip()]


def groups(items: Sequence[T], budget: int, tokens: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in order, in groups of at most `budget` tokens; an item beyond it makes a group of its own."""
    group: list[T] = []
    held = 0
    for item in items:
        size = tokens(item)
        if group and held + size > budget:
            yield group
            group, held = [], 0
        group.append(item)
        held += size
    if group:
        yield group


def pieces(text: str, budget: int, language: str) -> list[str]:
    """A passage in pieces of at most about `budget` tokens, cut between sentences; a sentence beyond it is cut within.
    One that fits is one piece, as it is."""
    if estimate_tokens(text) <= budget:
        return [text]
    parts: list[str] = []
    for part in sentences(text, language):
        parts.extend(_cut(part, budget) if estimate_tokens(part) > budget else [part])
    return ["".join(group) for group in groups(parts, budget, estimate_tokens)]


def _cut(text: str, budget: int) -> list[str]:
    """A text without ends of sentences, in equal stretches that fit."""
    count = -(-estimate_tokens(text) // budget)
    size = -(-len(text) // count)
    return [text[start : start + size] for start in range(0, len(text), size)]
