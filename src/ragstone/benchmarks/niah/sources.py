"""Texts that a task hides its needles in instead of the haystack: they are generated, endless, and counted like it."""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from ragstone.benchmarks.niah.contexts import COUNTED_MARK, MARK, Haystack, make_haystack
from ragstone.datasets.fictional.parts import seeded
from ragstone.errors import UsageError
from ragstone.models.tokenizers import TokenCounter

_MARGIN = 4  # tokens by which a context may exceed the sum of its parts


@dataclass(frozen=True)
class TextSource:
    """A text of parts, between which needles are placed. `parts`: (language, random generator) → its parts, each with
    what separates it from the next, without end. `joint`: what separates a needle from the next part. `starts`: how
    many there are, one for each repeat. `batch`: how many parts are made and counted at a time."""

    name: str
    parts: Callable[[str, random.Random], Iterator[str]]
    joint: str = "\n"
    starts: int = 1
    batch: int = 256

    async def count(self, counter: TokenCounter, language: str, start: int, longest: int) -> Haystack:
        """The counted text, at least as long as contexts of `longest` tokens. Raises UsageError if there is no more."""
        generated = self.parts(language, seeded("ragstone", self.name, language, start))
        parts: list[str] = []
        tokens: list[int] = []
        margin, margins = _MARGIN, [(0, _MARGIN)]
        while sum(tokens) <= longest:
            if not (batch := list(islice(generated, self.batch))):
                raise UsageError(f"Texts of {self.name} have at most {sum(tokens):,} tokens: use shorter --lengths.")
            shown = [part.replace(MARK, COUNTED_MARK) for part in batch]
            counts, (whole,) = await count_parts(counter, shown, ["".join(shown)])
            margin += max(0, whole - sum(counts))
            margins.append((len(parts), margin))
            parts += batch
            tokens += counts
        return make_haystack(
            parts, tokens, separator_tokens=1, language=language, margins=margins[1:], joint=self.joint,
            numbered=True,
        )  # fmt: skip

    def sha256(self, language: str) -> str:
        """The hash of how it begins."""
        parts = islice(self.parts(language, seeded("ragstone", self.name, language, 0)), self.batch)
        return hashlib.sha256("".join(parts).encode()).hexdigest()


async def count_parts(
    counter: TokenCounter, parts: Sequence[str], others: Sequence[str]
) -> tuple[list[int], list[int]]:
    """The tokens that each part adds to the one before it, and the tokens of other texts."""
    joined = [before + after for before, after in pairwise(parts)]
    counts = await counter.count([*parts, *joined, *others])
    alone, together = counts[: len(parts)], counts[len(parts) : len(parts) + len(joined)]
    added = [max(0, both - before) for both, before in zip(together, alone, strict=False)]
    return [alone[0], *added], counts[len(parts) + len(joined) :]
