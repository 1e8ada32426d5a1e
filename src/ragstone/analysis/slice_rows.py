"""The answers of a run as rows for the search of slices. Only fields and the ids of wrong cases are kept."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ragstone.analysis.fields import derived
from ragstone.analysis.selection import FOUND, attributes
from ragstone.analysis.topics import topics_of
from ragstone.stats import Array
from ragstone.text import Wording
from ragstone.types import Case

__all__ = ["CaseFields", "Rows"]

_NO_FIELD = ("repeat",)  # of a condition: a number of an answer, not a property of the question


@dataclass
class CaseFields:
    """The fields of samples and of conditions, which all systems share. Samples are told apart by id and question."""

    wording: Wording = field(default_factory=Wording)
    units: dict[tuple[str, str], int] = field(default_factory=dict)
    samples: list[dict[str, str]] = field(default_factory=list)
    numbers: dict[tuple[str, ...], int] = field(default_factory=dict)
    conditions: list[Mapping[str, str]] = field(default_factory=list)

    def place(self, case: Case) -> tuple[int, int]:
        """The numbers of the case's sample and of its condition."""
        values = attributes(case)
        sample = case.sample.id, case.sample.question
        if sample not in self.units:
            self.units[sample] = len(self.samples)
            own = {name: value for name, value in values.items() if name not in case.condition}
            self.samples.append({**derived(case, wording=self.wording), **own})
        # What a retriever found is a result.
        left_out = {*_NO_FIELD, *(FOUND if case.condition.get("retriever") else ())}
        condition = {name: values[name] for name in case.condition if name in values and name not in left_out}
        spelled = tuple(f"{name}={value}" for name, value in sorted(condition.items()))
        if spelled not in self.numbers:
            self.numbers[spelled] = len(self.conditions)
            self.conditions.append(condition)
        return self.units[sample], self.numbers[spelled]

    def add_topics(self) -> None:
        """The topics of all questions so far, except where the data have a topic."""
        topics = topics_of((question for _, question in self.units), wording=self.wording)
        for (_, question), unit in self.units.items():
            if question in topics:
                self.samples[unit].setdefault("topic", topics[question])

    @property
    def names(self) -> set[str]:
        return {name for fields in (*self.samples, *self.conditions) for name in fields}

    def column(self, name: str, rows: "Rows") -> list[str | None]:
        """The value of a field in each row; a condition takes precedence over a field of the sample."""
        return [
            self.conditions[condition].get(name) or self.samples[unit].get(name)
            for unit, condition in zip(rows.unit, rows.condition, strict=True)
        ]


@dataclass
class Rows:
    """The answers of one system: a row for each sample under a condition, its repeats together. `wrong`: by row, the
    ids of the wrong cases among those `decided`."""

    unit: "array[int]" = field(default_factory=lambda: array("l"))
    condition: "array[int]" = field(default_factory=lambda: array("l"))
    decided: "array[int]" = field(default_factory=lambda: array("l"))
    wrong: dict[int, tuple[str, ...]] = field(default_factory=dict)
    undecided: int = 0
    numbers: dict[int, int] = field(default_factory=dict)

    def add(self, case: str, place: tuple[int, int], right: bool | None) -> None:
        """Counts a case. `right` None: neither right nor wrong."""
        if right is None:
            self.undecided += 1
            return
        row = self.numbers.setdefault(place[0] << 32 | place[1], len(self.unit))
        if row == len(self.unit):
            for column, value in ((self.unit, place[0]), (self.condition, place[1]), (self.decided, 0)):
                column.append(value)
        self.decided[row] += 1
        if not right:
            self.wrong[row] = (*self.wrong.get(row, ()), case)

    @property
    def shares(self) -> Array:
        """The share of wrong answers of each row."""
        wrong = np.array([len(self.wrong.get(row, ())) for row in range(len(self.unit))], dtype=np.float64)
        return np.asarray(wrong / np.array(self.decided), dtype=np.float64)
