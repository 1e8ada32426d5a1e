"""Choices that depend on names only, so that a question meets the same fault in every process and every order."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["drawn", "happens", "number_of"]

T = TypeVar("T")


def number_of(*key: str | int) -> int:
    """A large number for this key."""
    return int.from_bytes(hashlib.blake2b("\0".join(map(str, key)).encode(), digest_size=8).digest(), "big")


def happens(share: float, *key: str | int) -> bool:
    """Whether an event of this probability happens for this key."""
    return number_of(*key) < share * 2**64


def drawn(items: Sequence[T], *key: str | int) -> T:
    """One of the items. Raises IndexError if there is none."""
    return items[number_of(*key) % len(items)] if items else items[0]
