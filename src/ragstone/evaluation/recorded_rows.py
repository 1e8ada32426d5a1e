"""Rows of the user's data with their recorded answers, read from where the data are kept when they are asked for."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import overload

from msgspec.structs import replace

from ragstone.benchmarks.recorded.benchmark import RecordedRow
from ragstone.datasets.tabular import Item, retrieval_only
from ragstone.text import estimate_tokens
from ragstone.types import NO_ANSWER, Response

_SHORT_REFERENCE = 8  # tokens


class RecordedRows(Sequence[RecordedRow]):
    """The rows with an answer, or with the reason why there is none. `language`: of all of them ("": their own).

    `errors`: the reasons by number. Where in the data rows are: `failed` with such a reason, `unanswered` without an
    answer and without one, `retrieval_only` with passages but no answer."""

    def __init__(self, items: Sequence[Item], language: str = "") -> None:
        self._items, self._language = items, language
        self._places, self.numbers = array("i"), array("i")
        self.errors: dict[int, str] = {}
        self.unanswered, self.failed, self.retrieval_only = list[str](), list[str](), list[str]()
        for place, item in enumerate(items):
            if item.error:
                self.errors[item.row] = item.error
                self.failed.append(item.where)
            elif item.response is None:
                self.unanswered.append(item.where)
                continue
            elif retrieval_only(item):
                self.retrieval_only.append(item.where)
            self._places.append(place)
            self.numbers.append(item.row)

    def renumbered(self, numbers: Mapping[int, int]) -> "RecordedRows":
        """The same rows with other numbers, by their number so far; the others keep theirs."""
        other = RecordedRows((), self._language)
        other._items, other._places = self._items, self._places
        other.numbers = array("i", (numbers.get(number, number) for number in self.numbers))
        return other

    def item(self, place: int) -> Item:
        """The item of the row at this place."""
        return self._items[self._places[place]]

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int, /) -> RecordedRow: ...
    @overload
    def __getitem__(self, place: slice, /) -> list[RecordedRow]: ...
    def __getitem__(self, place: int | slice, /) -> RecordedRow | list[RecordedRow]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        return self._row(self.numbers[number], self.item(number))

    def __iter__(self) -> Iterator[RecordedRow]:
        every = len(self._places) == len(self._items)
        return map(self._row, self.numbers, self._items if every else map(self._items.__getitem__, self._places))

    def _row(self, number: int, item: Item) -> RecordedRow:
        sample = replace(item.sample, language=self._language) if self._language else item.sample
        return RecordedRow(number, sample, item.response, item.history, item.extra)


class Replies(Mapping[int, Response]):
    """The recorded answers of these rows, by the number of the row."""

    def __init__(self, rows: RecordedRows) -> None:
        self._rows = rows
        numbers = rows.numbers
        self._ascending = all(numbers[place] < numbers[place + 1] for place in range(len(numbers) - 1))
        self._places = {} if self._ascending else {number: place for place, number in enumerate(numbers)}

    def __getitem__(self, number: int, /) -> Response:
        numbers = self._rows.numbers
        place = bisect_left(numbers, number) if self._ascending else self._places[number]
        if place >= len(numbers) or numbers[place] != number:
            raise KeyError(number)
        response = self._rows.item(place).response
        if response is None:
            raise KeyError(number)
        return response

    def __iter__(self) -> Iterator[int]:
        return (row.row for row in self._rows if row.response is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Contents:
    """What some of the rows have."""

    def __init__(self) -> None:
        self.responses = self.answers = self.references = self.passages = self.labels = self.answerable = False
        self._lengths = array("q")

    def add(self, row: RecordedRow) -> None:
        """Notes what this row has."""
        response, sample = row.response, row.sample
        if response is not None:
            self.responses = True
            self.answers |= response.finish_reason != NO_ANSWER
            self.passages |= bool(response.passages)
            self.labels |= any(passage.relevant is not None for passage in response.passages)
        self.labels |= any(passage.relevant for passage in sample.passages)
        self.references |= bool(sample.references)
        self.answerable |= "answerable" in sample.meta
        self._lengths.extend(estimate_tokens(alias) for slot in sample.references for alias in slot)

    @property
    def short_references(self) -> bool:
        """Whether the references are short (names, numbers), so that an answer can match them, rather than
        sentences."""
        return median(self._lengths) <= _SHORT_REFERENCE if self._lengths else False
