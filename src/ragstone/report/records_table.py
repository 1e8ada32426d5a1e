"""Records as flat rows for tabular formats, with cells that no spreadsheet runs as a formula."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ragstone.metrics.judge.panel import by_judge
from ragstone.report.sanitize import readable
from ragstone.responses.stages import FIRST_TOKEN, STAGES
from ragstone.types import Benchmark, Record, Run

if TYPE_CHECKING:
    from ragstone.structs import Scalar

Value: TypeAlias = "Scalar | None"


@dataclass
class RecordColumns:
    """The columns of a run's records. Those that depend on the run are collected in one pass over the records."""

    condition: dict[str, set[type]] = field(default_factory=dict)
    stages: dict[str, None] = field(default_factory=dict)  # "fetch.passages", "fetch.seconds"…
    metrics: dict[str, None] = field(default_factory=dict)
    judges: dict[str, None] = field(default_factory=dict)  # METRIC[JUDGE], of several judges
    planned: dict[str, int] = field(default_factory=dict)  # by system: the number of rows of a finished run

    @property
    def names(self) -> list[str]:
        scores = [f"{metric}{part}" for metric in self.metrics for part in ("", ".status", ".reason")]
        first = (*_FIRST, *(("planned",) if self.planned else ()))
        return [*first, *(f"condition.{key}" for key in self.condition), *_LAST, *self.stages, *scores, *self.judges]


_FIRST = ("system", "case", "sample")
_LAST = (
    "question", "references", "answer", "right", "group", "cause", "why", "error", "model", "finish_reason",
    "prompt_tokens", "completion_tokens", "cached_tokens",
)  # fmt: skip

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def guarded(value: Value) -> Value:
    """A cell that no spreadsheet runs: text that begins like a formula gets a leading apostrophe.

    Numbers are unchanged, also as text. (OWASP, "CSV Injection".)
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    if value.startswith(_FORMULA) or value.lstrip().startswith(_FORMULA):
        return "'" + value
    return value


def columns_of(run: Run) -> RecordColumns:
    """The columns of the records of this run, in order of first appearance."""
    columns = RecordColumns(planned={system: plan.total for system, plan in run.plans().items()})
    for record in run.records(texts=False):
        for key, value in record.case.condition.items():
            columns.condition.setdefault(key, set()).add(type(value))
        for name in _of_stages(record):
            columns.stages.setdefault(name)
        for metric in record.scores:
            columns.metrics.setdefault(metric)
        for name in _of_judges(record):
            if name not in columns.metrics:
                columns.judges.setdefault(name)
    return columns


def rows_of(run: Run, benchmark: Benchmark, columns: RecordColumns, language: str) -> Iterator[dict[str, Value]]:
    """Every record as one flat row with these columns; missing values are None."""
    names = columns.names
    for record in run.records(texts=benchmark.reads_texts):
        row = _row(record, benchmark, language) | {"planned": columns.planned.get(record.system_id)}
        yield {name: row.get(name) for name in names}


def _of_judges(record: Record) -> dict[str, Value]:
    """What each of several judges scored."""
    scores = by_judge(record).items()
    return {f"{metric}[{judge}]": value for metric, values in scores for judge, value in values.items()}


def _of_stages(record: Record) -> dict[str, Value]:
    """The number of passages, the seconds and the tokens of each stage of the system, and the seconds to the first
    token of a streamed answer, as far as they are known."""
    values: dict[str, Value] = {}
    for step in record.response.steps if record.response is not None else ():
        if step.name in STAGES and isinstance(step.output, list):
            values[f"{step.name}.passages"] = len(step.output)
        if step.name in (*STAGES, "rewrite", FIRST_TOKEN) and step.seconds is not None:
            values[f"{step.name.replace(' ', '_')}.seconds"] = step.seconds
        if step.name in (*STAGES, "rewrite") and step.usage is not None:
            values[f"{step.name}.tokens"] = step.usage.prompt_tokens + step.usage.completion_tokens
    return values


def _row(record: Record, benchmark: Benchmark, language: str) -> dict[str, Value]:
    diagnosis = benchmark.explain(record, language=language)
    response, sample = record.response, record.case.sample
    row: dict[str, Value] = {
        "system": record.system_id,
        "case": record.case.id,
        "sample": sample.id,
        "question": record.case.query.question,
        "references": " + ".join(" | ".join(slot) for slot in sample.references),
        "right": diagnosis.right,
        "group": diagnosis.group,
        "cause": diagnosis.cause,
        "why": diagnosis.reason,
        "error": record.error,
    }
    row |= {f"condition.{key}": value for key, value in record.case.condition.items()}
    if response is not None:
        row |= {"answer": response.answer, "model": response.model, "finish_reason": response.finish_reason}
        if response.usage is not None:
            row["prompt_tokens"] = response.usage.prompt_tokens
            row["completion_tokens"] = response.usage.completion_tokens
            row["cached_tokens"] = response.usage.cached_tokens
    row |= _of_stages(record)
    for metric, score in record.scores.items():
        row |= {metric: score.value, f"{metric}.status": score.status, f"{metric}.reason": score.reason}
    row = _of_judges(record) | row
    return {key: readable(value) if isinstance(value, str) else value for key, value in row.items()}
