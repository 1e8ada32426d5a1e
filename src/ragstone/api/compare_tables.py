"""What a benchmark says of two systems by itself, beside the comparison of their samples."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.api.compare import opened_sides
from ragstone.api.open_run import benchmark_of
from ragstone.types import Plan, Record, Run, Table

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
    """Tables that the benchmark of two runs makes of them (effective lengths of a needle test); [] where it makes none.
    `where`: only cases of this condition. Raises as `compare` does."""
    with opened_sides(Path(a), None if b is None else Path(b), system_a, system_b) as (one, other):
        benchmark = benchmark_of(one.run.meta, a)
        if benchmark_of(other.run.meta, b or a).name != benchmark.name:
            return []
        sides = [(_Chosen(side.run, where or {}), side.system, side.name) for side in (one, other)]
        return benchmark.compare(*sides, language=language)


@dataclass(frozen=True)
class _Chosen:
    """A run, of which only cases of a condition are looked at."""

    run: Run
    where: Mapping[str, str]

    @property
    def meta(self) -> Mapping[str, Any]:
        return self.run.meta

    @property
    def systems(self) -> Mapping[str, Mapping[str, Any]]:
        return self.run.systems

    def records(self, *, system: str | None = None) -> Iterator[Record]:
        for record in self.run.records(system=system):
            if all(str(record.case.condition.get(name)) == value for name, value in self.where.items()):
                yield record

    def plans(self) -> Mapping[str, Plan]:
        return {}  # of what was to be asked under a condition alone, nobody says

    def unasked(self, system: str, /) -> Iterator[str]:
        return iter(())
