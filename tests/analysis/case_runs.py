"""Run files with records of our choosing, and a benchmark that explains them, for tests of the case index."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from ragstone.analysis.case_index import CaseIndex
from ragstone.benchmarks.base import BaseBenchmark
from ragstone.display import Diagnosis
from ragstone.runs import open_run
from ragstone.runs.entries import CaseResult, CaseRow, ScoreRow, write_cases, write_results
from ragstone.runs.schema import LAYOUT, encode_score, key_of
from ragstone.storage import connect
from ragstone.structs import to_json
from ragstone.types import Case, Query, Record, Response, Sample, Score, Usage


class Probe(BaseBenchmark):
    """Right where the metric "right" is 1; the cause of a wrong answer is its first word."""

    name, version = "probe", 1
    prefix = ""  # of causes

    def explain(self, record: Record, /, *, language: str = "en") -> Diagnosis:
        score = record.scores.get("right")
        group = str(record.case.condition.get("ability", ""))
        if score is None or score.value is None:
            return Diagnosis(None, group)
        cause = "" if score.value >= 1 or record.response is None else record.response.answer.partition(" ")[0]
        name = f"{self.prefix}{cause}" if cause else ""
        return Diagnosis(score.value >= 1, group, name, f"{language}:{cause}", weight=1 - score.value)


def record(
    case_id: str, system: str = "s", *, question: str = "Why?", answer: str | None = "because", error: str = "",
    condition: dict[str, Any] | None = None, columns: dict[str, Any] | None = None, language: str = "",
    scores: dict[str, float | None] | None = None,
) -> Record:  # fmt: skip
    """A record; without an answer it failed with `error`."""
    meta = {"columns": columns} if columns else {}
    sample = Sample(f"sample of {case_id}", question, language=language, meta=meta)
    response = None if answer is None else Response(answer, usage=Usage(10, 2, 0, 1, 0), seconds=0.5)
    found = {
        name: Score.failed("no reply") if value is None else Score.of(value) for name, value in (scores or {}).items()
    }
    problem = None if response is not None else error or "timed_out: no reply"
    return Record(system, Case(case_id, sample, condition or {}, Query(question)), response, problem, found)


def write(path: Path, records: Iterable[Record], **info: Any) -> None:
    """Adds these records to a run file, which is created if needed, as a runner does."""
    listed = list(records)
    with closing(connect(path, LAYOUT)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        notes = {"question": {"benchmark": "probe"}, "file_id": path.name, **info}
        connection.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", [(k, to_json(v)) for k, v in notes.items()])
        systems = {key_of(item.system_id) for item in listed}
        connection.executemany("INSERT OR IGNORE INTO systems VALUES (?, '{}')", [(key,) for key in systems])
        write_cases(connection, [CaseRow(key_of(item.case.id), to_json(item.case)) for item in listed])
        write_results(connection, [_result(item) for item in listed])
        connection.execute("COMMIT")


def _result(item: Record) -> CaseResult:
    scores = [ScoreRow(key_of(name), 1, one.status, *encode_score(one)) for name, one in item.scores.items()]
    response = None if item.response is None else to_json(item.response)
    error = None if item.error is None else json.dumps(item.error)
    return CaseResult(key_of(item.system_id), key_of(item.case.id), response, error, scores)


def add_scores(path: Path, item: Record, **values: float) -> None:
    """Adds scores to a record that was written before."""
    scores = [ScoreRow(key_of(name), 1, "scored", *encode_score(Score.of(value))) for name, value in values.items()]
    with closing(connect(path, LAYOUT)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        write_results(connection, [CaseResult(key_of(item.system_id), key_of(item.case.id), scores=scores)])
        connection.execute("COMMIT")


def opened(path: Path, folder: Path, *, language: str = "en", update: bool = True) -> CaseIndex:
    """The index of a run, up to date."""
    index = CaseIndex.open(open_run(path), Probe(), folder, language=language)  # type: ignore[abstract]
    if update:
        finish(index)
    return index


def finish(index: CaseIndex) -> None:
    """Updates an index until it has everything."""
    for _ in range(100):
        if index.update(60).finished:
            return
    raise AssertionError(f"the index is never finished: {index.progress()}")


def damage(path: Path) -> None:
    """Overwrites the middle of a file."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 5_000)


def tables(path: Path) -> sqlite3.Connection:
    """The tables of an SQLite file, to look into."""
    return sqlite3.connect(path)
