"""The flips of a comparison with the records behind them, for its page."""

import math
from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ragstone.analysis.case_index import Outcomes
from ragstone.analysis.case_index_rows import number_of
from ragstone.analysis.flips import Cell, Flips, flips_of
from ragstone.analysis.sides import RIGHT, Side, pair_of
from ragstone.comparison.compare_figures import Comparison, gain_of_row
from ragstone.engine.open_run import benchmark_of
from ragstone.errors import UsageError
from ragstone.stats import Array, Samples
from ragstone.types import Benchmark, Record

_SHOWN: Mapping[Cell, int] = {"lost": 20, "won": 20, "both_wrong": 10, "both_right": 5}
_MOST = 80


@dataclass(frozen=True)
class FlippedCases:
    """The flips of two sides, and the cases that are shown: the cell, and the records of A and B. `benchmarks`: of both
    runs, to explain them."""

    flips: Flips
    cases: tuple[tuple[Cell, Record, Record], ...]
    benchmarks: tuple[Benchmark, Benchmark]


class FlipReader:
    """The flips of two sides, from the records that their comparison reads."""

    def __init__(self, sides: tuple[Side, Side], benchmarks: tuple[Benchmark, Benchmark], language: str) -> None:
        self._sides, self._benchmarks = sides, benchmarks
        self.texts = any(benchmark.reads_texts for benchmark in benchmarks)
        self.readers = _Outcomes(benchmarks[0], language), _Outcomes(benchmarks[1], language)

    def flips(self, comparison: Comparison) -> Flips | None:
        """The flips, once both sides are read, decided as in their comparison. None if no pair has a verdict on
        both."""
        found = self._found
        if found.right is None:
            return None
        row = next((row for row in comparison.rows if RIGHT in (row.metric, *row.aliases) and not row.group), None)
        return found if row is None else replace(found, right=gain_of_row(row))

    @cached_property
    def _found(self) -> Flips:
        return flips_of(*(reader.outcomes for reader in self.readers))

    def flipped(self, comparison: Comparison) -> FlippedCases | None:
        """The flips, with the cases that the comparison names and the first of each cell. None without flips."""
        if (flips := self.flips(comparison)) is None:
            return None
        named = {flip.sample for row in comparison.rows for flip in (*row.lost, *row.gained)}
        wanted = [
            (cell, self.readers[0].case(one), self.readers[1].case(other))
            for cell, one, other in _wanted(flips, self.readers[0].outcomes.samples, named)
        ]
        of_a = _records(self._sides[0], {one for _, one, _ in wanted})
        of_b = _records(self._sides[1], {other for _, _, other in wanted})
        return FlippedCases(flips, tuple((cell, of_a[one], of_b[other]) for cell, one, other in wanted),
                            self._benchmarks)  # fmt: skip


def flip_reader(sides: tuple[Side, Side], *, language: str = "en") -> FlipReader | None:
    """A reader of the flips of two sides; None if a benchmark is not installed."""
    try:
        one, other = (benchmark_of(side.run.meta, side.path or side.name) for side in sides)
    except UsageError:
        return None
    return FlipReader(sides, (one, other), language)


class _Outcomes:
    """How the cases of a side ended, in a few bytes each."""

    def __init__(self, benchmark: Benchmark, language: str) -> None:
        self._benchmark, self._language = benchmark, language
        self._cases = Samples()  # the ids of cases are kept as those of samples are
        self._pairs, self._inputs, self._samples, self._right = array("d"), array("d"), array("d"), array("d")

    def __call__(self, record: Record, /) -> float | None:
        self._cases.add(record.case.id)
        by_id, by_input = pair_of(record.case)
        self._pairs.append(number_of(*by_id))
        self._inputs.append(number_of(*by_input))
        self._samples.append(number_of(record.case.sample.id))
        verdict = None
        if record.response is not None:
            verdict = self._benchmark.classify(record, language=self._language).right
        self._right.append(math.nan if verdict is None else float(verdict))
        return None if verdict is None else float(verdict)

    @property
    def outcomes(self) -> Outcomes:
        """The same, to be compared."""
        columns = (self._pairs, self._inputs, self._samples, self._right)
        pairs, inputs, samples, right = map(np.frombuffer, columns)
        return Outcomes(np.arange(len(right)), pairs, inputs, samples, right, {})

    def case(self, place: int) -> str:
        """The id of the case at this place."""
        return self._cases[place]


def _wanted(flips: Flips, samples: Array, named: Collection[str]) -> Iterator[tuple[Cell, int, int]]:
    """The cases to show, at most `_MOST`: those of the named samples, then the first of each cell."""
    numbers = [number_of(sample) for sample in named]
    chosen: list[tuple[Cell, int]] = []
    for cell in _SHOWN:
        found = np.flatnonzero(np.isin(samples[flips.places[cell][:, 0]], numbers))
        chosen += [(cell, rank) for rank in found[:_MOST].tolist()]
    for cell, most in _SHOWN.items():
        chosen += [(cell, rank) for rank in range(min(most, len(flips.places[cell])))]
    kept = [*dict.fromkeys(chosen)][:_MOST]
    for cell in _SHOWN:
        for rank in sorted(rank for of, rank in kept if of == cell):
            one, other = flips.places[cell][rank].tolist()
            yield cell, one, other


def _records(side: Side, cases: Collection[str]) -> dict[str, Record]:
    return {record.case.id: record for record in side.run.records(system=side.system, cases=cases)}
