"""Applies a filter to the columns of a case index: which records match, in which order, and how many there are of each
value. Everything is computed over whole columns, for any combination of conditions, and nothing is kept."""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ragstone.analysis.case_filter import CaseFilter, Range, terms
from ragstone.analysis.case_index_store import Codes, Numbers, Store
from ragstone.analysis.case_index_text import Found, contain, having
from ragstone.errors import UnknownName

if TYPE_CHECKING:
    from numpy.typing import NDArray

Mask: TypeAlias = "NDArray[np.bool_]"
Positions: TypeAlias = "NDArray[np.int64]"

SearchKey: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, Range], ...], int]

_SEARCHES = 8  # results that are kept
_WORST, _ID = "worst", "id"


@dataclass
class Selection:
    """The records that match a filter. For use inside one `Store.reading`."""

    store: Store
    chosen: CaseFilter
    searches: MutableMapping[SearchKey, Found] = field(default_factory=dict)

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
        return {name: self.among(name, values) for name, values in self.choices.items()}

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
    def words(self) -> tuple[str, ...]:
        """The words of the text."""
        return terms(self.chosen.text)

    @cached_property
    def _found(self) -> Found:
        """Which records have the words, as far as they match the ranges: facets count what would match without a
        choice. The page, its facets and the neighbours of its cases search for the same."""
        if not self.words:
            return Found(np.ones(self.size, bool), exact=True, compared=True)
        key = (self.words, tuple(self.chosen.metrics.items()), self.store.version)
        if key not in self.searches:
            while len(self.searches) >= _SEARCHES:
                self.searches.pop(next(iter(self.searches)))
            self.searches[key] = having(self.store, self.words, self._ranges)
        return self.searches[key]

    @property
    def exact(self) -> bool:
        """Whether exactly the matches were found."""
        return self._found.exact

    def mask(self, without: str = "") -> Mask:
        """Which records match, apart from the choice in one column."""
        mask = self._ranges & self._found.mask
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

    def among(self, name: str, values: Iterable[str]) -> Mask:
        """Which records have one of these values in a column."""
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

    def page(self, offset: int, size: int) -> list[int]:
        """The matches `offset` to `offset + size`, in order."""
        return self._first(self.order, self.mask(), offset + size)[offset:]

    def _first(self, order: Numbers, mask: Mask, count: int, *, backwards: bool = False) -> list[int]:
        """The first matches of a mask, or the last ones. What only may have the words is compared, as many records as
        it takes."""
        if backwards:
            order, mask = -order[::-1], mask[::-1]
        matches: list[int] = []
        start, batch = 0, count if self._found.compared else 4 * count + 100
        while len(matches) < count and len(places := _top(order, mask, start, batch)):
            places = self.size - 1 - places if backwards else places
            matches += (places if self._found.compared else contain(self.store, places, self.words)).tolist()
            start, batch = start + batch, 2 * batch
        return matches[:count]

    def neighbours(self, position: int) -> tuple[int | None, int | None]:
        """The matches before and after a record in the order, whether it matches or not."""
        order = np.where(np.isnan(self.order), np.inf, self.order)
        here, mask = order[position], self.mask()
        mask[position] = False
        earlier = (order < here) | ((order == here) & (np.arange(self.size) < position))
        following = self._first(order, mask & ~earlier, 1)
        previous = self._first(order, mask & earlier, 1, backwards=True)
        return previous[0] if previous else None, following[0] if following else None


def _top(order: Numbers, mask: Mask, offset: int, size: int) -> Positions:
    """The matches `offset` to `offset + size`, in order; those without a number are last."""
    places = np.flatnonzero(mask)
    keys, end = order[places], offset + size
    if end < len(keys) // 4:  # sort only what can be among them
        last = np.partition(keys, end - 1)[end - 1]
        if not np.isnan(last):
            places = places[keys <= last]
            keys = order[places]
    return places[np.argsort(keys, kind="stable")[offset:end]]
