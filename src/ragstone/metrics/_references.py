"""How a text is compared with references that have several slots, each with its aliases.

One slot: the alias that fits the text best. Several slots: of each the alias that fits best by itself (the first of
equals), joined by blanks in the order of the slots, because an answer has to say all of them. Empty aliases and slots
without any other are left out.
"""

from collections.abc import Callable

from ragstone.types import Sample

__all__ = ["NO_REFERENCE", "best_fit", "filled"]

NO_REFERENCE = "the sample has no reference answers"


def filled(sample: Sample) -> tuple[tuple[str, ...], ...]:
    """The slots of the references with the aliases that are no mere blanks; () where there is nothing."""
    slots = (tuple(alias for alias in slot if alias.strip()) for slot in sample.references)
    return tuple(slot for slot in slots if slot)


def best_fit(slots: tuple[tuple[str, ...], ...], fit: Callable[[str], float]) -> str:
    """The one text that stands for these slots, by the rule above. `fit` rates one alias. `slots` as from `filled`."""
    return " ".join(max(slot, key=fit) for slot in slots)
