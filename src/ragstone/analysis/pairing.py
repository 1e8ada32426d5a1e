"""Reads one side of a comparison: its scores by pair and metric, and a digest of each pair's input."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np

from ragstone.analysis.fields import fields_of
from ragstone.analysis.selection import FOUND, NOT_IDENTIFYING, check_selection, matches
from ragstone.errors import UsageError
from ragstone.metrics.judge.record import steps_by_metric
from ragstone.stats import Array
from ragstone.structs import to_json
from ragstone.types import Case, Passage, Run, Score

Pair = tuple[str, str]  # sample id, condition as text
Indices: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Mask: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
_DIGEST = 16  # bytes
# Parts of a generated text's recipe that depend on the tokenizer.
_TOKENIZER_DEPENDENT = ("sentences", "at", "wanted")


@dataclass(frozen=True)
class Side:
    """One system of one run. `name`: its name in tables. `axis` and `value` select the cases retrieved with this value
    of a condition (`retriever`, `bm25`); the axis then does not identify a pair."""

    run: Run
    system: str
    name: str
    axis: str = ""
    value: str = ""


@dataclass
class PairScores:
    """The scores of one metric by the place of their pair: sum and number of the judgements of the same answer
    (`--repeat`) that have a value, and whether one of the others failed."""

    sums: "array[float]" = field(default_factory=lambda: array("d"))
    counts: "array[int]" = field(default_factory=lambda: array("q"))
    failed: bytearray = field(default_factory=bytearray)

    def reach(self, size: int) -> None:
        """Makes room for so many pairs."""
        if (more := size - len(self.failed)) <= 0:
            return
        self.sums.frombytes(bytes(8 * more))
        self.counts.frombytes(bytes(8 * more))
        self.failed.extend(bytes(more))

    def add(self, place: int, score: Score) -> None:
        """A score of the pair at this place."""
        if place >= len(self.failed):
            self.reach(place + 1)
        if score.value is not None:
            self.sums[place] += score.value
            self.counts[place] += 1
        elif score.status == "failed":
            self.failed[place] = 1


@dataclass
class SideScores:
    """The scores of one side, whose pairs are at `places`. `digests`: a hash of each pair's input, one after the
    other. `groups`: the names of the groups of pairs, of which `group` has the number of each pair's; `conditions` and
    `condition` likewise. `metrics` by name; `judged`: those that used a judge. `judges`: the judge's models as named by
    its endpoint."""

    places: dict[Pair, int] = field(default_factory=dict)
    digests: bytearray = field(default_factory=bytearray)
    groups: dict[str, int] = field(default_factory=dict)
    group: "array[int]" = field(default_factory=lambda: array("q"))
    conditions: dict[tuple[tuple[str, str], ...], int] = field(default_factory=dict)
    condition: "array[int]" = field(default_factory=lambda: array("q"))
    metrics: dict[str, PairScores] = field(default_factory=dict)
    unscored: bytearray = field(default_factory=bytearray)  # 1 for a pair without any score
    judged: set[str] = field(default_factory=set)
    judges: tuple[str, ...] = ()

    def place(self, pair: Pair, digest: bytes, group: str, condition: Mapping[str, str]) -> int:
        """The place of a pair, which may be new."""
        place = self.places.setdefault(pair, len(self.places))
        if place == len(self.group):
            self.digests += digest
            self.group.append(self.groups.setdefault(group, len(self.groups)))
            self.condition.append(self.conditions.setdefault(tuple(condition.items()), len(self.conditions)))
            self.unscored.append(1)
        return place

    def digest(self, pair: Pair) -> bytes | None:
        """The hash of a pair's input; None if the pair is new."""
        place = self.places.get(pair)
        return None if place is None else bytes(self.digests[_DIGEST * place : _DIGEST * (place + 1)])

    def inputs(self, places: Indices) -> "np.ndarray[Any, np.dtype[np.uint8]]":
        """The hashes of the inputs of these pairs, a row each."""
        return np.frombuffer(self.digests, dtype=np.uint8).reshape(-1, _DIGEST)[places]

    def scores(self, metric: str, places: Indices) -> tuple[Array, Mask]:
        """The scores of these pairs, NaN where there is none, and where it failed. A pair without any score counts as
        failed in every metric."""
        column = self.metrics[metric]
        column.reach(len(self.places))
        sums, counts = np.frombuffer(column.sums)[places], np.frombuffer(column.counts, dtype=np.int64)[places]
        failed = np.frombuffer(column.failed, dtype=np.bool_)[places]
        unscored = np.frombuffer(self.unscored, dtype=np.bool_)[places]
        values = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return values, (failed & (counts == 0)) | unscored

    def varying(self, places: Indices) -> list[str]:
        """The parts of the condition of each of these pairs that differ among them, as text."""
        numbers = np.frombuffer(self.condition, dtype=np.int64)[places]
        known = [*self.conditions]
        conditions = {number: dict(known[number]) for number in np.unique(numbers).tolist()}
        names = {name for condition in conditions.values() for name in condition}
        varying = sorted(name for name in names if len({condition.get(name) for condition in conditions.values()}) > 1)
        texts = {
            number: ", ".join(f"{name}={condition[name]}" for name in varying if name in condition)
            for number, condition in conditions.items()
        }
        return [texts[number] for number in numbers.tolist()]


