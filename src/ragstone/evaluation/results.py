"""Existing results, of other programs and of runs, combined in one run file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragstone.benchmarks import BENCHMARKS
from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.plugin import ImportedResults, Plugin
from ragstone.engine.execute import Job, Shell, execute
from ragstone.engine.open_run import OpenRun, read_run
from ragstone.engine.public_functions import blocking, public
from ragstone.errors import ModelError, UsageError
from ragstone.metrics import better
from ragstone.structs import to_json
from ragstone.types import Benchmark, Case, Metric, Need, Query, Record, Response, Score, Template

_AT_ONCE = 64


@public
async def import_results_async(
    benchmark: str | Plugin, paths: Sequence[str | Path], run: str | Path, *, shell: Shell | None = None
) -> OpenRun:
    """Reads results of other programs, and runs of this benchmark, into one run file with each model a system, to be
    tabulated, drawn and compared like any run. An existing file is extended. No model is called.

    Raises DataError naming file and field, and RunMismatch if the file has different results of the same name."""
    target, plugin = Path(run), BENCHMARKS.get(benchmark)
    imported = _imported(plugin, [Path(path) for path in paths], target)
    question = {"benchmark": plugin.name, "results": "read from files"}
    reader = plugin.from_meta({"question": question})
    for results in imported:
        await execute(_job(reader, results, target), shell or Shell())
    return read_run(target)


import_results = blocking(import_results_async, name="import_results")


def _imported(plugin: Plugin, paths: Sequence[Path], target: Path) -> Sequence[ImportedResults]:
    read = plugin.import_results
    if read is None:
        raise UsageError(f"{plugin.name} cannot import results.")
    imported = read(paths)
    names = [results.system for results in imported]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{twice[0]} occurs twice: pass each set of results once.")
    if target.resolve() in [path.resolve() for path in paths]:
        raise UsageError(f"{target} is both read and written: name another file with --run.")
    return imported


def _job(reader: Benchmark, results: ImportedResults, target: Path) -> Job:
    metrics: list[Metric] = [
        _RecordedMetric(
            name, version, better(name),
            {record.case.id: record.scores[name] for record in results.records if name in record.scores},
        )
        for name, version in sorted(results.versions.items())
    ]  # fmt: skip
    cases = _ImportedCases(
        reader.name, reader.version, reader.license, reader.citation, reader.template, results.records
    )  # fmt: skip
    return Job(cases, [_Replay.of(results)], target, _AT_ONCE, metrics)


@dataclass(frozen=True)
class _ImportedCases(BaseBenchmark):
    """The cases of one system's results, as a benchmark."""

    name: str
    version: int
    license: str
    citation: str
    template: Template
    records: tuple[Record, ...] = field(repr=False)
    metrics: tuple[Metric, ...] = ()

    @property
    def question(self) -> Mapping[str, Any]:
        return {"benchmark": self.name, "version": self.version, "results": "read from files"}

    @property
    def size(self) -> int:
        return len(self.records)

    def cases(self) -> Iterator[Case]:
        yield from (record.case for record in self.records)


@dataclass(frozen=True)
class _Replay:
    """A system that returns the recorded answers; each query belongs to one record."""

    id: str
    spec: Mapping[str, Any]
    by_query: Mapping[str, Record] = field(repr=False)

    @classmethod
    def of(cls, results: ImportedResults) -> "_Replay":
        by_query = {to_json(record.case.query): record for record in results.records}
        return cls(results.system, results.spec, by_query)

    async def answer(self, query: Query, /) -> Response:
        record = self.by_query[to_json(query)]
        if record.response is None:
            raise _RecordedFailure(record.error or "")
        return record.response


class _RecordedFailure(ModelError):
    """The failure of a record."""

    def __init__(self, text: str) -> None:
        kind, colon, message = text.partition(": ")
        self.kind = kind if colon else "failed"
        super().__init__(message if colon else text)


@dataclass(frozen=True)
class _RecordedMetric:
    """A metric whose scores were read with the records."""

    name: str
    version: int
    better: str
    scores: Mapping[str, Score] = field(repr=False)
    needs: frozenset[Need] = frozenset()

    def score(self, case: Case, response: Response, /) -> Score:
        return self.scores.get(case.id) or Score.not_applicable("it was not scored")
