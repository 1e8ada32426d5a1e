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

_TOPIC = "topic"
_NO_FIELD = ("repeat",)  # of a condition: a number of an answer, not a property of the question


@dataclass
class CaseFields:
    """The fields of samples and of conditions, which all systems share. Samples are told apart by a hash of id and
    question. Of many samples with the same fields these are kept once."""

    wording: Wording = field(default_factory=Wording)
    units: dict[int, int] = field(default_factory=dict)
    questions: list[str] = field(default_factory=list)  # of each sample
    kind: "array[int]" = field(default_factory=lambda: array("l"))  # of each sample: the number of its fields
    kinds: dict[tuple[tuple[str, str], ...], int] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)
    numbers: dict[tuple[str, ...], int] = field(default_factory=dict)
    conditions: list[Mapping[str, str]] = field(default_factory=list)

    def place(self, case: Case) -> tuple[int, int]:
        """The numbers of the case's sample and of its condition."""
        values = attributes(case)
        sample = hash((case.sample.id, case.sample.question))
        if sample not in self.units:
            self.units[sample] = len(self.questions)
            self.questions.append(case.sample.question)
            own = {name: value for name, value in values.items() if name not in case.condition}
            kind = tuple({**derived(case, wording=self.wording), **own}.items())
            self.kind.append(self.kinds.setdefault(kind, len(self.kinds)))
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
        self.topics = topics_of(self.questions, wording=self.wording)

    @property
    def names(self) -> set[str]:
        found = {name for fields in self.conditions for name in fields}
        found |= {name for fields in self.kinds for name, _ in fields}
        return found | ({_TOPIC} if self.topics else set())

    def column(self, name: str, rows: "Rows") -> list[str | None]:
        """The value of a field in each row; a condition takes precedence over a field of the sample."""
        of_kind = [dict(fields).get(name) for fields in self.kinds]
        topics = self.topics if name == _TOPIC else {}
        return [
            self.conditions[condition].get(name) or (topics.get(self.questions[unit]) if value is None else value)
            for unit, condition in zip(rows.unit, rows.condition, strict=True)
            for value in (of_kind[self.kind[unit]],)
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
