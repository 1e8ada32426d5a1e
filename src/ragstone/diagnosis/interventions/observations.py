"""The answers to one question under all conditions: their outcomes, and which conditions can still be asked.

A field (`evidence.FIELDS`) is None while the condition that would tell it can still be asked, and "missing" if it
cannot be known.

Records are kept in few bytes: a diagnosis of 10,000 questions has a gigabyte of texts, of which the tables need those
of a few questions at a time.
"""

import pickle
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import msgspec

from ragstone.analysis.gold_passages import covered, labelled
from ragstone.benchmarks.recorded import diagnosis
from ragstone.diagnosis.interventions.conditions import ASKED_AGAIN, CONDITIONS, ORDERED, REPEATS
from ragstone.diagnosis.interventions.question import (
    ASKED,
    REFERENCE,
    Question,
    basis_of,
    own_chunks,
)
from ragstone.diagnosis.interventions.second_reading import has_long_reference, is_unsure, reads_right
from ragstone.diagnosis.interventions.shared import Shared
from ragstone.diagnosis.interventions.substitutes import is_error_message
from ragstone.structs import Itself
from ragstone.systems.probes import is_probe_reply
from ragstone.types import Passage, Record, Response, Sample

if TYPE_CHECKING:
    from ragstone.analysis.statements import Part

_UNPACKED = 64  # questions
_LEVEL = 5  # of zlib: a seventh fewer bytes than 1, in 0.1 ms more
MISSING = "missing"
REPEATED = {again: name for name, repeats in ASKED_AGAIN.items() for again in repeats}
SOURCES: Mapping[str, tuple[str, ...]] = {
    "again": ("again",), "in_doubt": ("gold_only", "closed_book"),
    "added": ("gold_added",), "alone": ("gold_only",), "indexed": ("indexed_only",),
    "asked": ("search_asked",), "lowered": ("search_asked",), "by_reference": ("search_reference",),
    "reach": ("k2", "k4"), "demoted": ("k2", "k4"), "recalled": ("closed_book", "no_gold"),
    "moved": ("gold_first", "gold_last", "only_before", "only_after", "spaced"),
    "in_index": ("search_deep", "search_reference", "search_own"), "crowded": ("search_deep", "k4", "k2"),
    "excluded": ("search_own", "search_control"), "barrier": ("search_translated",),
    "contradicted": ("gold_added", "without_rivals", "indexed_only"),
    "own": ("chunk_only",), "split": ("search_reference", "k2", "k4"), "sentence": ("evidence_only",),
    "rows_mixed": ("two_rows",),
    "unfinished": ("gold_explicit",), "explicit": ("gold_explicit", "gold_neutral"), "cut": ("spaced", "padded"),
    "unread_end": ("evidence_first", "evidence_last"),
    "curtailed": ("search_deep", "search_joined"),
    "deaf": ("search_asked", "search_swapped", "search_control", "swapped"),
    "guarded": ("gold_open", "counterfactual"),
    "stuck": ("gold_only", "closed_book", "counterfactual"), "reworded": ("reworded", "reworded_2"),
    "carried": ORDERED, "unburdened": ("no_history",),
}  # fmt: skip
"""The conditions that tell a field, in the order in which to ask them; an answer may make the next superfluous."""


