"""`eval`: cases from the rows of the user's data, and what is said about their scores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import msgspec
from msgspec.structs import replace

from ragstone.benchmarks.base import BaseBenchmark
from ragstone.benchmarks.recorded import charts, tables
from ragstone.benchmarks.recorded import diagnosis as explain
from ragstone.errors import UsageError
from ragstone.types import (
    Case,
    Chart,
    Diagnosis,
    Frozen,
    Metric,
    Query,
    Record,
    Resources,
    Response,
    Run,
    Sample,
    Sampling,
    Scalar,
    Table,
    Turn,
)

__all__ = ["OwnData", "Recording"]


class Recording(Frozen, frozen=True):
    """A row of the data: `row` from 1, in the whole of them. `columns` has the single
    values of its other columns, to group by."""

    row: int
    sample: Sample
    response: Response
    history: tuple[Turn, ...] = ()
    columns: dict[str, Scalar] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class _AsRecorded:
    """Nothing is made of a question here: its answer was recorded."""

    name: str = "recorded"

    @property
    def sampling(self) -> Sampling:
        return Sampling()

    @property
    def spec(self) -> Mapping[str, Any]:
        return {"name": self.name}

    def messages(self, query: Query, /) -> tuple[Turn, ...]:
        return (*query.history, Turn("user", query.question))


@dataclass(frozen=True)
class OwnData(BaseBenchmark):
    """The cases of these rows, each `repeat` times (the judge is asked anew; the answer is the same).

    `data_name` and `sha256` say which data they are; `language` is that of every row ("" detects); `mapping` is which
    column was taken for which of our words; `chosen` says how many rows of how many were taken. Without rows there are
    no cases, but runs can be read.
    """

    name: ClassVar[str] = "eval"
    version: ClassVar[int] = 1
    license: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    leads: ClassVar[tuple[str, ...]] = (
        "eval-scores", "eval-groups", "eval-repeat", "eval-advice", "eval-cost",
    )  # fmt: skip
    growing: ClassVar[tuple[str, ...]] = ("repeat", "group_by")

    rows: Sequence[Recording] = ()
    data_name: str = ""
    sha256: str = ""
    language: str = ""
    repeat: int = 1
    group_by: tuple[str, ...] = ()
    mapping: Mapping[str, str] | None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise UsageError(f"--repeat {self.repeat}: the judge is asked at least once.")

    @classmethod
    def from_meta(cls, meta: Mapping[str, Any]) -> Self:
        """The benchmark that made a run, to tabulate and explain it."""
        options = meta.get("options", {})
        return cls(
            data_name=str(options.get("data_name", "")),
            repeat=int(options.get("repeat", 1)),
            group_by=tuple(options.get("group_by", ())),
            mapping=options.get("mapping"),
        )

    @property
    def template(self) -> _AsRecorded:
        return _AsRecorded()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """None of its own: the user names them."""
        return ()

    @property
    def question(self) -> Mapping[str, Any]:
        return {"benchmark": self.name, "version": self.version, "data": self.sha256, "language": self.language}

    @property
    def options(self) -> Mapping[str, Any]:
        """What a reader of the run should know of how it was made."""
        return {"data_name": self.data_name, "rows": len(self.rows), "repeat": self.repeat,
                "group_by": list(self.group_by), "mapping": dict(self.mapping or {})}  # fmt: skip

    async def prepare(self, resources: Resources, /) -> str:
        return self.sha256

    @property
    def size(self) -> int:
        return len(self.rows) * self.repeat

    def cases(self) -> Iterator[Case]:
        """Each row, and each repeat of it. Ids sort in the order of the data."""
        for one in self.rows:
            sample = (
                replace(one.sample, meta={**one.sample.meta, "columns": one.columns}) if one.columns else one.sample
            )
            query = Query(
                one.sample.question, None, one.history, language=self.language or one.sample.language, repeat=one.row
            )
            for number in range(self.repeat):
                condition: dict[str, Scalar] = {"judge_repeat": number} if number else {}
                tail = f"/r{number}" if number else ""
                yield Case(f"{one.row:06d}{tail}", sample, condition, query)

    def tables(self, run: Run, /, *, language: str = "en") -> list[Table]:
        return tables.tables(run, language=language)

    def charts(self, run: Run, /, *, language: str = "en") -> list[Chart]:
        return charts.charts(run, language=language)

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        return explain.explain(record, language=language)
