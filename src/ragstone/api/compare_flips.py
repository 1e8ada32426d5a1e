"""The flips of a comparison with the records behind them, for its page."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ragstone.analysis.case_index import Outcomes
from ragstone.analysis.case_index_rows import number_of
from ragstone.analysis.fields import fields_of
from ragstone.analysis.flips import Cell, Flips, flips_of
from ragstone.analysis.pairing import Side, pair_of
from ragstone.analysis.selection import matches
from ragstone.api.compare import opened_sides
from ragstone.api.open_run import benchmark_of
from ragstone.errors import UsageError
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


def compared_flips(
    a: str | Path, b: str | Path | None = None, *, system_a: str | None = None, system_b: str | None = None,
    where: Mapping[str, str] | None = None, samples: Collection[str] = (), language: str = "en",
) -> FlippedCases | None:  # fmt: skip
    """The flips of two runs, with the cases of these `samples` and the first of each cell. The rest as in `compare`.
    None if a benchmark is not installed, or no pair has a verdict on both sides."""
    with opened_sides(Path(a), None if b is None else Path(b), system_a, system_b) as sides:
        try:
            benchmarks = benchmark_of(sides[0].run.meta, a), benchmark_of(sides[1].run.meta, b or a)
        except UsageError:
            return None
        first, second = (
            _outcomes(side, benchmark, where or {}, language) for side, benchmark in zip(sides, benchmarks, strict=True)
        )
        flips = flips_of(first[0], second[0])
        if flips.right is None:
            return None
        wanted = list(_wanted(flips, [sample for sample, _ in first[1]], samples))
        of_a = _records(sides[0], {first[1][one][1] for _, one, _ in wanted})
        of_b = _records(sides[1], {second[1][other][1] for _, _, other in wanted})
        cases = tuple((cell, of_a[first[1][one][1]], of_b[second[1][other][1]]) for cell, one, other in wanted)
        return FlippedCases(flips, cases, benchmarks)


def _outcomes(
    side: Side, benchmark: Benchmark, where: Mapping[str, str], language: str
) -> tuple[Outcomes, list[tuple[str, str]]]:
    """How the cases of a side ended, and their sample and case ids."""
    keys, pairs, right = list[tuple[str, str]](), list[float](), list[float]()
    fields = fields_of(side.run, where)
    for record in side.run.records(system=side.system, texts=benchmark.reads_texts):
        if not matches(fields(record.case), where):
            continue
        keys.append((record.case.sample.id, record.case.id))
        pairs.append(number_of(*pair_of(record.case)))
        verdict = benchmark.classify(record, language=language).right if record.response is not None else None
        right.append(np.nan if verdict is None else float(verdict))
    samples = np.asarray([number_of(sample) for sample, _ in keys])
    return Outcomes(np.arange(len(keys)), np.asarray(pairs), samples, np.asarray(right), {}), keys


def _wanted(flips: Flips, samples: list[str], named: Collection[str]) -> Iterator[tuple[Cell, int, int]]:
    """The cases to show, at most `_MOST`: those of the named samples, then the first of each cell."""
    pairs = [(cell, one, other) for cell in _SHOWN for one, other in flips.places[cell].tolist()]
    chosen = [pair for pair in pairs if samples[pair[1]] in named]
    for cell, most in _SHOWN.items():
        chosen += [pair for pair in pairs if pair[0] == cell][:most]
    kept = set(list(dict.fromkeys(chosen))[:_MOST])
    return (pair for pair in pairs if pair in kept)


def _records(side: Side, cases: Collection[str]) -> dict[str, Record]:
    return {record.case.id: record for record in side.run.records(system=side.system, cases=cases)}
