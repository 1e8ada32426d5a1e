"""Reads retrieval runs and relevance judgements: TREC's formats, BEIR's folders, and tables.

A line of a run is `query Q0 document rank score tag`, a line of judgements (qrels) `query 0 document grade`. As in
trec_eval, runs are sorted by score. Rank, then position, break ties and replace missing scores.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragstone.datasets.tabular.cells import text
from ragstone.datasets.tabular.problems import CellError, Problems, warning
from ragstone.datasets.tabular.rows import DataRow, Raw, Rows
from ragstone.datasets.tabular.texts import encoding_of
from ragstone.datasets.tabular.words import is_question, plain_name
from ragstone.errors import DataError, UsageError, check_name

Qrels = dict[str, dict[str, int]]
"""Query → document → grade; a grade above 0 is relevant."""

_QUERY = ("query_id", "qid", "topic_id", "topic", "q_id")
_DOC = ("doc_id", "docid", "docno", "corpus_id", "document_id", "passage_id", "pid")
_SCORE = ("score", "similarity", "sim")
_RANK = ("rank", "position")
_GRADE = ("relevance", "rel", "grade", "label", "relevant", "score")
_TEXT = ("text", "passage", "content", "document")
_RUN_ENDINGS = (".trec", ".run", ".txt", ".tsv", ".csv", ".json", ".jsonl")
_MAPPING = {"question": "query", "contexts": "retrieved", "id": "query_id"}


def is_run_line(line: str) -> bool:
    """Whether this is a line of a TREC run."""
    parts = line.split()
    return len(parts) == 6 and _number(parts[4]) is not None and _number(parts[3]) is not None


def is_qrels_line(line: str) -> bool:
    """Whether this is a line of TREC qrels."""
    parts = line.split()
    return len(parts) == 4 and parts[3].lstrip("+-").isdigit() and parts[1].isdigit()


def run_rows(path: Path) -> Raw:
    """The lines of a TREC run, as a table."""
    encoding, guess = encoding_of(path)
    return Raw(path.name, _run_lines(path, encoding), warnings=[guess] if guess else [])


def _run_lines(path: Path, encoding: str) -> Iterator[DataRow]:
    with path.open(encoding=encoding, newline="\n") as stream:
        for number, line in enumerate(stream, 1):
            if not (parts := line.split()):
                continue
            where = f"line {number}"
            if len(parts) != 6 or _number(parts[4]) is None:
                yield DataRow(where, {}, "not a line of a run; expected: query Q0 document rank score tag.")
            else:
                yield DataRow(
                    where, dict(zip(("query_id", "Q0", "doc_id", "rank", "score", "run"), parts, strict=True))
                )


def is_run(columns: Sequence[str]) -> bool:
    """Whether a table with these columns is a run, with one document of a query per row."""
    names = {plain_name(column) for column in columns}
    ranked = not names.isdisjoint(_SCORE) or not names.isdisjoint(_RANK)
    return ranked and not names.isdisjoint(_QUERY) and not names.isdisjoint(_DOC)


def runs_as_rows(rows: Rows, queries: Mapping[str, str]) -> Rows:
    """Converts a run to one row per query, in order of first appearance. `queries`: id → text; the id replaces a
    missing text."""
    column = {plain_name(name): name for name in reversed(rows.columns)}
    query, doc, rank, score, body = (
        next((column[name] for name in names if name in column), "") for names in (_QUERY, _DOC, _RANK, _SCORE, _TEXT)
    )
    question_column = next((name for name in rows.columns if is_question(name)), "")
    lists: dict[str, list[tuple[tuple[float, float, int], dict[str, Any]]]] = {}
    where: dict[str, str] = {}
    texts = dict(queries)
    problems: list[DataRow] = []
    for place, row in enumerate(rows.take()):
        if row.problem:
            problems.append(row)
            continue
        name, document = _id(row.cells.get(query)), _id(row.cells.get(doc))
        order = (_number(row.cells.get(score)), _number(row.cells.get(rank)))
        if not name or not document or order == (None, None):
            missing = query if not name else doc if not document else score or rank
            problems.append(
                DataRow(row.where, {}, f"the field {missing!r} is empty or no number; expected a line of a run.")
            )
            continue
        hit = {"id": document, "text": row.cells.get(body) or "", "score": order[0]}
        key = (-(order[0] or 0.0), order[1] or 0.0, place)
        lists.setdefault(name, []).append((key, hit))
        where.setdefault(name, row.where)
        if question_column and isinstance(written := row.cells.get(question_column), str) and written:
            texts.setdefault(name, written)
    query_rows = [
        DataRow(
            where[name],
            {
                "query_id": name,
                "query": texts.get(name) or name,
                "retrieved": [hit for _, hit in sorted(hits, key=_key)],
            },
        )
        for name, hits in lists.items()
    ]
    unnamed = sum(1 for name in lists if not texts.get(name))
    if unnamed:
        rows.raw.warnings.append(warning("no_query_text", count=unnamed, total=len(lists)))
    return rows.instead([*problems, *query_rows], schema="trec", mapping=_MAPPING)


def _key(hit: tuple[tuple[float, float, int], Any]) -> tuple[float, float, int]:
    return hit[0]


@dataclass(frozen=True)
class Beir:
    """The files of a BEIR folder; None for a missing one."""

    queries: Path
    corpus: Path | None
    qrels: Path | None
    run: Path | None
    warnings: tuple[str, ...] = ()


def beir_folder(folder: Path, *, split: str | None = None) -> Beir | None:
    """The files of a BEIR folder; None if it is not one (it has no `queries.jsonl`).

    Judgements: those of `split`, else the only ones, else those of `test`. A run is a file with TREC's extension
    (.trec, .run) or whose name starts with "run" or "results". Raises UsageError if there are several runs or
    splits."""
    queries, corpus = folder / "queries.jsonl", folder / "corpus.jsonl"
    if not queries.is_file():
        return None
    qrels, warnings = _qrels_in(folder, split)
    runs = sorted(path for path in folder.iterdir() if path.is_file() and _is_run_name(path))
    if len(runs) > 1:
        listed = ", ".join(path.name for path in runs)
        raise UsageError(f"{folder} holds several runs ({listed}); name one of them, with --corpus {folder}.")
    return Beir(queries, corpus if corpus.is_file() else None, qrels, runs[0] if runs else None, warnings)


def _is_run_name(path: Path) -> bool:
    is_named_run = plain_name(path.stem).startswith(("run", "results")) and path.suffix in _RUN_ENDINGS
    return is_named_run or path.suffix in (".trec", ".run")


def _qrels_in(folder: Path, split: str | None) -> tuple[Path | None, tuple[str, ...]]:
    paths = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    paths |= {path.stem: path for path in sorted(folder.glob("qrels*.*")) if path.is_file()}
    if split is not None:
        check_name("split", split, paths)
        return paths[split], ()
    if len(paths) <= 1:
        return next(iter(paths.values()), None), ()
    if "test" not in paths:
        raise UsageError(f"{folder} holds the splits {', '.join(map(repr, paths))}; choose one with --split NAME.")
    others = ", ".join(repr(name) for name in paths if name != "test")
    return paths["test"], (warning("other_splits", others=others),)


def grades_of(rows: Rows) -> Qrels:
    """The judgements in a table. Raises DataError or BadData."""
    column = {plain_name(name): name for name in reversed(rows.columns)}
    chosen = [next((column[name] for name in names if name in column), None) for names in (_QUERY, _DOC, _GRADE)]
    if None in chosen:
        listed = ", ".join(map(repr, rows.columns))
        raise DataError(
            rows.raw.source, f"holds no relevance judgements; expected query, document and grade, found {listed}."
        )
    query, doc, grade = (str(name) for name in chosen)
    problems, qrels = Problems(rows.raw.source), Qrels()
    for row in rows.take():
        if row.problem:
            problems.add(row.where, "", row.problem)
            continue
        name, document, number = _id(row.cells.get(query)), _id(row.cells.get(doc)), _number(row.cells.get(grade))
        if not name or not document:
            problems.add(row.where, query if not name else doc, "is empty; expected an id.")
        elif number is None or number != int(number):
            problems.add(row.where, grade, f"found {str(row.cells.get(grade))[:40]!r}; expected a whole number.")
        else:
            qrels.setdefault(name, {})[document] = int(number)
    problems.raise_any()
    return qrels


def qrels_lines(path: Path) -> Raw:
    """The lines of TREC qrels, as a table."""
    encoding, _ = encoding_of(path)
    return Raw(path.name, _qrels_lines(path, encoding))


def _qrels_lines(path: Path, encoding: str) -> Iterable[DataRow]:
    with path.open(encoding=encoding, newline="\n") as stream:
        for number, line in enumerate(stream, 1):
            parts = line.split()
            if parts and len(parts) != 4:
                yield DataRow(f"line {number}", {}, "is no line of qrels; expected: query 0 document grade.")
            elif parts:
                yield DataRow(f"line {number}", {"query_id": parts[0], "doc_id": parts[2], "grade": parts[3]})


def _id(value: Any) -> str:
    try:
        return (text(value, "an id") or "").strip()
    except CellError:
        return ""


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None
