"""What a data file holds, and which metrics it has data for: `ragstone data check`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragstone.benchmarks import BENCHMARKS
from ragstone.benchmarks.plugin import CheckedData, DataReport
from ragstone.datasets.rgb_check import Problem
from ragstone.datasets.tabular import BadData, EvalData, Item, read_eval_data
from ragstone.errors import DataError, RagstoneError
from ragstone.metrics import METRICS
from ragstone.metrics.catalogue import catalogue
from ragstone.types import NO_ANSWER, Frozen

__all__ = ["Checked", "Has", "Readiness", "check_data", "check_eval_data"]

_NAMED = 5  # rows that a line names
_NEEDS = {"answer": "answer", "references": "reference", "passages": "contexts", "labels": "labels"}


class Has(Frozen, frozen=True):
    """One of the things that metrics need: `ready` rows have it, `lacking` names the first that have not."""

    name: str
    ready: int
    lacking: tuple[str, ...] = ()


class Readiness(Frozen, frozen=True):
    """Metrics with the same needs; `ready` rows have all of what they need, and
    `lacking` names the first that have not."""

    needs: tuple[str, ...]
    metrics: tuple[str, ...]
    ready: int
    lacking: tuple[str, ...] = ()


class Checked(Frozen, frozen=True):
    """What was seen in data of the user's. `mapping`: our word → their column; `columns`: those that rows can be
    grouped by; `languages`: how many rows are in each."""

    path: str
    schema: str
    mapping: dict[str, str]
    columns: tuple[str, ...]
    rows: int
    languages: dict[str, int]
    warnings: tuple[str, ...]
    has: tuple[Has, ...]
    metrics: tuple[Readiness, ...]


def check_data(paths: Iterable[str | Path], **reading: Any) -> tuple[list[Checked | CheckedData], list[Problem]]:
    """What these files and folders hold, as far as they are answers to be scored or data of a benchmark, and all
    problems. `reading` is as `read_eval_data` takes it."""
    checked: list[Checked | CheckedData] = []
    problems: list[Problem] = []
    for path in map(Path, paths):
        try:
            if (report := _of_benchmark(path)) is not None:
                checked.extend(report.checked)
                problems.extend(report.problems)
                continue
            checked.append(check_eval_data(read_eval_data(path, **reading), str(path)))
        except BadData as error:
            problems.extend(_problem(str(path), one.where, one.field, one.problem) for one in error.problems)
        except DataError as error:
            # The file of a folder that it is about, not the folder; and what `Problem` says again is left out.
            here = Problem(error.path, error.line, error.field, "")
            message = str(error).removeprefix(str(here).removeprefix("error: "))
            problems.append(msgspec.structs.replace(here, problem=message))
        except RagstoneError as error:
            problems.append(Problem(str(path), 0, "", str(error).removeprefix(f"{str(path)!r}: ")))
        except OSError as error:  # a name that is too long, a folder that may not be looked into
            problems.append(Problem(str(path), 0, "", f"cannot be read ({error.strerror or error})."))
    return checked, problems


def _of_benchmark(path: Path) -> DataReport | None:
    """What the benchmark says whose form these data have."""
    found = (plugin.check_data(path) for _, plugin in BENCHMARKS)
    return next((report for report in found if report is not None), None)


def check_eval_data(data: EvalData, path: str = "") -> Checked:
    """What these data hold and which metrics they are enough for."""
    has = [_has(item) for item in data.items]
    return Checked(
        path or data.name,
        data.schema,
        data.mapping,
        tuple(dict.fromkeys(column for item in data.items for column in item.extra)),
        len(data.items),
        dict(sorted(Counter(item.sample.language for item in data.items).items())),
        data.warnings,
        tuple(Has(need, *_count(data.items, has, frozenset({need}))) for need in _NEEDS.values()),
        tuple(_readiness(data.items, has)),
    )


def _has(item: Item) -> frozenset[str]:
    """What of the four things that metrics need this row has, in words of a user."""
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
    """The metrics by what they need, those with the least needs first."""
    by_needs: dict[tuple[str, ...], list[str]] = {}
    of_benchmarks = {name for _, plugin in BENCHMARKS for name in plugin.own_metrics}
    for entry in catalogue():
        family, _, k = entry.name.partition("@")
        if entry.name in of_benchmarks or not entry.needs or (k and family in METRICS):
            continue
        by_needs.setdefault(tuple(_NEEDS[need] for need in entry.needs), []).append(entry.name)
    for needs, metrics in sorted(by_needs.items(), key=lambda one: (len(one[0]), one[0])):
        ready, lacking = _count(items, has, frozenset(needs))
        yield Readiness(needs, tuple(metrics), ready, lacking)


def _count(items: Sequence[Item], has: Sequence[frozenset[str]], wanted: frozenset[str]) -> tuple[int, tuple[str, ...]]:
    """How many rows have all of this, and the first that have not."""
    lacking = [item.where for item, one in zip(items, has, strict=True) if not wanted <= one]
    return len(items) - len(lacking), tuple(lacking[:_NAMED])


def _problem(path: str, where: str, field: str, problem: str) -> Problem:
    """A problem of rows in the words of a check: with the line, where it is one line of a text."""
    kind, _, number = where.rpartition(" ")
    if kind == "line" and number.isdigit():
        return Problem(path, int(number), field, problem)
    return Problem(path, 0, field, f"{where}: {problem}" if where else problem)
