"""The benchmark's own tables and charts of two systems side by side, besides the comparison of their samples."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ragstone.analysis.fields import fields_of
from ragstone.analysis.selection import matches
from ragstone.analysis.sides import Side
from ragstone.comparison.difference_tables import labels_of
from ragstone.display import Chart, Table
from ragstone.engine.open_run import benchmark_of
from ragstone.plans import Plan
from ragstone.types import Benchmark, Record, Run


def benchmark_tables(
    sides: tuple[Side, Side], *, where: Mapping[str, str] | None = None, language: str = "en"
) -> list[Table]:
    """The tables in which the benchmark compares two runs (effective lengths of a needle test); [] if it has none.
    `where`: only these cases, as in `compare`. Raises UsageError for a benchmark that is not installed."""
    benchmark, one, other = _benchmark_of(sides, where or {})
    return [] if benchmark is None else benchmark.compare(one, other, language=language)


def benchmark_charts(
    sides: tuple[Side, Side], *, where: Mapping[str, str] | None = None, language: str = "en"
) -> list[Chart]:
    """The charts in which the benchmark compares two runs (the maps of a needle test side by side), as
    `benchmark_tables`."""
    benchmark, one, other = _benchmark_of(sides, where or {})
    return [] if benchmark is None else benchmark.compare_charts(one, other, language=language)


_Side: TypeAlias = "tuple[Run, str, str]"


def _benchmark_of(sides: tuple[Side, Side], where: Mapping[str, str]) -> "tuple[Benchmark | None, _Side, _Side]":
    """The benchmark of both runs, None if they differ, with the sides as it compares them."""
    one, other = (benchmark_of(side.run.meta, side.path or side.name) for side in sides)
    labels = labels_of(*sides)
    first, second = (
        (_FilteredRun(side.run, where), side.system, label) for side, label in zip(sides, labels, strict=True)
    )
    return one if one.name == other.name else None, first, second


@dataclass(frozen=True)
class _FilteredRun:
    """A run restricted to the cases that `where` selects."""

    run: Run
    where: Mapping[str, str]

    @property
    def meta(self) -> Mapping[str, Any]:
        return self.run.meta

    @property
    def systems(self) -> Mapping[str, Mapping[str, Any]]:
        return self.run.systems

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        fields = fields_of(self.run, self.where)
        for record in self.run.records(system=system, cases=cases, texts=texts):
            if matches(fields(record.case), self.where):
                yield record

    def plans(self) -> Mapping[str, Plan]:
        return {}  # the plan of a single condition is not recorded

    def unasked(self, system: str, /) -> Iterator[tuple[str, str]]:
        return iter(())
