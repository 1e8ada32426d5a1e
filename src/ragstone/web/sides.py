"""What the pages of comparisons share: sides (a system of a run) in the address, and addresses that name them."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request

from ragstone.analysis.case_filter import CaseFilter
from ragstone.analysis.case_index import CaseIndex, CaseKey
from ragstone.display import short_names
from ragstone.errors import UnknownName, UsageError
from ragstone.report.metadata import condition_name
from ragstone.report.section import Canvas
from ragstone.report.side_by_side import MOST, Column
from ragstone.types import Benchmark, Record
from ragstone.web.page import address, library_of
from ragstone.web.run_cache import is_large

if TYPE_CHECKING:
    from ragstone.engine.open_run import OpenRun

_BUDGET_SECONDS = 0.15  # for an index that is behind


@dataclass(frozen=True)
class Side:
    """A system of a run: the parts of an address that name it."""

    run: str
    system: str

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The parameters of an address."""
        return [("run", self.run), ("system", self.system)]


def sides_of(request: Request) -> list[Side]:
    """The sides that an address names: as many systems as runs, in pairs; or several systems of one run; or every
    system of these runs. Raises UsageError where that are fewer than two, or too many."""
    runs, systems = request.query_params.getlist("run"), request.query_params.getlist("system")
    if runs and len(runs) == len(systems):
        sides = [Side(run, system) for run, system in zip(runs, systems, strict=True)]
        for side in sides:
            known = _systems(request, side.run)
            if side.system not in known:
                raise UnknownName("system", side.system, known)
    elif len(runs) == 1 and systems:
        sides = [Side(runs[0], system) for system in systems]
    else:
        sides = [Side(run, system) for run in dict.fromkeys(runs) for system in _systems(request, run)]
    sides = list(dict.fromkeys(sides))
    if not 2 <= len(sides) <= MOST:
        raise UsageError(
            f"Two to {MOST} systems can be compared, not {len(sides)}: name them in the address (system=)."
        )
    return sides


def _systems(request: Request, run: str) -> Sequence[str]:
    with library_of(request).opened(run) as opened:
        return list(opened.run.systems)


def named(sides: Sequence[Side]) -> list[str]:
    """Short names: the system, with its run where several runs have it, or the run alone where the systems are all the
    same."""
    systems, files = short_names(side.system for side in sides), short_names(side.run for side in sides)
    if len(systems) == len(sides):
        return [systems[side.system] for side in sides]
    if len(systems) == 1:
        return [files[side.run] for side in sides]
    return [f"{systems[side.system]} ({files[side.run]})" for side in sides]


def current(request: Request, name: str, index: CaseIndex) -> CaseIndex:
    """The index of a run, a little further if it is behind; that of a large run is brought up to date by a process of
    its own."""
    path = library_of(request).path(name)
    progress = index.progress() if is_large(path) else index.update(_BUDGET_SECONDS)
    if not progress.finished:
        request.app.state.cache.make(path, index.language)
    return index


def asked(index: CaseIndex, system: str) -> CaseFilter:
    """The cases of a system that a comparison is of: of a diagnosis, the answers as is."""
    as_is = "c.intervention" in index.facets(CaseFilter(systems=(system,)), ("c.intervention",))
    return CaseFilter(systems=(system,), conditions={"intervention": ("as_is",)} if as_is else {})


def case_address(request: Request, side: Side, shown: str) -> str:
    """The page of a case, by the id that people know it by."""
    return address(request, "/case", [*side.pairs, ("id", shown)])


def beside_address(request: Request, cases: Sequence[tuple[Side, str]]) -> str:
    """The page of these cases side by side, each by the id that people know it by."""
    return address(request, "/beside", [pair for side, case in cases for pair in (*side.pairs, ("id", case))])


def varying(canvas: Canvas, benchmark: Benchmark, records: Sequence[Record]) -> dict[str, str]:
    """The parts of each condition in which these cases differ, by case id."""
    conditions = {record.case.id: record.case.condition for record in records}
    fields = dict.fromkeys(name for condition in conditions.values() for name in condition)
    apart = [name for name in fields if len({str(condition.get(name)) for condition in conditions.values()}) > 1]
    return {
        case: ", ".join(
            condition_name(name, condition[name], canvas.language, benchmark) for name in apart if name in condition
        )
        for case, condition in conditions.items()
    }


def columns_of(request: Request, cases: Sequence[tuple[Side, str]], canvas: Canvas) -> Iterator[Column]:
    """The records of these cases, each run opened once. Raises UsageError for a case that is not there."""
    names = named([side for side, _ in cases])
    with ExitStack() as stack:
        found = list(_found(request, cases, stack))
        if len({*names}) < len(names):  # the same system, under several conditions
            conditions = varying(canvas, found[0][1].benchmark, [record for record, _ in found])
            names = [
                " · ".join(filter(None, (name, conditions[record.case.id])))
                for name, (record, _) in zip(names, found, strict=True)
            ]
        for name, (side, case), (record, run) in zip(names, cases, found, strict=True):
            diagnosis = run.benchmark.explain(record, language=canvas.language)
            yield Column(name, record, diagnosis, case_address(request, side, case), run.benchmark)


def _found(request: Request, cases: Sequence[tuple[Side, str]], stack: ExitStack) -> "Iterator[tuple[Record, OpenRun]]":
    """The record of each case with its run."""
    runs: dict[str, OpenRun] = {}
    for side, case in cases:
        if side.run not in runs:
            runs[side.run] = stack.enter_context(library_of(request).opened(side.run))
        run = runs[side.run]
        with library_of(request).index(side.run) as index:
            key: CaseKey = (side.system, index.case_named(side.system, case))
        (record,) = run.run.find([key])
        if record is None:
            raise UsageError(f"{side.run} has no case {case[:200]!r} of system {side.system[:200]!r}.")
        yield record, run
