"""Somebody's results as records: cells that were not asked here, with the scores that they came with.

A row becomes a case without a text: its length and depth, its needle where the file says it. The answer, where the file
has it, is judged by rule as ours are, if the needle is one whose parts are known (the sandwich in San Francisco). The
score from 1 to 10 is kept under a name of its own, `needle.given`: whoever gave it is no judge of ours.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from msgspec.structs import replace

from ragstone.benchmarks.niah.aggregate import GIVEN, PUBLISHED
from ragstone.benchmarks.niah.needles import Asked, make_needle
from ragstone.benchmarks.niah.rescore import TOP, CellResult, Results, read_results
from ragstone.benchmarks.plugin import ImportedResults
from ragstone.errors import DataError, UsageError
from ragstone.metrics.needle import NeedleFound, NeedleRefused
from ragstone.runs import is_run_file, open_run
from ragstone.types import (
    JSON,
    NO_ANSWER,
    Case,
    Passage,
    Query,
    Record,
    Response,
    Run,
    Sample,
    Scalar,
    Score,
    to_json,
)

__all__ = ["name_of", "read_all", "taken_from_results", "taken_from_run"]

_LOWEST = 1
_MARK = 6  # digits of a hash that tell cases of one name apart


def read_all(paths: Sequence[Path]) -> list[ImportedResults]:
    """What these files and folders hold: others' results, and the systems of our run files. Raises RagstoneErrors."""
    runs, others = [path for path in paths if is_run_file(path)], [path for path in paths if not is_run_file(path)]
    results = read_results(others) if others else []
    systems = [name for path in runs for name in _systems(path)] + [name_of(one) for one in results]
    twice = {name for name in systems if systems.count(name) > 1}
    found = [*map(taken_from_results, results)]
    for path in runs:
        with open_run(path) as run:
            found += taken_from_run(run, path.name, names=twice)
    return found


def _systems(path: Path) -> list[str]:
    with open_run(path) as run:
        return list(run.systems)


def name_of(results: Results) -> str:
    """What results are called: their model, else their file; with the version where there is one."""
    name = results.model or PurePath(results.source).name or "unnamed"
    return name if results.version is None else f"{name}, version {results.version}"


def taken_from_results(results: Results) -> ImportedResults:
    """The rows of one model and version as records, in the order of their cells; rows of one cell are its repeats.

    Raises DataError for a score that is not on the scale from 1 to 10, which could not be compared with others."""
    system, repeats = name_of(results), Counter[tuple[int, float]]()
    records = []
    for row in sorted(results.rows, key=lambda row: (row.context_length, row.depth_percent, row.source)):
        if not _LOWEST <= row.score <= TOP:
            raise DataError(row.source, f"{row.score:g} is not a score from {_LOWEST} to {TOP}.", field="score")
        cell = row.context_length, row.depth_percent
        records.append(_record(system, row, repeats[cell]))
        repeats[cell] += 1
    rows = [[row.context_length, row.depth_percent, row.score, row.answer, row.needle] for row in results.rows]
    spec: dict[str, JSON] = {"kind": PUBLISHED, "rows": len(rows), "sha256": _hash(sorted(map(to_json, rows)))}
    metrics = (NeedleFound(), NeedleRefused())
    return ImportedResults(system, spec, tuple(records), {GIVEN: 1} | {one.name: one.version for one in metrics})


def taken_from_run(run: Run, name: str, *, names: Iterable[str] = ()) -> list[ImportedResults]:
    """The systems of a run of ours with their records. `name`: what the run is called; it tells systems apart that have
    one of the `names` of others. Raises UsageError where it is a run of something else."""
    question = run.meta.get("question", {})
    if not isinstance(question, dict) or question.get("benchmark") != "niah":
        raise UsageError(f"{name} is a run of {dict(question).get('benchmark')!r}, not of niah.")
    versions = {str(metric): int(version) for metric, version in dict(run.meta.get("metrics", {})).items()}
    others, found = set(names), list[ImportedResults]()
    for system, spec in run.systems.items():
        called = f"{system} ({name})" if system in others else system
        seen = set[str]()
        records = [_own(record, called, seen) for record in run.records(system=system)]
        if records:
            held: dict[str, JSON] = dict(spec) | {"taken": _hash([[one.case.id, one.scores] for one in records])}
            found.append(ImportedResults(called, held, tuple(records), versions))
    return found


def _record(system: str, row: CellResult, repeat: int) -> Record:
    asked = _known(row.needle)
    kind = "other" if asked is None else "sandwich"
    condition: dict[str, Scalar] = {
        "ability": "needle", "language": "" if asked is None else "en", "length": row.context_length,
        "depth": row.depth_percent, "length_reached": row.context_length, "depth_reached": row.depth_percent,
        "template": "", "needle": kind, "needles": 1, "repeat": repeat, "tokenizer": "", "mode": "full",
    }  # fmt: skip
    mark = hashlib.sha256(row.needle.encode()).hexdigest()[:_MARK]
    name = f"{kind}/{row.context_length}/{row.depth_percent:g}/{repeat}"
    sample = Sample(
        name, "", () if asked is None else asked.answers, language="" if asked is None else "en",
        meta={"needle": row.needle} if row.needle else {},
    )  # fmt: skip
    passage = Passage("haystack", "", meta={**sample.meta, "length": row.context_length, "depth": row.depth_percent})
    query = Query("", (passage,), language=sample.language, repeat=repeat)
    tail = f"/r{repeat}" if repeat else ""
    case = Case(
        f"needle/{kind}-{mark}/{row.context_length:07d}/{row.depth_percent:07.3f}{tail}", sample, condition, query
    )
    response = Response(row.answer, finish_reason="" if row.answer else NO_ANSWER, model=row.model or "")
    scores = {GIVEN: Score.of((row.score - _LOWEST) / (TOP - _LOWEST), evidence={"rating": row.score})}
    if row.answer:
        scores[NeedleRefused.name] = NeedleRefused().score(case, response)
        if asked is not None:
            scores[NeedleFound.name] = NeedleFound().score(case, response)
    return Record(system, case, response, None, scores)


def _known(needle: str) -> Asked | None:
    """The sandwich, where the needle is that sentence, however it is spaced."""
    sandwich = make_needle("sandwich", "en", random.Random(0))
    return sandwich if " ".join(needle.split()) == sandwich.needles[0] else None


def _own(record: Record, system: str, seen: set[str]) -> Record:
    """A record of ours under an id that tells it from another run's cell of that name, whose text may differ. Of two
    cells with the same text (neighbouring depths may have one place) the later is another repeat, to be told apart."""
    case, query = record.case, record.case.query
    while to_json(query) in seen:
        query = replace(query, repeat=query.repeat + 1)
    seen.add(to_json(query))
    mark = _hash([case.sample, case.condition, query])[:_MARK]
    return replace(record, system_id=system, case=replace(case, id=f"{case.id}~{mark}", lane="", query=query))


def _hash(value: Sequence[object]) -> str:
    return hashlib.sha256(to_json(value).encode()).hexdigest()
