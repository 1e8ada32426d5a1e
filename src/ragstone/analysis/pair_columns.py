"""The scores of one side of a comparison in columns, so that a million pairs take a few dozen bytes each."""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ragstone.stats import Array, Indices, Samples, all_differ
from ragstone.types import Score

Mask: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"
Numbers: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_FAILED = math.inf  # in a column of scores, which are finite; also of one that a rule cannot tell. NaN: there is none
_ODD = np.int64(0x1E3779B97F4A7C15)  # spreads the digests over the numbers


class PairName(NamedTuple):
    """What identifies a pair besides its sample: its condition as `text`; with its group, and the condition itself."""

    text: str
    group: str
    condition: tuple[tuple[str, str], ...]


@dataclass
class SideScores:
    """The scores of one side: a row for each record, in their order. `sample`: the place of its id in `samples`;
    `digest` of its input; `name`: its number in `names`; `scored`: 1 if it has any score. A column of `metrics` ends
    with its last value. `judged`: the metrics that used a judge; `judges`: its models as named by its endpoint."""

    samples: Samples = field(default_factory=Samples)
    sample: "array[int]" = field(default_factory=lambda: array("i"))
    digest: "array[int]" = field(default_factory=lambda: array("q"))
    name: "array[int]" = field(default_factory=lambda: array("i"))
    names: dict[PairName, int] = field(default_factory=dict)
    scored: bytearray = field(default_factory=bytearray)
    metrics: dict[str, "array[float]"] = field(default_factory=dict)
    judged: set[str] = field(default_factory=set)
    judges: tuple[str, ...] = ()

    def add(self, sample: str, digest: bytes, name: PairName, scores: Mapping[str, Score]) -> None:
        """The next record."""
        row = len(self.sample)
        self.sample.append(self.samples.add(sample))
        self.digest.append(int.from_bytes(digest[:8], "big", signed=True))
        self.name.append(self.names.setdefault(name, len(self.names)))
        self.scored.append(bool(scores))
        for metric, score in scores.items():
            if (column := self.metrics.get(metric)) is None:
                column = self.metrics[metric] = array("d")
            _reach(column, row)
            column.append(_FAILED if score.status in ("failed", "unsure") and score.value is None else
                          math.nan if score.value is None else score.value)  # fmt: skip


def _reach(column: "array[float]", size: int) -> None:
    if (missing := size - len(column)) > 0:
        column.extend(array("d", [math.nan]) * missing)


