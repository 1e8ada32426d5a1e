"""Pairs in columns are those that dicts of them would give, in a few bytes each."""

import math
import tracemalloc
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.benchmarks.recorded.memory_run import MemoryRun, record

from ragstone.analysis.pair_columns import PairName, SidePairs, SideScores, paired
from ragstone.comparison.compare_figures import Side, compare_runs
from ragstone.stats import Samples
from ragstone.types import Record, Score

KINDS: dict[str, dict[str, Score]] = {
    "none": {}, "failed": {"m": Score.failed("x")}, "applies": {"m": Score.not_applicable("y"), "n": Score.of(1.0)},
    "0": {"m": Score.of(0.0)}, "1": {"m": Score.of(1.0)},
}  # fmt: skip
Row: TypeAlias = tuple[str, str, str, str]
SAMPLES = st.sampled_from(["a", "b", "字", "b\ud800", "", "a longer one" * 5])
ROWS: st.SearchStrategy[list[Row]] = st.lists(
    st.tuples(SAMPLES, st.sampled_from(["", "k=1", "k=2"]), st.sampled_from("xy"), st.sampled_from([*KINDS])),
    min_size=1,
)


def columns(rows: list[Row]) -> SidePairs:
    scores = SideScores()
    scores.add("first", b"z" * 16, PairName("", "", ()), KINDS["1"])
    for sample, text, digest, kind in rows:
        scores.add(sample, digest.encode() * 16, PairName(text, "", ()), KINDS[kind])
    return SidePairs(scores)


def dicts(rows: list[Row]) -> dict[tuple[str, str], tuple[str, list[str]]]:
    """The digest of each pair, and the kinds of its scores."""
    found: dict[tuple[str, str], tuple[str, list[str]]] = {("first", ""): ("z", ["1"])}
    for sample, text, digest, kind in rows:
        pair, number = (sample, text), 2
        while pair in found and found[pair][0] != digest:
            pair, number = (sample, f"{text} #{number}"), number + 1
        found.setdefault(pair, (digest, []))[1].append(kind)
    return found


Pairs = dict[tuple[str, str], tuple[str, list[str]]]


def belonging(a: Pairs, b: Pairs) -> tuple[list[tuple[tuple[str, str], tuple[str, str]]], list[tuple[str, str]]]:
    """The pairs of one input and condition: first those of one id, then in their order; and the ids that changed."""
    same = {pair: pair for pair in a if pair in b and a[pair][0] == b[pair][0]}
    left = [pair for pair in b if pair not in same]
    for pair in a:
        key = (a[pair][0], pair[1].partition(" #")[0])
        if pair not in same and (
            found := next((at for at in left if (b[at][0], at[1].partition(" #")[0]) == key), None)
        ):
            same[pair] = found
            left.remove(found)
    return sorted(same.items()), sorted(pair for pair in a if pair not in same and pair in left)


@given(ROWS, ROWS)
def test_pairs_in_columns_are_those_of_dicts(one: list[Row], two: list[Row]) -> None:
    sides, expected = (columns(one), columns(two)), (dicts(one), dicts(two))
    found = paired(*sides)
    same, changed = belonging(*expected)
    assert [found.common.named(place)[0] for place in range(len(found.common))] == [one[0] for one, _ in same]
    assert (len(found.changed), len(found.only_a), len(found.only_b)) == (
        len(changed), *(len(pairs) - len(same) - len(changed) for pairs in expected),
    )  # fmt: skip
    if changed:
        assert sides[0].sample(found.changed[0]) == changed[0][0]
    for number, (side, at) in enumerate(zip(sides, (found.common.at_a, found.common.at_b), strict=True)):
        by_pair = expected[number]
        values, failed = side.scores("m", at)
        for pairs, value, missing in zip(same, values.tolist(), failed.tolist(), strict=True):
            kinds = by_pair[pairs[number]][1]
            known = [float(kind) for kind in kinds if kind in "01"]
            assert value == sum(known) / len(known) if known else math.isnan(value)
            assert missing == ((not known and "failed" in kinds) or {*kinds} == {"none"})


@given(st.lists(st.text(max_size=60)))
def test_samples_are_ordered_as_their_ids_are(ids: list[str]) -> None:
    samples = Samples()
    places = [samples.add(sample) for sample in ids if not sample.endswith("\0")]
    order = samples.order(np.array(places, dtype=np.int64))
    assert [samples[places[at]] for at in order.tolist()] == sorted(samples[place] for place in places)


class Many(MemoryRun):
    """Answers made as they are read."""

    def __init__(self, count: int) -> None:
        super().__init__([record("q", {})], question={"benchmark": "eval"})
        self.count = count

    def records(self, **_: Any) -> Iterator[Record]:
        for number in range(self.count):
            yield record(f"q{number}", {"m": 1.0, "n": 0.5, "o": number / self.count})


@pytest.mark.parametrize(("small", "large"), [(200, 2_200)])
def test_a_pair_takes_a_fifth_of_a_kilobyte(small: int, large: int) -> None:
    peaks = []
    for count in (small, small, large):  # the first warms the caches
        tracemalloc.start()
        found = compare_runs(Side(Many(count), "s", "a"), Side(Many(count), "s", "b"))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert found.pairs == count
    assert (peaks[2] - peaks[1]) / (large - small) < 205
