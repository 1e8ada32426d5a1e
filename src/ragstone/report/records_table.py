"""Records as flat rows, for formats that have columns; and cells that no spreadsheet takes for a formula."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ragstone.report.sanitize import readable
from ragstone.types import Benchmark, Record, Run, Scalar

__all__ = ["Flat", "columns_of", "guarded", "rows_of"]

Value: TypeAlias = "Scalar | None"


@dataclass
class Flat:
    """The columns of a run's records: what varies from run to run is found by one pass over them."""

    condition: dict[str, set[type]] = field(default_factory=dict)
    metrics: dict[str, None] = field(default_factory=dict)
    planned: dict[str, int] = field(default_factory=dict)  # by system: how many rows there are in a finished run

    @property
    def names(self) -> list[str]:
        scores = [f"{metric}{part}" for metric in self.metrics for part in ("", ".status", ".reason")]
        before = (*_BEFORE, *(("planned",) if self.planned else ()))
        return [*before, *(f"condition.{key}" for key in self.condition), *_AFTER, *scores]


_BEFORE = ("system", "case", "sample")
_AFTER = (
    "question", "references", "answer", "right", "group", "cause", "why", "error", "model", "finish_reason",
    "prompt_tokens", "completion_tokens",
)  # fmt: skip


_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def guarded(value: Value) -> Value:
    """A cell that no spreadsheet runs: text that begins as a formula does gets an apostrophe before it.

    Numbers stay numbers, also where they are written as text. (OWASP, "CSV Injection".)
    """
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    if value.startswith(_FORMULA) or value.lstrip().startswith(_FORMULA):
        return "'" + value
    return value


def columns_of(run: Run) -> Flat:
    """The columns of the records of this run, in the order in which they first appear."""
    flat = Flat(planned={system: plan.total for system, plan in run.plans().items()})
    for record in run.records():
        for key, value in record.case.condition.items():
            flat.condition.setdefault(key, set()).add(type(value))
        for metric in record.scores:
            flat.metrics.setdefault(metric)
    return flat


def rows_of(run: Run, benchmark: Benchmark, flat: Flat, language: str) -> Iterator[dict[str, Value]]:
    """Every record as one flat row with the columns of `flat`; what a record does not have is None."""
    names = flat.names
    for record in run.records():
        row = _row(record, benchmark, language) | {"planned": flat.planned.get(record.system_id)}
        yield {name: row.get(name) for name in names}


def _row(record: Record, benchmark: Benchmark, language: str) -> dict[str, Value]:
    finding = benchmark.explain(record, language=language)
    response, sample = record.response, record.case.sample
    row: dict[str, Value] = {
        "system": record.system_id,
        "case": record.case.id,
        "sample": sample.id,
        "question": record.case.query.question,
        "references": " + ".join(" | ".join(slot) for slot in sample.references),
        "right": finding.right,
        "group": finding.group,
        "cause": finding.cause,
        "why": finding.reason,
        "error": record.error,
    }
    row |= {f"condition.{key}": value for key, value in record.case.condition.items()}
    if response is not None:
        row |= {"answer": response.answer, "model": response.model, "finish_reason": response.finish_reason}
        if response.usage is not None:
            row["prompt_tokens"] = response.usage.prompt_tokens
            row["completion_tokens"] = response.usage.completion_tokens
    for metric, score in record.scores.items():
        row |= {metric: score.value, f"{metric}.status": score.status, f"{metric}.reason": score.reason}
    return {key: readable(value) if isinstance(value, str) else value for key, value in row.items()}
