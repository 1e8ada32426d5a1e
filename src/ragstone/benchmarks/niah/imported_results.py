"""Results of other programs as records, with the scores that they came with.

A row becomes a case without a text: its length and depth, and its needle if the file has it. An answer in the file is
scored by rule like ragstone's own answers, if the parts of the needle are known (the sandwich in San Francisco). The
score from 1 to 10 is kept under a separate name, `needle.given`, because it is not from a judge of this run.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from msgspec.structs import replace

from ragstone.benchmarks.niah.aggregate import GIVEN, PUBLISHED
from ragstone.benchmarks.niah.needles import NeedleQuestion, make_needle
from ragstone.benchmarks.niah.options import CONDITION_TYPES, NOTE_TYPES
from ragstone.benchmarks.niah.rescore import TOP, CellResult, Results, read_results
from ragstone.benchmarks.plugin import ImportedResults
from ragstone.errors import DataError, UsageError
from ragstone.metrics.needle import NeedleFound, NeedleRefused
from ragstone.runs import is_run_file, open_run
from ragstone.structs import JSON, Scalar, to_json
from ragstone.types import NO_ANSWER, Case, Passage, Query, Record, Response, Run, Sample, Score

_LOWEST = 1
_HASH_DIGITS = 6  # hash digits that distinguish cases of the same name


def read_all(paths: Sequence[Path]) -> list[ImportedResults]:
    """Read files and folders of other programs' results and the systems of run files. Raises RagstoneErrors."""
    runs, result_paths = (
        [path for path in paths if is_run_file(path)],
        [path for path in paths if not is_run_file(path)],
    )
    results = read_results(result_paths) if result_paths else []
    systems = [name for path in runs for name in _systems(path)] + [name_of(result) for result in results]
    duplicates = {name for name in systems if systems.count(name) > 1}
    imported = [*map(records_from_results, results)]
    for path in runs:
        with open_run(path) as run:
            run.expect(CONDITION_TYPES, NOTE_TYPES)
            imported += records_from_run(run, path.name, names=duplicates)
    return imported


def _systems(path: Path) -> list[str]:
    with open_run(path) as run:
        return list(run.systems)


def name_of(results: Results) -> str:
    """The name of results: their model or else their file, with the version if there is one."""
    name = results.model or PurePath(results.source).name or "unnamed"
    return name if results.version is None else f"{name}, version {results.version}"


def records_from_results(results: Results) -> ImportedResults:
    """The rows of one model and version as records, ordered by cell; rows of the same cell become its repeats.

    Raises DataError for a score outside the scale from 1 to 10, which would not be comparable."""
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
    return ImportedResults(
        system, spec, tuple(records), {GIVEN: 1} | {metric.name: metric.version for metric in metrics}
    )


def records_from_run(run: Run, name: str, *, names: Iterable[str] = ()) -> list[ImportedResults]:
    """The systems of a run file with their records. `name`, the run's name, is appended to system names that are in
    `names`, which other inputs use too. Raises UsageError if it is a run of another benchmark."""
    question = run.meta.get("question", {})
    if not isinstance(question, dict) or question.get("benchmark") != "niah":
        raise UsageError(f"{name} is a run of {dict(question).get('benchmark')!r}, not of niah.")
    versions = {str(metric): int(version) for metric, version in dict(run.meta.get("metrics", {})).items()}
    taken_names, imported = set(names), list[ImportedResults]()
    for system, spec in run.systems.items():
        imported_name = f"{system} ({name})" if system in taken_names else system
        seen = set[str]()
        records = [_imported_record(record, imported_name, seen) for record in run.records(system=system)]
        if records:
            full_spec: dict[str, JSON] = dict(spec) | {
                "taken": _hash([[record.case.id, record.scores] for record in records])
            }
            imported.append(ImportedResults(imported_name, full_spec, tuple(records), versions))
    return imported


def _record(system: str, row: CellResult, repeat: int) -> Record:
    question = _known_needle(row.needle)
    kind = "other" if question is None else "sandwich"
    condition: dict[str, Scalar] = {
        "ability": "needle", "language": "" if question is None else "en", "length": row.context_length,
        "depth": row.depth_percent, "length_reached": row.context_length, "depth_reached": row.depth_percent,
        "template": "", "needle": kind, "needles": 1, "repeat": repeat, "tokenizer": "", "mode": "full",
    }  # fmt: skip
    needle_hash = hashlib.sha256(row.needle.encode()).hexdigest()[:_HASH_DIGITS]
    name = f"{kind}/{row.context_length}/{row.depth_percent:g}/{repeat}"
    sample = Sample(
        name, "", () if question is None else question.answers, language="" if question is None else "en",
        meta={"needle": row.needle} if row.needle else {},
    )  # fmt: skip
    passage = Passage("haystack", "", meta={**sample.meta, "length": row.context_length, "depth": row.depth_percent})
    query = Query("", (passage,), language=sample.language, repeat=repeat)
    suffix = f"/r{repeat}" if repeat else ""
    case = Case(
        f"needle/{kind}-{needle_hash}/{row.context_length:07d}/{row.depth_percent:07.3f}{suffix}",
        sample,
        condition,
        query,
    )
    response = Response(row.answer, finish_reason="" if row.answer else NO_ANSWER, model=row.model or "")
    scores = {GIVEN: Score.of((row.score - _LOWEST) / (TOP - _LOWEST), evidence={"rating": row.score})}
    if row.answer:
        scores[NeedleRefused.name] = NeedleRefused().score(case, response)
        if question is not None:
            scores[NeedleFound.name] = NeedleFound().score(case, response)
    return Record(system, case, response, None, scores)


def _known_needle(needle: str) -> NeedleQuestion | None:
    """The sandwich question, if the needle is its sentence (ignoring whitespace)."""
    sandwich = make_needle("sandwich", "en", random.Random(0))
    return sandwich if " ".join(needle.split()) == sandwich.needles[0] else None


def _imported_record(record: Record, system: str, seen: set[str]) -> Record:
    """A record under an id that distinguishes it from another run's cell of the same name, whose text may differ. Of
    two cells with the same text (adjacent depths may share a position) the later one becomes another repeat."""
    case, query = record.case, record.case.query
    while to_json(query) in seen:
        query = replace(query, repeat=query.repeat + 1)
    seen.add(to_json(query))
    record_hash = _hash([case.sample, case.condition, query])[:_HASH_DIGITS]
    return replace(record, system_id=system, case=replace(case, id=f"{case.id}~{record_hash}", lane="", query=query))


def _hash(value: Sequence[object]) -> str:
    return hashlib.sha256(to_json(value).encode()).hexdigest()