class PackedRecords(Mapping[str, Record]):
    """Records by condition, which are unpacked where one of them is read."""

    def __init__(self, records: Mapping[str, Record]) -> None:
        self._names = dict.fromkeys(records)
        self.packed = zlib.compress(pickle.dumps(dict(records), pickle.HIGHEST_PROTOCOL), _LEVEL)

    def __getitem__(self, name: str) -> Record:
        if name not in self._names:
            raise KeyError(name)
        return _unpack(self.packed)[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def without(records: Mapping[str, Record], name: str) -> Mapping[str, Record]:
    """The records without one, packed if they were."""
    if not isinstance(records, PackedRecords):
        return {key: record for key, record in records.items() if key != name}
    fewer = copy(records)
    fewer._names = {key: None for key in records if key != name}
    return fewer


@lru_cache(maxsize=_UNPACKED)
def _unpack(packed: bytes) -> dict[str, Record]:
    records: dict[str, Record] = pickle.loads(zlib.decompress(packed))  # made here, never read from a file
    return records


def question_of(sample: Sample, row: int = 0) -> Question:
    """The question of a case of this benchmark, whose sample has the gold passages and notes about them."""
    notes = sample.meta
    indexed = tuple(msgspec.convert(notes.get("indexed", []), list[Passage]))
    return Question(row, sample, (), labelled(sample), indexed, str(notes.get("stand_in", "")))


_unpacked: "deque[Observations]" = deque()  # the questions that were read last of those that are packed


@dataclass
class Observations(ABC):
    """The records of one question by condition. `takes`: what the system accepts. `gates`: thresholds by metric that
    decide what is right. `unstable_system`: some outcome changed when it was asked for again, so a wrong one is asked
    for three times, as are wrong ones under `ASKED_AGAIN`. `shared`: what the questions of the run tell together.
    `withdrawn`: the conditions that did not take effect, with the reason; they count as not asked (`verification`)."""

    records: Mapping[str, Record]
    takes: frozenset[str] = frozenset()
    gates: Mapping[str, float] = field(default_factory=dict)
    unstable_system: bool = False
    shared: Shared = field(default_factory=Shared)
    withdrawn: dict[str, str] = field(default_factory=dict)

    @cached_property
    def id(self) -> str:
        """The question's id in the data."""
        return self.sample.id

    @cached_property
    def sample(self) -> Sample:
        if isinstance(self.records, PackedRecords):
            _unpacked.append(self)
            if len(_unpacked) > _UNPACKED:
                _unpacked.popleft().pack()
        return self.records["as_is"].case.sample

    @cached_property
    def question(self) -> Question:
        return replace(question_of(self.sample), history=self.records["as_is"].case.query.history)

    @property
    def gold(self) -> tuple[Passage, ...]:
        return self.question.gold

    @property
    def slots(self) -> Sequence[Sequence[str]]:
        return self.sample.references

    @property
    def first(self) -> Response | None:
        """The answer as is."""
        return self.records["as_is"].response

    @cached_property
    def basis(self) -> Response | None:
        """The answer as is, as conditions are made of it."""
        return (
            None
            if self.first is None
            else basis_of(self.first, {name: self.response(name) for name in (ASKED, REFERENCE)})
        )

    @property
    def asked(self) -> Collection[str]:
        """The conditions that were asked, with and without effect."""
        return {*self.records, *self.withdrawn}

    def withdraw(self, condition: str, why: str) -> None:
        """Forgets the record under a condition, and what was read of it."""
        self.records, self.withdrawn[condition] = without(self.records, condition), why
        self._outcomes.pop(condition, None)
        for name in ("_values", "basis", "_possible"):
            vars(self).pop(name, None)

    def pack(self) -> None:
        """Keeps the texts in few bytes, and lets go of what was read of them; that is also done to the question that
        was read `_UNPACKED` questions ago."""
        if not isinstance(self.records, PackedRecords):
            self.records = PackedRecords(self.records)
        for name in ("sample", "question", "basis", "own_chunks", "_possible", "_held"):
            vars(self).pop(name, None)

    def response(self, condition: str) -> Response | None:
        record = self.records.get(condition)
        return None if record is None else record.response

    def outcome(self, condition: str) -> str | None:
        """ "right", "wrong", "refused", "error" or "unscored"; None if it was not asked."""
        if condition not in self.records:
            return None
        if condition not in self._outcomes:
            self._outcomes[condition] = self._outcome(condition)
        return self._outcomes[condition]

    @cached_property
    def _outcomes(self) -> dict[str, str | None]:
        return {}

    def _outcome(self, condition: str) -> str | None:
        record = self.records.get(condition)
        if record is None:
            return None
        if record.response is None:
            return "error"
        found = diagnosis.explain(record, gates=self.gates)
        if not found.right and is_probe_reply(record.response):  # it is no answer to this question
            return "unscored"
        if not found.right and is_error_message(record):
            return "error"
        if found.right is None:
            return self._by_second_reading(condition) if is_unsure(record) else "unscored"
        return "right" if found.right else "refused" if found.cause == "wrong_refusal" else "wrong"

    def is_unsure(self, condition: str) -> bool:
        """Whether the metric cannot tell about the answer under a condition, so that a second reading decided."""
        record = self.records.get(condition)
        return record is not None and record.response is not None and is_unsure(record)

    def _by_second_reading(self, condition: str) -> str:
        """The outcome where the metric cannot tell."""
        if self._reads_right(condition):
            return "right"
        return "unscored" if has_long_reference(self.records[condition]) else "wrong"

    def told(self, condition: str) -> str | None:
        """The outcome under a changed condition, where a wrong answer is read a second time; "missing" for an error or
        an answer that was not scored."""
        outcome = self.outcome(condition)
        if outcome == "wrong" and condition != "as_is" and self._reads_right(condition):
            return "right"
        return MISSING if outcome in ("error", "unscored") else outcome

    def _reads_right(self, condition: str) -> bool:
        if condition not in self._second:
            self._second[condition] = reads_right(self.records[condition], self.gates, self.gold)
        return self._second[condition]

    @cached_property
    def _second(self) -> dict[str, bool]:
        """By condition whether a wrong answer is right by a second reading."""
        return {}

    @property
    def changes_by_itself(self) -> bool:
        """Whether the question got another outcome when it was simply asked again: a refusal and a wrong answer are
        two, though neither is right."""
        told = {self.told("as_is"), self.told("again")}
        return len(told) > 1 and told <= {"right", "wrong", "refused"}

    def settled(self, condition: str) -> str | None:
        """The outcome under a condition of which a wrong one decides: right if any of its answers is, as the answer as
        is has as many tries where answers change by themselves. None while it can be asked again."""
        names = (condition, *ASKED_AGAIN[condition])
        if any(self.told(name) == "right" for name in names):
            return "right"
        return None if any(name not in self.records and self.can(name) for name in names) else self.told(condition)

    def _is_doubted(self, condition: str) -> bool:
        """Whether a wrong answer under a condition may be one of those that change by themselves."""
        wrong = ("wrong", "refused")
        names = (condition, *ASKED_AGAIN[condition])
        return (
            self.unstable_system and self.outcome("as_is") in wrong and self.told(condition) in wrong
            and not any(self.told(name) == "right" for name in names)
        )  # fmt: skip

    def can(self, condition: str) -> bool:
        """Whether this condition can be asked of the system and of this question."""
        verified = self.shared.verified
        if condition in self.withdrawn or (verified is not None and condition in verified.unusable):
            return False
        if condition in REPEATED and not self._is_doubted(REPEATED[condition]):
            return False
        return self.is_possible(condition)

    def is_possible(self, condition: str) -> bool:
        """Whether this condition can be made of this question for the system, whatever was observed of others."""
        known, possible = CONDITIONS[condition], self._possible
        if known.takes and known.takes not in self.takes:
            return False
        if condition not in possible:
            possible[condition] = self.basis is not None and known.build(self.question, self.basis) is not None
        return possible[condition]

    @cached_property
    def _possible(self) -> dict[str, bool]:
        return {}

    def value(self, name: str) -> str | None:
        """The value of a field; None if a condition that can be asked would tell it."""
        return self._values[name] if name in self._values else self._values.setdefault(name, self.read(name))

    @abstractmethod
    def read(self, name: str) -> str | None:
        """The value of a field, read anew from the answers."""

    @cached_property
    def _values(self) -> dict[str, str | None]:
        return {}

    def open_conditions(self, name: str) -> list[str]:
        """The conditions to ask next for a field without a value."""
        sources = SOURCES[name]
        if name == "again" and self.unstable_system and self.outcome("as_is") != "right":
            sources = REPEATS
        wanted = [one for condition in sources for one in (condition, *ASKED_AGAIN.get(condition, ()))]
        asked = [condition for condition in wanted if condition not in self.records and self.can(condition)]
        return asked if name == "carried" else asked[:1]

    def told_by(self, name: str, *, otherwise: str = MISSING) -> str | None:
        """None if a condition of this field can still be asked, else `otherwise`."""
        return None if self.open_conditions(name) else otherwise

    @cached_property
    def needs_every(self) -> bool:
        """Whether the gold passages that the prompt lacks are needed besides those that it has: adding them rights the
        answer."""
        return self.outcome("as_is") != "right" and self.settled("gold_added") == "right"

    def has_gold(self, passages: Sequence[Passage]) -> str:
        """Whether these passages hold the gold."""
        if not self.gold:
            return MISSING
        enough: tuple[Part, ...] = ("whole", "value") if self.settled("chunk_only") == "right" else ("whole",)
        key, known = (Itself(passages), enough, self.needs_every), self._held
        if key not in known:
            known[key] = covered(passages, self.gold, self.slots, every=self.needs_every, enough=enough)
        return "yes" if known[key] else "no"

    @cached_property
    def _held(self) -> "dict[tuple[Itself, tuple[Part, ...], bool], bool]":
        return {}

    @cached_property
    def own_chunks(self) -> list[Passage]:
        """The system's passages that hold the gold, or parts of it, as far as it showed them."""
        return [] if self.basis is None else own_chunks(self.question, self.basis)