def read_side(side: Side, where: Mapping[str, str], group_by: Sequence[str]) -> SideScores:
    """Reads the records of a side that match `where`. A record without an answer counts as a failed score of every
    metric of this side. Raises UsageError if no record matches, or none has a name of `group_by`."""
    result, judges, texts = SideScores(), set[str](), dict[str, str]()
    values_by_name: dict[str, dict[str, None]] = {}
    listed = bool(where or group_by)
    fields = fields_of(side.run, (*where, *group_by))
    for record in side.run.records(system=side.system, texts=False):
        values = fields(record.case) if listed else {}
        for name, value in values.items():
            values_by_name.setdefault(name, {})[value] = None
        if not matches(values, where) or (side.axis and retrieved_values(record.case, side.axis) != side.value):
            continue
        identity = _identity(record.case, side.axis)
        sample, text = _pair(record.case, identity)
        pair = sample, texts.setdefault(text, text)
        digest = case_digest(record.case)
        number = 2  # rows with the same id are different samples, numbered in order
        while result.digest(pair) not in (None, digest):
            pair = (sample, f"{text} #{number}")
            number += 1
        group = ", ".join(f"{name}={values[name]}" for name in group_by if name in values)
        place = result.place(pair, digest, group, {name: str(record.case.condition[name]) for name in identity})
        for name, score in record.scores.items():
            result.unscored[place] = 0
            result.metrics.setdefault(name, PairScores()).add(place, score)
        for name, steps in steps_by_metric(record).items():
            result.judged.update([name] if steps else [])
            judges.update(step.model for step in steps if step.model)
    check_selection(side.name, where, group_by, values_by_name, empty=not result.places)
    if not result.places:
        raise UsageError(f"{side.name} has no answers yet: run its command again.")
    result.judges = tuple(sorted(judges))
    return result


def retrieved_values(case: Case, axis: str) -> str | None:
    """The value of a retrieval axis ("retriever", "k", "chunk"); None for a case without retrieval."""
    return str(case.condition[axis]) if case.condition.get("retriever") and axis in case.condition else None


def _identity(case: Case, axis: str) -> list[str]:
    """The parts of a condition that identify a pair; parts that describe retrieval results do not."""
    others = {axis, *(FOUND if case.condition.get("retriever") else ()), *NOT_IDENTIFYING}
    return sorted(name for name in case.condition if name not in others)


def pair_of(case: Case) -> Pair:
    """The pair that a case belongs to: its sample under one condition."""
    return _pair(case, _identity(case, ""))


def _pair(case: Case, identity: Sequence[str]) -> Pair:
    return case.sample.id, ", ".join(f"{name}={case.condition[name]}" for name in identity)


def case_digest(case: Case) -> bytes:
    """A digest of question, references and given passages. It excludes retrieved passages, the answer, and labels,
    which may belong to chunks of another size."""
    sample, query = case.sample, case.query
    given = None if case.condition.get("retriever") else query.passages
    passages = None if given is None else [_digested(passage) for passage in given]
    text = to_json([sample.question, sample.references, [query.question, passages, query.history]])
    return blake2b(text.encode(), digest_size=_DIGEST).digest()


def _digested(passage: Passage) -> list[Any]:
    meta = passage.meta
    if isinstance(recipe := meta.get("recipe"), Mapping):
        fixed = {name: value for name, value in recipe.items() if name not in _TOKENIZER_DEPENDENT}
        meta = {**meta, "recipe": fixed | {"needles": sorted(recipe.get("needles", ()))}}
    return [passage.title, passage.text, passage.relevant, meta]
