"""Needle results that exist already, of others and our own, side by side in one run file."""

import importlib.metadata
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragstone.api.blocking import blocking
from ragstone.api.reading import OpenRun, read_run
from ragstone.benchmarks.niah.benchmark import NIAH
from ragstone.benchmarks.niah.others import Taken, name_of, taken_from_results, taken_from_run
from ragstone.benchmarks.niah.rescore import Results, read_results
from ragstone.errors import ModelError, UsageError
from ragstone.runs import RunFile, open_run, run_cases
from ragstone.types import JSON, Case, Need, Query, Record, Response, Score, to_json

__all__ = ["is_run", "keep_niah", "keep_niah_async", "read_niah"]

_SQLITE = b"SQLite format 3\0"


def is_run(path: Path) -> bool:
    """Whether a path is a run file of ours, by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def read_niah(paths: Sequence[Path]) -> tuple[list[Results], list[Taken]]:
    """What these files and folders hold: others' results, and the systems of our run files. Raises RagstoneErrors."""
    runs, others = [path for path in paths if is_run(path)], [path for path in paths if not is_run(path)]
    results = read_results(others) if others else []
    systems = [name for path in runs for name in _systems(path)] + [name_of(one) for one in results]
    twice = {name for name in systems if systems.count(name) > 1}
    taken = []
    for path in runs:
        with open_run(path) as run:
            taken += taken_from_run(run, path.name, names=twice)
    return results, taken


def _systems(path: Path) -> list[str]:
    with open_run(path) as run:
        return list(run.systems)


async def keep_niah_async(paths: Sequence[str | Path], run: str | Path, *, command: str = "") -> OpenRun:
    """Reads others' results and our own runs of niah and keeps them in one run file, each model a system of it, to be
    tabulated, drawn and compared like any run; a file that is there already is extended. Asks nothing of anybody.

    Raises DataError naming file and field, DifferentQuestion where the file has other results of that name."""
    target = Path(run)
    results, taken = read_niah([Path(path) for path in paths])
    taken = [*map(taken_from_results, results), *taken]
    names = [one.system for one in taken]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{twice[0]} is there twice; name each set of results once.")
    if target.resolve() in [Path(path).resolve() for path in paths]:  # noqa: ASYNC240  (a look at a name)
        raise UsageError(f"{target} is read and cannot be written at once: name another file with --run.")
    info: dict[str, JSON] = {
        "options": {}, "license": NIAH.license, "citation": NIAH.citation, "command": command,
        "versions": {"ragstone": importlib.metadata.version("ragstone"), "python": platform.python_version()},
        "metrics": {name: version for one in taken for name, version in one.versions.items()},
    }  # fmt: skip
    question: dict[str, JSON] = {"benchmark": NIAH.name, "version": NIAH.version, "results": "read from files"}
    specs = {one.system: one.spec for one in taken}
    with RunFile.create_or_open(target, question=question, info=info, systems=specs) as file:
        for one in taken:
            held = _Held.of(one)
            metrics = [
                _Kept(
                    name,
                    version,
                    {record.case.id: record.scores[name] for record in one.records if name in record.scores},
                )
                for name, version in sorted(one.versions.items())
            ]
            await run_cases(file, held.cases, systems=[held], metrics=metrics, concurrency=64)
    return read_run(target)


keep_niah = blocking(keep_niah_async, name="keep_niah")


@dataclass(frozen=True)
class _Held:
    """A system that answers what was read: each query is that of one record."""

    id: str
    spec: Mapping[str, Any]
    records: tuple[Record, ...] = field(repr=False)
    by_query: Mapping[str, Record] = field(repr=False)

    @classmethod
    def of(cls, taken: Taken) -> "_Held":
        return cls(
            taken.system, taken.spec, taken.records, {to_json(one.case.query): one for one in taken.records}
        )  # fmt: skip

    def cases(self) -> Iterator[Case]:
        yield from (record.case for record in self.records)

    async def answer(self, query: Query, /) -> Response:
        record = self.by_query[to_json(query)]
        if record.response is None:
            raise _Failed(record.error or "")
        return record.response


class _Failed(ModelError):
    """The failure that a record tells of, told again."""

    def __init__(self, told: str) -> None:
        kind, colon, message = told.partition(": ")
        self.kind = kind if colon else "failed"
        super().__init__(message if colon else told)


@dataclass(frozen=True)
class _Kept:
    """A metric whose scores were read with the records."""

    name: str
    version: int
    scores: Mapping[str, Score] = field(repr=False)
    needs: frozenset[Need] = frozenset()

    def score(self, case: Case, response: Response, /) -> Score:
        return self.scores.get(case.id) or Score.not_applicable("it was not scored")
