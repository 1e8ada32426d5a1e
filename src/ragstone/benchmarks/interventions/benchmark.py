"""`diagnose`: every question under the conditions that its diagnosis needs, and the tables of what they tell."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import msgspec
from msgspec.structs import replace

from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.interventions import comparison, summary, tables
from ragstone.benchmarks.interventions.causes import next_conditions
from ragstone.benchmarks.interventions.conditions import CONDITIONS, SEARCHES, Question
from ragstone.benchmarks.interventions.diagnosed import Diagnosed, change_rate, diagnosed, questions_of
from ragstone.benchmarks.interventions.evidence import Evidence
from ragstone.benchmarks.interventions.shared import Shared, shared_by
from ragstone.benchmarks.interventions.view import AsIsRun
from ragstone.benchmarks.recorded import diagnosis
from ragstone.benchmarks.row_names import row_name, row_number
from ragstone.display import Diagnosis, Summary, Table
from ragstone.systems.rag import RAG_TEMPLATE
from ragstone.types import Case, Metric, Record, Resources, Response, Run, Sample, Template


def sample_of(question: Question, *, found: str, in_index: str | None) -> Sample:
    """The sample that the cases of a question carry: with its gold passages, and what is known about them. `in_index`:
    how much of the evidence the index has (`index.Listed`); None if no index was named."""
    meta: dict[str, Any] = {**question.sample.meta, "gold_found": found}
    if in_index is not None:
        meta["in_index"] = in_index
    if question.indexed:
        meta["indexed"] = msgspec.to_builtins(question.indexed)
    if question.stand_in:
        meta["stand_in"] = question.stand_in
    return replace(question.sample, passages=question.gold, meta=meta)


def takes_of(meta: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """What each system of a run accepts: system id → names. A run may hold several systems, which differ in this."""
    takes = meta.get("options", {}).get("takes")
    return {str(system): frozenset(names) for system, names in takes.items()} if isinstance(takes, Mapping) else {}


@dataclass(frozen=True)
class Interventions(BaseBenchmark):
    """The cases of these questions. `wanted`: the conditions of each row besides as is, and `firsts` the answers as is,
    both from the run file; `grown` makes the benchmark of the next round. `takes`: what each system accepts.
    `gates` decide what is right. `rows`: of the data, where `questions` are a part of them."""

    name: ClassVar[str] = "interventions"
    version: ClassVar[int] = 1
    license: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    leads: ClassVar[tuple[str, ...]] = ("diagnosis-stages",)
    growing: ClassVar[tuple[str, ...]] = ("rows",)
    reads_texts: ClassVar[bool] = False

    questions: Sequence[Question] = ()
    rows: int = 0
    data_name: str = ""
    sha256: str = ""
    corpus: str = ""
    index: str = ""
    takes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    full: bool = False
    gates: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    wanted: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    firsts: Mapping[int, Response] = field(default_factory=dict)
    _read: dict[tuple[int, str, bool], tuple[Run, list[Diagnosed]]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """The benchmark of an existing run, to tabulate and explain it."""
        options = meta.get("options", {})
        gates = meta.get("gates")
        return cls(
            data_name=str(options.get("data_name", "")),
            takes=takes_of(meta),
            full=bool(options.get("full", False)),
            gates={
                str(name): float(limit)
                for name, limit in (gates.items() if isinstance(gates, Mapping) else ())
                if isinstance(limit, int | float) and not str(name).startswith("cause.")
            },
        )

    @property
    def template(self) -> Template:
        """For a chat model that is asked without a pipeline around it."""
        return RAG_TEMPLATE

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """None: the user chooses them."""
        return ()

    @property
    def axes(self) -> tuple[str, ...]:
        return ("intervention",)

    @property
    def question(self) -> Mapping[str, Any]:
        return {"benchmark": self.name, "version": self.version, "data": self.sha256, "corpus": self.corpus,
                **({"index": self.index} if self.index else {})}  # fmt: skip

    @property
    def options(self) -> Mapping[str, Any]:
        return {
            "data_name": self.data_name,
            "rows": max(self.rows, len(self.questions)),
            "takes": {system: sorted(names) for system, names in self.takes.items()},
            "full": self.full,
        }

    async def prepare(self, resources: Resources, /) -> str:
        return self.sha256

    @property
    def size(self) -> int:
        return len(self.questions) + sum(map(len, self.wanted.values()))

    def cases(self) -> Iterator[Case]:
        for question in self.questions:
            yield _case(question, "as_is", Response(""))
            first = self.firsts.get(question.row)
            if first is not None:
                yield from (_case(question, name, first) for name in self.wanted.get(question.row, ()))

    def grown(self, run: Run, system: str) -> Self:
        """The benchmark of the next round: with the conditions that the records of the run show to be needed. Equal to
        this one if nothing is."""
        takes = self.takes.get(system, frozenset())
        evidences = {
            row_number(records["as_is"].case.id.partition("/")[0]): Evidence(records, takes, self.gates)
            for records in questions_of(run, system)
        }
        unstable = change_rate(list(evidences.values())) > 0
        shared = shared_by(evidences.values())
        wanted, firsts = dict(self.wanted), dict(self.firsts)
        for row, evidence in evidences.items():
            if evidence.first is None:
                continue
            evidence.unstable_system, evidence.shared = unstable, shared
            asked = [name for name in CONDITIONS if name in evidence.records and name != "as_is"]
            new = [name for name in CONDITIONS if evidence.can(name)] if self.full else next_conditions(evidence)
            names = {*asked, *wanted.get(row, ()), *new} - {"as_is"}
            wanted[row] = tuple(name for name in CONDITIONS if name in names)
            firsts[row] = evidence.first
        return dataclasses.replace(self, wanted=wanted, firsts=firsts)

    def diagnosed(self, run: Run, system: str, *, sure: bool = True) -> list[Diagnosed]:
        """Every question of a system with its cause; `sure`: with its confidence, too. Read once for each run."""
        known, items = self._read.get((id(run), system, True), (None, []))
        if known is run:
            return items
        takes = self.takes.get(system, frozenset())
        items = diagnosed(run, system, takes=takes, gates=self.gates, sure=sure)
        self._read[id(run), system, sure] = run, items
        return items

    def shared(self, run: Run, system: str) -> Shared:
        """What all questions of a system tell together."""
        return next((item.evidence.shared for item in self.diagnosed(run, system, sure=False)), Shared())

    def view(self, run: Run, /) -> Run:
        return AsIsRun(run, self)

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        return tables.tables(run, self, language=language)

    def summary(self, run: Run, /, *, language: str = "en") -> Mapping[str, Summary]:
        return summary.summaries(run, self, language=language)

    def compare(self, a: tuple[Run, str, str], b: tuple[Run, str, str], /, *, language: str = "en") -> list[Table]:
        """The causes of two systems' questions, each (its run as `view` shows it, its id, its display name)."""
        return comparison.compare_tables(a, b, language=language)

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        """Whether this answer is right; why it is wrong, only all answers to its question tell."""
        condition = str(record.case.condition.get("intervention", "as_is"))
        if condition in SEARCHES:
            return Diagnosis(None, condition)
        return replace(diagnosis.explain(record, language=language, gates=self.gates), group=condition)


def _case(question: Question, name: str, first: Response) -> Case:
    query = CONDITIONS[name].build(question, first)
    assert query is not None, (question.row, name)
    return Case(f"{row_name(question.row)}/{name}", question.sample, {"intervention": name}, query)
