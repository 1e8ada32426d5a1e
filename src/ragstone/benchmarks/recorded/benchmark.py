"""`eval`: cases from the rows of the user's data, and the tables of their scores."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import msgspec
from msgspec.structs import replace

from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.recorded import diagnosis, summary, tables
from ragstone.benchmarks.recorded.aggregate import tallied
from ragstone.benchmarks.row_names import row_name
from ragstone.display import Chart, Diagnosis, Summary, Table
from ragstone.errors import UsageError
from ragstone.structs import Frozen, Scalar
from ragstone.types import Case, Metric, Query, Record, Resources, Response, Run, Sample, Sampling, Turn


class RecordedRow(Frozen, frozen=True):
    """A row of the data. `row`: its number in the whole data, from 1. `response`: None for a question without an
    answer. `columns`: the scalar values of its other
    columns, to group by."""

    row: int
    sample: Sample
    response: Response | None = None
    history: tuple[Turn, ...] = ()
    columns: dict[str, Scalar] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class _QuestionTemplate:
    """The question alone: for a chat model that is asked without passages. Recorded answers need no prompt."""

    name: str = "question only"

    @property
    def sampling(self) -> Sampling:
        return Sampling()

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def messages(self, query: Query, /) -> tuple[Turn, ...]:
        return (*query.history, Turn("user", query.question))


@dataclass(frozen=True)
class RecordedAnswers(BaseBenchmark):
    """The cases of these rows, each `repeat` times (the judge is asked again about the same answer).

    `data_name` and `sha256` identify the data; `language` applies to every row ("" detects it); `mapping` is field →
    column; `gates` are thresholds by metric, which decide what is right. Without rows there are no cases, but runs can
    be read.
    """

    name: ClassVar[str] = "eval"
    version: ClassVar[int] = 1
    license: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    leads: ClassVar[tuple[str, ...]] = (
        "eval-scores", "eval-refusals", "eval-groups", "eval-repeat", "eval-judges", "eval-disagreements", "eval-cost",
    )  # fmt: skip
    growing: ClassVar[tuple[str, ...]] = ("repeat", "group_by")
    reads_texts: ClassVar[bool] = False
    observes: ClassVar[bool] = True

    rows: Sequence[RecordedRow] = ()
    data_name: str = ""
    sha256: str = ""
    language: str = ""
    repeat: int = 1
    group_by: tuple[str, ...] = ()
    mapping: Mapping[str, str] | None = None
    warnings: tuple[str, ...] = ()
    gates: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise UsageError(f"--repeat {self.repeat}: expected 1 or more.")

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """The benchmark of an existing run, to tabulate and explain it."""
        options = meta.get("options", {})
        return cls(
            data_name=str(options.get("data_name", "")),
            repeat=int(options.get("repeat", 1)),
            group_by=tuple(options.get("group_by", ())),
            mapping=options.get("mapping"),
            gates=_thresholds(meta.get("gates")),
        )

    @property
    def template(self) -> _QuestionTemplate:
        return _QuestionTemplate()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """None: the user chooses them."""
        return ()

    @property
    def question(self) -> Mapping[str, Any]:
        return {"benchmark": self.name, "version": self.version, "data": self.sha256, "language": self.language}

    @property
    def options(self) -> Mapping[str, Any]:
        """How the run was made, for its readers."""
        return {"data_name": self.data_name, "rows": len(self.rows), "repeat": self.repeat,
                "group_by": list(self.group_by), "mapping": dict(self.mapping or {})}  # fmt: skip

    async def prepare(self, resources: Resources, /) -> str:
        return self.sha256

    @property
    def size(self) -> int:
        return len(self.rows) * self.repeat

    def cases(self) -> Iterator[Case]:
        """Each row and each repeat of it. The ids sort in the order of the data."""
        for row in self.rows:
            sample = (
                replace(row.sample, meta={**row.sample.meta, "columns": row.columns}) if row.columns else row.sample
            )
            for number in range(self.repeat):
                yield self._case(row, sample, number)

    def _case(self, row: RecordedRow, sample: Sample, number: int) -> Case:
        """Repeat `number` of a row: the judge is asked again."""
        query = Query(sample.question, None, row.history, language=self.language or sample.language, repeat=row.row)
        condition: dict[str, Scalar] = {"judge_repeat": number} if number else {}
        return Case(_case_id(row, number), sample, condition, query)

    def observed(self, run: Run, records: Iterable[Record], /) -> Iterable[Record]:
        return tallied(run, records)

    def summary(self, run: Run, /, *, language: str = "en") -> Mapping[str, Summary]:
        return summary.summaries(run, self.gates, language=language)

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        return tables.tables(run, self.gates, language=language)

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        return tables.charts(run, language=language)

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        return diagnosis.explain(record, language=language, gates=self.gates)


def _thresholds(gates: Any) -> dict[str, float]:
    """The gates of a run file, which may come from anywhere."""
    known = gates.items() if isinstance(gates, Mapping) else ()
    return {str(name): float(limit) for name, limit in known if isinstance(limit, int | float)}


def _case_id(row: RecordedRow, number: int) -> str:
    return row_name(row.row) + (f"/r{number}" if number else "")


@dataclass(frozen=True)
class OwnQuestions(RecordedAnswers):
    """The user's questions, which a system is asked. It is asked again for each repeat of a row."""

    name: ClassVar[str] = "run"

    def _case(self, row: RecordedRow, sample: Sample, number: int) -> Case:
        query = Query(sample.question, None, row.history, language=self.language or sample.language, repeat=number)
        condition: dict[str, Scalar] = {"repeat": number} if number else {}
        return Case(_case_id(row, number), sample, condition, query)
