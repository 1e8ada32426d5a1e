"""Counts the parts of a text that contexts are cut from."""

from collections.abc import Sequence
from itertools import pairwise

from ragstone.models.tokenizers import TokenCounter


async def count_parts(
    counter: TokenCounter, parts: Sequence[str], others: Sequence[str]
) -> tuple[list[int], list[int]]:
    """The tokens that each part adds to the one before it, and the tokens of other texts."""
    joined = [before + after for before, after in pairwise(parts)]
    counts = await counter.count([*parts, *joined, *others])
    alone, together = counts[: len(parts)], counts[len(parts) : len(parts) + len(joined)]
    added = [max(0, both - before) for both, before in zip(together, alone, strict=False)]
    return [alone[0], *added], counts[len(parts) + len(joined) :]
