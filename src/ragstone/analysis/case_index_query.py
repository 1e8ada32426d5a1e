"""Applies a filter to the columns of a case index: which records match, in which order, and how many there are of each
value. Everything is computed over whole columns, for any combination of conditions, and nothing is kept."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ragstone.analysis.case_filter import CaseFilter, terms
from ragstone.analysis.case_index_store import Codes, Numbers, Store
from ragstone.analysis.case_index_text import having
from ragstone.errors import UnknownName

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Selection", "top"]

Mask: TypeAlias = "NDArray[np.bool_]"
Positions: TypeAlias = "NDArray[np.int64]"

_WORST, _ID = "worst", "id"


@dataclass
class Selection:
    """The records that match a filter. For use inside one `Store.reading`."""

    store: Store
    chosen: CaseFilter

    @cached_property
    def size(self) -> int:
        """The number of records in the index."""
        return self.store.size

    @cached_property
    def columns(self) -> Mapping[str, int]:
        """Name → id of the columns."""
        return self.store.columns()

    @cached_property
    def choices(self) -> Mapping[str, Sequence[str]]:
        """Column → the values chosen in it."""
        chosen = self.chosen
        lists = {
            "system": chosen.systems, "status": chosen.status, "cause": chosen.causes, "group": chosen.groups,
            "language": chosen.languages,
        }  # fmt: skip
        named = {f"c.{name}": values for name, values in chosen.conditions.items()}
        labels = {f"label.{name}": values for name, values in chosen.labels.items()}
        return {name: values for name, values in (lists | named | labels).items() if values}

    @cached_property
    def _tests(self) -> dict[str, Mask]:
        """Column with a choice → which records match it."""
        return {name: self._among(name, values) for name, values in self.choices.items()}

    @cached_property
    def _ranges(self) -> Mask:
        """Which records have all metrics in their ranges."""
        mask = np.ones(self.size, bool)
        for name, (low, high) in self.chosen.metrics.items():
            numbers = self.numbers(f"m.{name}")
            mask &= ~np.isnan(numbers)
            if low is not None:
                mask &= numbers >= low
            if high is not None:
                mask &= numbers <= high
        return mask

    @cached_property
    def _found(self) -> tuple[Mask, bool]:
        """Which records have the text, as far as they match otherwise, and whether these are all."""
        words = terms(self.chosen.text)
        if not words:
            return np.ones(self.size, bool), True
        return having(self.store, words, self._ranges)  # facets count what would match without a choice

    @property
    def exact(self) -> bool:
        """Whether every match was found."""
        return self._found[1]

    def mask(self, without: str = "") -> Mask:
        """Which records match, apart from the choice in one column."""
        mask = self._ranges & self._found[0]
        for name, test in self._tests.items():
            if name != without:
                mask &= test
        return mask

    def codes(self, name: str) -> Codes:
        """The codes of a column, 0 where it has no value."""
        return self.store.codes(self.columns.get(name), self.size)

    def numbers(self, name: str) -> Numbers:
        """The numbers of a column; `UnknownName` for a metric that the run does not have."""
        if name not in self.columns and self.size and name.startswith("m."):
            known = [column[2:] for column in self.columns if column.startswith("m.")]
            raise UnknownName("metric", name[2:], known)
        return self.store.numbers(self.columns.get(name), self.size)

    @cached_property
    def order(self) -> Numbers:
        """What to sort by, the smallest first, then by position."""
        key = self.chosen.sort
        descending = key.startswith("-")
        name = key.removeprefix("-")
        numbers = self.numbers(name if name in (_WORST, _ID) else f"m.{name}")
        return -numbers if descending else numbers

    def _among(self, name: str, values: Iterable[str]) -> Mask:
        column = self.columns.get(name)
        wanted = self.store.codes_of(column, values) if column is not None else []
        if not wanted or column is None:
            return np.zeros(self.size, bool)
        codes = self.store.codes(column, self.size)
        return codes == wanted[0] if len(wanted) == 1 else np.isin(codes, wanted)

    def counts(self, name: str, mask: Mask) -> dict[int, int]:
        """Code → number of records, for the values of a column."""
        counts = np.bincount(self.codes(name)[mask])
        return {int(code): int(counts[code]) for code in np.flatnonzero(counts) if code}

    def neighbours(self, position: int) -> tuple[int | None, int | None]:
        """The matches before and after a record in the order, whether it matches or not."""
        order, places = self.order, np.arange(self.size)
        order = np.where(np.isnan(order), np.inf, order)
        here = order[position]
        before = (order < here) | ((order == here) & (places < position))
        mask = self.mask()
        after = mask & ~before
        after[position] = False
        before &= mask
        previous = _extreme(order, before, np.max, -1)
        following = _extreme(order, after, np.min, 0)
        return previous, following


def _extreme(order: Numbers, mask: Mask, pick: Callable[..., np.float64], index: int) -> int | None:
    places = np.flatnonzero(mask)
    if not len(places):
        return None
    keys = order[places]
    return int(places[keys == pick(keys)][index])


def top(order: Numbers, mask: Mask, offset: int, size: int) -> Positions:
    """The matches `offset` to `offset + size`, in order; those without a number are last."""
    places = np.flatnonzero(mask)
    keys, end = order[places], offset + size
    if end < len(keys) // 4:  # sort only what can be among them
        last = np.partition(keys, end - 1)[end - 1]
        if not np.isnan(last):
            places = places[keys <= last]
            keys = order[places]
    return places[np.argsort(keys, kind="stable")[offset:end]]