class SidePairs:
    """The pairs of a side: its rows, those of one question under one condition together. Rows that have the id of an
    earlier one, but another question, references or passages, are other pairs, numbered in their order."""

    def __init__(self, side: SideScores) -> None:
        self.side, self.names = side, [*side.names]
        self.name: Numbers = np.frombuffer(side.name, dtype=np.int32)
        self.digest: Indices = np.frombuffer(side.digest, dtype=np.int64)
        self.rows: Indices | None = None  # the first row of each pair; None where each row is a pair
        self._pair_of_row: Indices | None = None
        self.given = self.name  # names as they were before rows of one id were numbered
        self.keys = self._keys(self._places())
        if not all_differ(self.keys):
            self._group()

    def __len__(self) -> int:
        return len(self.name)

    def _places(self) -> Numbers:
        places: Numbers = np.frombuffer(self.side.sample, dtype=np.int32)
        return places if self.rows is None else places[self.rows]

    def _keys(self, places: Numbers) -> Indices:
        """A number for each pair, equal for pairs of one sample and text."""
        return np.bitwise_xor(self.side.samples.groups(places), self._texts()[self.name])

    def _texts(self) -> Indices:
        return np.array([hash(name.text) for name in self.names], dtype=np.int64)

    @property
    def pair_keys(self) -> "PairKeys":
        """What pairs are found by."""
        return PairKeys(self.keys, np.bitwise_xor(self.digest * _ODD, self._texts()[self.given]), self.rows)

    def _group(self) -> None:
        """Puts the rows of a pair together."""
        _, rows, self._pair_of_row = np.unique(self.keys + self.digest * _ODD, return_index=True, return_inverse=True)
        keys = self.keys[rows]
        order = np.lexsort((rows, keys))
        starts = np.flatnonzero(np.append(True, np.diff(keys[order]) != 0))
        numbers = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        self.rows, self.name, self.digest = rows, self.name[rows], self.digest[rows]
        self.given = self.name.copy()
        known = dict(self.side.names)
        for pair, number in zip(order[numbers > 0].tolist(), numbers[numbers > 0].tolist(), strict=True):
            name = self.names[self.name[pair]]
            name = name._replace(text=f"{name.text} #{number + 1}")
            self.name[pair] = known.setdefault(name, len(known))
        self.names = [*known]
        self.keys = self._keys(self._places())

    def forget(self, *, samples: bool) -> None:
        """Frees the memory of what is needed only to find pairs; with `samples` of their ids, too."""
        self.keys = self.digest = np.empty(0, dtype=np.int64)
        self.given = self.name
        self.side.digest = array("q")
        if samples:
            self.side.samples, self.side.sample = Samples(), array("i")

    def sample(self, pair: int) -> str:
        """The id of the sample of a pair."""
        return self.side.samples[int(self._places()[pair])]

    def first_sample(self, pairs: Iterable[int]) -> str:
        """The first of the ids of the samples of these pairs, in their order."""
        return min(map(self.sample, pairs))

    def units(self, pairs: Indices) -> Indices | None:
        """A number for each of these pairs, equal for pairs of one sample; None where each has a sample of its own."""
        numbers = self.side.samples.groups(self._places()[pairs])
        return None if all_differ(numbers) else numbers

    def order(self, pairs: Indices) -> Indices:
        """The order of these pairs by the ids of their samples, then by their texts."""
        rank = {text: number for number, text in enumerate(sorted({name.text for name in self.names}))}
        if len(rank) == 1:
            return self.side.samples.order(self._places()[pairs])
        ranks = np.array([rank[name.text] for name in self.names], dtype=np.int64)[self.name[pairs]]
        first = np.argsort(ranks, kind="stable")
        return first[self.side.samples.order(self._places()[pairs[first]])]

    def groups(self, pairs: Indices) -> list[tuple[str, Indices]]:
        """The names of the groups of these pairs, sorted, each with the places of its own among them."""
        number = {group: at for at, group in enumerate(sorted({name.group for name in self.names}))}
        if len(number) == 1:
            return [(group, np.arange(len(pairs))) for group in number]
        numbers = np.array([number[name.group] for name in self.names], dtype=np.int64)[self.name[pairs]]
        found = ((group, np.flatnonzero(numbers == at)) for group, at in number.items())
        return [(group, places) for group, places in found if len(places)]

    def varying(self, pairs: Indices) -> dict[int, str]:
        """The parts of the conditions of these pairs that differ among them, as text, by the number of the name."""
        conditions = {at: dict(self.names[at].condition) for at in np.unique(self.name[pairs]).tolist()}
        parts = {part for condition in conditions.values() for part in condition}
        varying = sorted(part for part in parts if len({condition.get(part) for condition in conditions.values()}) > 1)
        return {
            number: ", ".join(f"{part}={condition[part]}" for part in varying if part in condition)
            for number, condition in conditions.items()
        }

    def scores(self, metric: str, pairs: Indices) -> tuple[Array, Mask]:
        """The scores of these pairs, the mean of the judgements of the same answer (`--repeat`), NaN where there is
        none, and where it failed. A pair without any score counts as failed in every metric."""
        column = self.side.metrics[metric]
        _reach(column, len(self.side.scored))
        values = np.frombuffer(column)
        if self._pair_of_row is None:
            values = values[pairs]
            failed = np.isinf(values)
            values[failed] = np.nan
            return values, failed | ~self._scored[pairs]
        known, size = np.isfinite(values), len(self)
        counts = np.bincount(self._pair_of_row[known], minlength=size)
        sums = np.bincount(self._pair_of_row[known], values[known], size)
        failed = np.bincount(self._pair_of_row[np.isinf(values)], minlength=size) > 0
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return means[pairs], ((failed & (counts == 0)) | ~self._scored)[pairs]

    @cached_property
    def _scored(self) -> Mask:
        """Whether a pair has any score."""
        scored = np.frombuffer(self.side.scored, dtype=np.bool_)
        if self._pair_of_row is None:
            return scored
        return np.bincount(self._pair_of_row[scored], minlength=len(self)) > 0


