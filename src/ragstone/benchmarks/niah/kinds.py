"""Kinds of needles, and suites: published sets of kinds that one option selects."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.templates import NeedleTemplate

__all__ = ["Kind", "Maker", "Suite"]

Maker = Callable[[str, random.Random, frozenset[str]], NeedleQuestion]
"""(language, random generator, numbers that occur in the haystack) → the needle of one cell. Raises UsageError."""


@dataclass(frozen=True)
class Kind:
    """A kind of needle with its settings.

    `variant`: the settings in words, a part of the cell's id. `hop`: the distance between two links of a chain, as a
    share of the context. `fresh`: its values are new in each cell and never those of the haystack; the texts of any
    other kind may not occur in it. `placed`: its first needle stands at the depth of the cell; otherwise all of them
    stand at random depths, in their order, and there is a sample where others have a depth. `controls`: it has cells
    without a needle. `template`: its own, which `--template` does not replace. `suite`: the name of its suite."""

    name: str
    make: Maker
    variant: str = ""
    hop: float = 0.0
    fresh: bool = False
    placed: bool = True
    controls: bool = True
    template: NeedleTemplate | None = None
    suite: str = ""


@dataclass(frozen=True)
class Suite:
    """A set of tasks. `source`: the paper that it follows."""

    name: str
    kinds: tuple[Kind, ...]
    source: str
