"""Causes of the wrong answers of a finished run of MIRAGE, which has three of the conditions of a diagnosis: nothing is
asked again. Mixed (or retrieved) is as is, oracle is the gold alone, base is closed book."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragstone.api.blocking import public
from ragstone.api.open_run import read_run
from ragstone.benchmarks.interventions.benchmark import Interventions
from ragstone.benchmarks.interventions.diagnosed import Diagnosed
from ragstone.benchmarks.interventions.waterfall import Fix, Waterfall, fixes, waterfall
from ragstone.errors import UsageError
from ragstone.types import Plan, Record, Run, Table

__all__ = ["RunDiagnosis", "diagnose_run"]

_CONDITIONS = {"base": "closed_book", "oracle": "gold_only"}
_AS_IS = ("mixed", "retrieved")


@dataclass(frozen=True)
class RunDiagnosis:
    """The questions of each system, or system and retriever, with their causes."""

    questions: Mapping[str, Sequence[Diagnosed]]
    run: Run

    def waterfall(self, system: str) -> Waterfall:
        """The share right as is, what each step would gain, and what remains wrong."""
        return waterfall(self.questions[system])

    def fixes(self, system: str) -> list[Fix]:
        """What mending each cause would buy, the largest gain first."""
        return fixes(self.questions[system])

    def tables(self, *, language: str = "en") -> list[Table]:
        """The tables of a diagnosis."""
        return Interventions().tables(self.run, language=language)


@public
def diagnose_run(run: str | Path) -> RunDiagnosis:
    """The causes of the wrong answers of a run of MIRAGE. Raises UsageError for runs of other benchmarks, and for one
    without the settings oracle and mixed or retrieved."""
    with read_run(run) as opened:
        name = opened.benchmark.name
        if name != "mirage":
            raise UsageError(
                f"{run} is a run of {name!r}: only runs of mirage have conditions that tell causes. Ask the system "
                "again with `ragstone diagnose QUESTIONS --system …`."
            )
        records = {system: list(_converted(opened.run, system)) for system in opened.run.systems}
        view = _Converted(opened.run.meta, _by_retriever(records))
    if not view.systems:
        raise UsageError(f"{run} has no question in the setting oracle and in mixed or retrieved: ask both settings.")
    benchmark = Interventions()
    return RunDiagnosis({system: benchmark.diagnosed(view, system) for system in view.systems}, view)


def _converted(run: Run, system: str) -> Iterator[tuple[str, Record]]:
    """The records as those of a diagnosis, each with its retriever ("" for the settings without one)."""
    for record in run.records(system=system):
        condition = record.case.condition
        setting = str(condition.get("setting", ""))
        name = _CONDITIONS.get(setting, "as_is" if setting in _AS_IS else "")
        if not name:
            continue
        source = " ".join(str(condition[key]) for key in ("retriever", "k", "chunk") if condition.get(key))
        yield (source if setting == "retrieved" else setting if name == "as_is" else ""), _renamed(record, name)


def _renamed(record: Record, name: str) -> Record:
    case = replace(
        record.case, id=f"{record.case.sample.id}/{name}", condition={"intervention": name}, lane=""
    )  # fmt: skip
    given = record.case.query.passages or ()
    response = record.response if record.response is None else replace(record.response, passages=given)
    return replace(record, case=case, response=response)


def _by_retriever(records: Mapping[str, Sequence[tuple[str, Record]]]) -> dict[str, list[Record]]:
    """The records of each system under each way of retrieving, with those of the other conditions, by question."""
    found: dict[str, list[Record]] = {}
    for system, pairs in records.items():
        shared = [record for source, record in pairs if not source]
        sources = sorted({source for source, _ in pairs if source})
        if not any(record.case.id.endswith("/gold_only") for record in shared):
            continue
        for source in sources:
            mine = [*shared, *(record for name, record in pairs if name == source)]
            found[f"{system}, {source}"] = sorted(mine, key=lambda record: record.case.id)
    return found


class _Converted:
    """A `types.Run` of records in memory."""

    def __init__(self, meta: Mapping[str, Any], records: Mapping[str, Sequence[Record]]) -> None:
        self.meta = dict(meta)
        self._records = records

    @property
    def systems(self) -> Mapping[str, Mapping[str, Any]]:
        return {system: {} for system in self._records}

    def records(self, *, system: str | None = None) -> Iterator[Record]:
        for name, records in self._records.items():
            if system in (None, name):
                yield from records

    def plans(self) -> Mapping[str, Plan]:
        return {}

    def unasked(self, system: str, /) -> Iterator[str]:
        return iter(())