class Pairs:
    """Pairs of both sides, by their places on each."""

    def __init__(self, a: SidePairs, b: SidePairs, at_a: Indices, at_b: Indices) -> None:
        self.a, self.b, self.at_a, self.at_b = a, b, at_a, at_b

    def __len__(self) -> int:
        return len(self.at_a)

    def of(self, chosen: "Indices | Mask") -> "Pairs":
        """Some of the pairs."""
        at_a = self.at_a[chosen]
        return Pairs(self.a, self.b, at_a, at_a if self.at_a is self.at_b else self.at_b[chosen])

    def groups(self) -> "Iterator[tuple[str, Pairs]]":
        """The groups by name, each with its pairs."""
        for group, chosen in self.a.groups(self.at_a):
            yield group, self if len(chosen) == len(self) else self.of(chosen)

    @cached_property
    def units(self) -> Indices | None:
        """A number for each pair, equal for pairs of one sample; None where each has a sample of its own."""
        return self.a.units(self.at_a)

    @cached_property
    def _varying(self) -> Mapping[int, str]:
        return self.a.varying(self.at_a)

    def named(self, place: int) -> tuple[str, str]:
        """The sample of a pair, and the parts of its condition that vary among the pairs."""
        at = int(self.at_a[place])
        return self.a.sample(at), self._varying[int(self.a.name[at])]


@dataclass(frozen=True)
class Pairing:
    """The pairs that both sides have, in the order of their names: those with the same input, and the places on A of
    those whose input is `changed`. The places of the pairs that only one side has."""

    common: Pairs
    changed: Indices
    only_a: Indices
    only_b: Indices


class PairKeys(NamedTuple):
    """Numbers of the pairs of a side: of the id with the condition, no two alike, and of the input with the condition.
    `rows`: the first row of each; None where they are in the order of their rows."""

    ids: Indices
    inputs: Indices
    rows: Indices | None = None

    @property
    def both(self) -> Indices:
        return self.ids + self.inputs * _ODD


class Matched(NamedTuple):
    """The places on both sides of pairs of one input, those on A of ids that have another input on B, and the places of
    what only one side has."""

    at_a: Indices
    at_b: Indices
    changed: Indices
    only_a: Indices
    only_b: Indices


def matched(a: PairKeys, b: PairKeys) -> Matched:
    """Finds the pairs of two sides that belong together: those of one input under one condition, whatever their ids.
    Where a side has an input several times, those with the same id belong together first, then in their order."""
    if np.array_equal(a.ids, b.ids) and np.array_equal(a.inputs, b.inputs):  # runs of the same data
        at = np.arange(len(a.ids))
        return Matched(at, at, *[at[:0]] * 3)
    _, at_a, at_b = np.intersect1d(a.both, b.both, assume_unique=True, return_indices=True)
    left_a, left_b = _others(a, at_a), _others(b, at_b)
    _, more_a, more_b = np.intersect1d(
        _numbered(a.inputs[left_a]), _numbered(b.inputs[left_b]), assume_unique=True, return_indices=True
    )
    at_a, at_b = np.append(at_a, left_a[more_a]), np.append(at_b, left_b[more_b])
    left_a, left_b = _others(a, at_a), _others(b, at_b)
    _, changed, also = np.intersect1d(a.ids[left_a], b.ids[left_b], assume_unique=True, return_indices=True)
    return Matched(at_a, at_b, left_a[changed], np.delete(left_a, changed), np.delete(left_b, also))


def _others(keys: PairKeys, places: Indices) -> Indices:
    """The other places, in the order of their rows."""
    others = np.setdiff1d(np.arange(len(keys.ids)), places, assume_unique=True)
    return others if keys.rows is None else others[np.argsort(keys.rows[others])]


def _numbered(inputs: Indices) -> Indices:
    """The inputs, those that are equal made different by their number."""
    order = np.argsort(inputs, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(inputs[order]) != 0))[: len(inputs)]
    numbers = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    result = inputs.copy()
    result[order] += numbers
    return result


def paired(a: SidePairs, b: SidePairs) -> Pairing:
    """Finds the pairs of two sides that belong together."""
    found = matched(a.pair_keys, b.pair_keys)
    order = a.order(found.at_a)
    at_a = found.at_a[order]
    at_b = at_a if found.at_b is found.at_a else found.at_b[order]  # one array, whose memory counts
    changed = found.changed[a.order(found.changed)]
    return Pairing(Pairs(a, b, at_a, at_b), changed, found.only_a, found.only_b)
