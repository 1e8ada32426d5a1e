"""Kinds of needles, and suites: published sets of kinds that one option selects."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ragstone.benchmarks.niah.contexts import Haystack
from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.templates import NeedleTemplate
from ragstone.benchmarks.niah.word_lists import WordList
from ragstone.models.tokenizers import TokenCounter
from ragstone.types import Metric

Maker = Callable[[str, random.Random, frozenset[str], int], NeedleQuestion]
"""(language, random generator, numbers that occur in the haystack, length) → the needle of one cell. Raises
UsageError."""


Stack: TypeAlias = Haystack | WordList
"""What contexts are made from."""


class Source(Protocol):
    """A generated text that replaces the haystack. `starts`: how many different ones there are, one for each repeat."""

    @property
    def name(self) -> str: ...
    @property
    def starts(self) -> int: ...
    async def count(self, counter: TokenCounter, language: str, start: int, longest: int) -> Stack: ...
    def sha256(self, language: str) -> str: ...


@dataclass(frozen=True)
class Kind:
    """A kind of needle with its settings.

    `variant`: the settings in words, a part of the cell's id. `hop`: the distance between two links of a chain, as a
    share of the context. `fresh`: its values are new in each cell and never those of the haystack; the texts of any
    other kind may not occur in it. `placed`: its first needle stands at the depth of the cell; otherwise all of them
    stand at random depths, in their order, and there is a sample where others have a depth. `controls`: it has cells
    without a needle. `template`: its own, which `--template` does not replace. `sources`: (shortest length, source) in
    ascending order, where it has texts of its own. `suite`: the name of its suite."""

    name: str
    make: Maker
    variant: str = ""
    hop: float = 0.0
    fresh: bool = False
    placed: bool = True
    controls: bool = True
    template: NeedleTemplate | None = None
    sources: tuple[tuple[int, Source], ...] = ()
    suite: str = ""

    def stack(self, language: str, length: int) -> str:
        """The name of what its contexts are made from: the haystack's is the language."""
        source = self.source(length)
        return f"{language}/{source.name}" if source else language

    def source(self, length: int) -> Source | None:
        """Its source at a length; None: the haystack."""
        return next((source for shortest, source in reversed(self.sources) if length >= shortest), None)


@dataclass(frozen=True)
class Suite:
    """A set of tasks. `source`: the paper that it follows. `metrics`: its own scoring, beside ours.
    `lengths`: those that are asked unless others are named."""

    name: str
    kinds: tuple[Kind, ...]
    source: str
    metrics: tuple[Metric, ...] = ()
    lengths: str = "1k:32k:15"
