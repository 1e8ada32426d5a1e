"""The benchmark's own comparison tables of two systems, besides the comparison of their samples."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.analysis.fields import fields_of
from ragstone.analysis.selection import matches
from ragstone.api.compare import opened_sides
from ragstone.api.open_run import benchmark_of
from ragstone.display import Table
from ragstone.types import Plan, Record, Run

__all__ = ["benchmark_tables"]


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
    with opened_sides(Path(a), None if b is None else Path(b), system_a, system_b) as (side_a, side_b):
        benchmark = benchmark_of(side_a.run.meta, a)
        if benchmark_of(side_b.run.meta, b or a).name != benchmark.name:
            return []
        sides = [(_FilteredRun(side.run, where or {}), side.system, side.name) for side in (side_a, side_b)]
        return benchmark.compare(*sides, language=language)


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
