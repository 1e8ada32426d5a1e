"""What a data file contains, and for which metrics that is enough: `ragstone data check`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragstone.benchmarks import BENCHMARKS
from ragstone.benchmarks.plugin import CheckedData, DataReport
from ragstone.datasets.rgb_check import DataProblem
from ragstone.datasets.tabular import BadData, EvalData, Item, read_eval_data, retrieval_only, retrieval_only_note
from ragstone.errors import DataError, RagstoneError
from ragstone.metrics import METRICS
from ragstone.metrics.catalogue import catalogue
from ragstone.structs import Frozen
from ragstone.types import NO_ANSWER

_NAMED = 5  # rows that a line names
_NEEDS = {"answer": "answer", "references": "reference", "passages": "contexts", "labels": "labels"}


class Availability(Frozen, frozen=True):
    """One kind of data that metrics need: `ready` rows have it, `lacking` names the first that do not."""

    name: str
    ready: int
    lacking: tuple[str, ...] = ()


class Readiness(Frozen, frozen=True):
    """Metrics with the same needs; `ready` rows have all of them, `lacking` names the first that do not."""

    needs: tuple[str, ...]
    metrics: tuple[str, ...]
    ready: int
    lacking: tuple[str, ...] = ()


class CheckedAnswers(Frozen, frozen=True):
    """The user's data as they were read. `mapping`: our field → their column; `columns`: those that rows can be grouped
    by; `languages`: number of rows in each."""

    path: str
    schema: str
    mapping: dict[str, str]
    columns: tuple[str, ...]
    rows: int
    languages: dict[str, int]
    warnings: tuple[str, ...]
    has: tuple[Availability, ...]
    metrics: tuple[Readiness, ...]


def check_data(
    paths: Iterable[str | Path], **reading: Any
) -> tuple[list[CheckedAnswers | CheckedData], list[DataProblem]]:
    """What these files and folders contain, as answers to score or data of a benchmark, and all problems. `reading`:
    see `read_eval_data`."""
    checked: list[CheckedAnswers | CheckedData] = []
    problems: list[DataProblem] = []
    for path in map(Path, paths):
        try:
            if (report := _of_benchmark(path)) is not None:
                checked.extend(report.checked)
                problems.extend(report.problems)
                continue
            checked.append(check_eval_data(read_eval_data(path, **reading), str(path)))
        except BadData as error:
            problems.extend(_problem(str(path), row.where, row.field, row.problem) for row in error.problems)
        except DataError as error:
            # Names the file inside a folder, and leaves out what `DataProblem` repeats.
            here = DataProblem(error.path, error.line, error.field, "")
            message = str(error).removeprefix(str(here).removeprefix("error: "))
            problems.append(msgspec.structs.replace(here, problem=message))
        except RagstoneError as error:
            problems.append(DataProblem(str(path), 0, "", str(error).removeprefix(f"{str(path)!r}: ")))
        except OSError as error:  # a name that is too long, a folder that may not be looked into
            problems.append(DataProblem(str(path), 0, "", f"cannot be read ({error.strerror or error})."))
    return checked, problems


def _of_benchmark(path: Path) -> DataReport | None:
    """The report of the benchmark whose format these data have."""
    reports = (plugin.check_data(path) for _, plugin in BENCHMARKS)
    return next((report for report in reports if report is not None), None)


def check_eval_data(data: EvalData, path: str = "") -> CheckedAnswers:
    """What these data contain, and for which metrics that is enough."""
    has = [_has(item) for item in data.items]
    return CheckedAnswers(
        path or data.name,
        data.schema,
        data.mapping,
        tuple(dict.fromkeys(column for item in data.items for column in item.extra)),
        len(data.items),
        dict(sorted(Counter(item.sample.language for item in data.items).items())),
        (*retrieval_only_note([item.where for item in data.items if retrieval_only(item)]), *data.warnings),
        tuple(Availability(need, *_count(data.items, has, frozenset({need}))) for need in _NEEDS.values()),
        tuple(_readiness(data.items, has)),
    )


def _has(item: Item) -> frozenset[str]:
    """Which of the four kinds of data that metrics need this row has."""
    response, sample = item.response, item.sample
    retrieved = response.passages if response else ()
    return frozenset(
        word
        for word, there in {
            "answer": response is not None and response.finish_reason != NO_ANSWER,
            "reference": bool(sample.references),
            "contexts": bool(retrieved),
            "labels": any(passage.relevant is not None for passage in (*sample.passages, *retrieved)),
        }.items()
        if there
    )


def _readiness(items: Sequence[Item], has: Sequence[frozenset[str]]) -> Iterator[Readiness]:
    """The metrics by their needs, the fewest needs first."""
    by_needs: dict[tuple[str, ...], list[str]] = {}
    of_benchmarks = {name for _, plugin in BENCHMARKS for name in plugin.own_metrics}
    for entry in catalogue():
        family, _, k = entry.name.partition("@")
        if entry.name in of_benchmarks or not entry.needs or (k and family in METRICS):
            continue
        by_needs.setdefault(tuple(_NEEDS[need] for need in entry.needs), []).append(entry.name)
    for needs, metrics in sorted(by_needs.items(), key=lambda item: (len(item[0]), item[0])):
        ready, missing = _count(items, has, frozenset(needs))
        yield Readiness(needs, tuple(metrics), ready, missing)


def _count(items: Sequence[Item], has: Sequence[frozenset[str]], needs: frozenset[str]) -> tuple[int, tuple[str, ...]]:
    """How many rows have all of these, and the first that do not."""
    missing = [item.where for item, had in zip(items, has, strict=True) if not needs <= had]
    return len(items) - len(missing), tuple(missing[:_NAMED])


def _problem(path: str, where: str, field: str, problem: str) -> DataProblem:
    """A problem of rows, with the line number where it is in one line of a text file."""
    kind, _, number = where.rpartition(" ")
    if kind == "line" and number.isdigit():
        return DataProblem(path, int(number), field, problem)
    return DataProblem(path, 0, field, f"{where}: {problem}" if where else problem)
