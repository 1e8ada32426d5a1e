"""The benchmark's own tables and charts of two systems side by side, besides the comparison of their samples."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from ragstone.analysis.fields import fields_of
from ragstone.analysis.selection import matches
from ragstone.api.compare import opened_sides
from ragstone.api.open_run import benchmark_of
from ragstone.display import Chart, Table
from ragstone.types import Benchmark, Plan, Record, Run


def benchmark_tables(
    a: str | Path,
    b: str | Path | None = None,
    *,
    system_a: str | None = None,
    system_b: str | None = None,
    where: Mapping[str, str] | None = None,
    language: str = "en",
) -> list[Table]:
    """The tables in which the benchmark compares two runs (effective lengths of a needle test); [] if it has none.
    `where`: only these cases, as in `compare`. Raises the errors of `compare`."""
    with _benchmark_of(a, b, system_a, system_b, where or {}) as (benchmark, *sides):
        return [] if benchmark is None else benchmark.compare(*sides, language=language)


def benchmark_charts(
    a: str | Path,
    b: str | Path | None = None,
    *,
    system_a: str | None = None,
    system_b: str | None = None,
    where: Mapping[str, str] | None = None,
    language: str = "en",
) -> list[Chart]:
    """The charts in which the benchmark compares two runs (the maps of a needle test side by side), as
    `benchmark_tables`."""
    with _benchmark_of(a, b, system_a, system_b, where or {}) as (benchmark, *sides):
        return [] if benchmark is None else benchmark.compare_charts(*sides, language=language)


_Side: TypeAlias = "tuple[Run, str, str]"


@contextmanager
def _benchmark_of(
    a: str | Path, b: str | Path | None, system_a: str | None, system_b: str | None, where: Mapping[str, str]
) -> "Iterator[tuple[Benchmark | None, _Side, _Side]]":
    """The benchmark of both runs, None if they differ, with the sides as it compares them."""
    with opened_sides(Path(a), None if b is None else Path(b), system_a, system_b) as (side_a, side_b):
        benchmark = benchmark_of(side_a.run.meta, a)
        same = benchmark_of(side_b.run.meta, b or a).name == benchmark.name
        first, second = ((_FilteredRun(side.run, where), side.system, side.name) for side in (side_a, side_b))
        yield benchmark if same else None, first, second


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

    def unasked(self, system: str, /) -> Iterator[str]:
        return iter(())
