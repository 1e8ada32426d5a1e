"""Pools and first retrievers for the tests of what stands behind one."""

from collections.abc import Sequence

import msgspec

from ragstone.types import Passage

__all__ = ["Fixed", "pool_of"]


def pool_of(*texts: str) -> list[Passage]:
    """Passages p1, p2… with these texts."""
    return [Passage(f"p{number}", text) for number, text in enumerate(texts, start=1)]


class Fixed:
    """A first retriever that finds the pool in its order, whatever is asked; scores fall from 9 by 1. `asked` holds the
    queries and k of each call."""

    facts = {"index_bytes": 7}  # noqa: RUF012

    def __init__(self, pool: Sequence[Passage], name: str = "fixed") -> None:
        self.id, self._pool = name, pool
        self.asked: list[tuple[tuple[str, ...], int]] = []

    async def retrieve(self, queries: Sequence[str], /, *, k: int) -> list[list[Passage]]:
        self.asked.append((tuple(queries), k))
        best = [msgspec.structs.replace(passage, score=9.0 - at) for at, passage in enumerate(self._pool[:k])]
        return [list(best) for _ in queries]
