"""Causes of the wrong answers of a finished run whose benchmark has conditions of a diagnosis: nothing is asked
again."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragstone.diagnosis.interventions.advice import Fix, fixes
from ragstone.diagnosis.interventions.benchmark import Interventions
from ragstone.diagnosis.interventions.diagnosed import Diagnosed
from ragstone.diagnosis.interventions.waterfall import Waterfall, waterfall
from ragstone.display import Table
from ragstone.engine.open_run import OpenRun, read_run
from ragstone.engine.public_functions import public
from ragstone.errors import UsageError
from ragstone.plans import Plan
from ragstone.types import Record, Run


@dataclass(frozen=True)
class RunDiagnosis:
    """The questions of each system, or system and retriever, with their causes."""

    questions: Mapping[str, Sequence[Diagnosed]]
    run: Run

    def waterfall(self, system: str) -> Waterfall:
        """The share right as is, what each step would gain, and what remains wrong."""
        return waterfall(self.questions[system])

    def fixes(self, system: str) -> list[Fix]:
        """What fixing each cause would buy, the largest gain first."""
        return fixes(self.questions[system])

    def tables(self, *, language: str = "en") -> list[Table]:
        """The tables of a diagnosis."""
        return Interventions().tables(self.run, language=language)


@public
def diagnose_run(run: str | Path) -> RunDiagnosis:
    """The causes of the wrong answers of a run, such as one of MIRAGE: mixed or retrieved is as is, oracle the gold
    alone, base closed book. Raises UsageError for a run that was not asked both as is and with the gold alone."""
    with read_run(run) as opened:
        records = {system: list(_converted(opened, system)) for system in opened.run.systems}
        view = _Converted(opened.run.meta, _by_retriever(records))
        if not view.systems:
            if opened.benchmark.name == Interventions.name:
                raise UsageError(
                    f"{run} (a diagnosis) has no question both as is and with the gold alone, so nothing tells causes. "
                    "Ask the system again with `ragstone diagnose QUESTIONS --system …`."
                )
            raise UsageError(
                f"{run} (a run of {opened.benchmark.name!r}) has no question both as is and with the gold alone, so "
                "nothing tells causes. Ask the system again with `ragstone diagnose QUESTIONS --system …`."
            )
    benchmark = Interventions()
    return RunDiagnosis({system: benchmark.diagnosed(view, system) for system in view.systems}, view)


def _converted(opened: OpenRun, system: str) -> Iterator[tuple[str, Record]]:
    """The records as those of a diagnosis, each with its set ("": of all sets)."""
    for record in opened.run.records(system=system):
        name, source = opened.benchmark.intervention(record.case)
        if name:
            yield source, _renamed(record, name)


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

    def records(
        self, *, system: str | None = None, cases: Collection[str] | None = None, texts: bool = True
    ) -> Iterator[Record]:
        for name, records in self._records.items():
            if system in (None, name):
                yield from (record for record in records if cases is None or record.case.id in cases)

    def plans(self) -> Mapping[str, Plan]:
        return {}

    def unasked(self, system: str, /) -> Iterator[tuple[str, str]]:
        return iter(())
