"""Comparison of a text with references that have several slots, each with its aliases.

One slot: the alias that fits the text best. Several slots: the best-fitting alias of each (the first of equals), joined
by spaces in the order of the slots, because an answer has to state all of them. Empty aliases, and slots without other
ones, are left out.
"""

import math
from collections.abc import Callable
from itertools import product

from ragstone.text import fold
from ragstone.types import Sample

_COMBINED = 8
NO_REFERENCE = "the sample has no reference answers"


def filled(sample: Sample) -> tuple[tuple[str, ...], ...]:
    """The slots of the references without blank aliases; () if nothing is left."""
    slots = (tuple(alias for alias in slot if alias.strip()) for slot in sample.references)
    return tuple(slot for slot in slots if slot)


def alternatives(sample: Sample) -> tuple[str, ...]:
    """The references that any right answer may be compared with, each a whole answer: one alias of each slot, joined.

    All combinations where there are at most `_COMBINED`, else the first aliases of all slots, the second ones and so
    on, so that every alias is in one. Aliases that differ in nothing but case and width are one."""
    slots = [tuple({fold(alias.strip()).text: alias.strip() for alias in slot}.values()) for slot in filled(sample)]
    if math.prod(map(len, slots)) <= _COMBINED:
        return tuple(" ".join(aliases) for aliases in product(*slots)) if slots else ()
    most = max(map(len, slots))
    return tuple(" ".join(slot[min(number, len(slot) - 1)] for slot in slots) for number in range(most))


def best_fit(slots: tuple[tuple[str, ...], ...], fit: Callable[[str], float]) -> str:
    """The text that represents these slots, by the rule above. `fit` rates one alias. `slots` as from `filled`."""
    return " ".join(max(slot, key=fit) if len(slot) > 1 else slot[0] for slot in slots)
