"""Reads files of retrieval runs: TREC, BEIR's JSON and tables, MIRAGE's lists (`retrieval/runs.py` describes them).
Independent of the pool and the questions."""

import csv
import hashlib
import io
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ragstone.errors import DataError
from ragstone.storage import FormatError, gunzip, parse_json

_QUERY = ("query_id", "qid", "query", "topic_id", "topic", "q_id")
_DOCUMENT = ("corpus_id", "doc_id", "docid", "docno", "document_id", "document", "passage_id", "pid", "doc")
_SCORE = ("score", "similarity", "sim")
_RANK = ("rank", "position")
_FORMS = "a TREC run, BEIR's JSON, a table of query, document and score, or MIRAGE's retrieval file"


@dataclass(frozen=True)
class Chunk:
    """A chunk in MIRAGE's retrieval files, which have no chunk ids."""

    text: str
    title: str = ""
    mapped_id: str = ""


class RankedDocument(msgspec.Struct, frozen=True, gc=False):
    """A document in a query's list. `line` counts from 1; it is 0 in a file with a single JSON value, where `item`
    names the position."""

    query: str
    document: str | Chunk
    score: float | None = None
    rank: float | None = None
    line: int = 0
    item: str = ""

    def error(self, path: Path, problem: str, advice: str = "") -> DataError:
        """A DataError that names this row's position."""
        message = f"{self.item}: {problem}" if self.item else problem
        return DataError(path, message, line=self.line, advice=advice)


@dataclass(frozen=True)
class Run:
    """The rows of a file, in order. `ordered`: the lists are already sorted. `tags`: names of TREC runs, complete once
    all rows have been read."""

    form: str
    rows: Iterable[RankedDocument]
    sha256: str
    ordered: bool = False
    tags: set[str] = field(default_factory=set)


def read_run(path: Path) -> Run:
    """Reads a run. Raises DataError; for an invalid row, only when the iteration reaches it."""
    try:
        data = path.read_bytes()
        sha256 = hashlib.sha256(data).hexdigest()
        if data.startswith(b"SQLite format 3\x00"):
            raise DataError(path, f"is a run file of ragstone, not a retrieval run; expected {_FORMS}.")
        if data[:2] == b"\x1f\x8b":
            data = gunzip(path)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(path, "there is no such file.") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(path, "is not UTF-8.", line=line, advice="Save it as UTF-8.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(path, f"cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    first = next((line for line in _lines(text) if line.strip()), "")
    if not first:
        raise DataError(path, f"is empty; expected {_FORMS}.")
    if first.lstrip()[0] in "[{" and not _is_trec(first):
        return _json(path, text, first, sha256)
    if _is_trec(first):
        tags: set[str] = set()
        return Run("TREC", _trec(path, text, tags), sha256, tags=tags)
    return Run("table", _table(path, text, first), sha256)


def _lines(text: str) -> Iterator[str]:
    return (line.removesuffix("\r") for line in _at_newlines(text))


def _at_newlines(text: str) -> Iterator[str]:
    """As `text.split("\\n")`, lazily. `splitlines` would also split at other characters, which an id may contain."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _number(value: Any) -> float | None:
    """`value` as a finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _id(value: Any) -> str:
    """`value` as an id, if it is a text or a whole number; else ""."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _is_trec(line: str) -> bool:
    parts = line.split()
    return len(parts) == 6 and _number(parts[3]) is not None and _number(parts[4]) is not None


def _trec(path: Path, text: str, tags: set[str]) -> Iterator[RankedDocument]:
    for number, line in enumerate(_lines(text), 1):
        if not (parts := line.split()):
            continue
        score, rank = (_number(parts[4]), _number(parts[3])) if len(parts) == 6 else (None, None)
        if score is None or rank is None:
            raise DataError(
                path, f"is not a TREC line: {line.strip()[:60]!r}; expected: query Q0 document rank score tag.",
                line=number,
            )  # fmt: skip
        tags.add(parts[5])
        yield RankedDocument(parts[0], parts[2], score, rank, line=number)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]+", "_", name.strip().lower()).strip("_")


def _column(columns: Sequence[str], names: Sequence[str]) -> int | None:
    """The index of the column named by the first match in `names`, or None."""
    plain = [_plain(column) for column in columns]
    return next((plain.index(name) for name in names if name in plain), None)


def _table(path: Path, text: str, first: str) -> Iterable[RankedDocument]:
    # Tab-separated tables have no quoting: a quotation mark is an ordinary character.
    form: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if "\t" in first else {"delimiter": ","}
    rows = csv.reader(io.StringIO(text, newline=""), **form)
    filled = _filled(path, rows)
    head = next(filled)
    places = _places(path, head)
    entries = (_of_row(path, cells, places, rows.line_num) for cells in filled)
    if places == (0, 1, 2, None) and _number(head[2]) is not None:
        return _counted([_of_row(path, head, places, rows.line_num), *entries])
    return entries


def _filled(path: Path, rows: Any) -> Iterator[list[str]]:
    """The rows of a csv reader that are not blank."""
    try:
        yield from (cells for cells in rows if any(cell.strip() for cell in cells))
    except csv.Error as error:
        raise DataError(path, f"cannot be read as a table ({error}).", line=rows.line_num) from None


def _counted(entries: list[RankedDocument]) -> list[RankedDocument]:
    """Turns the third of three unnamed columns from scores into ranks if it counts 1, 2, 3… for each query."""
    last: dict[str, float] = {}
    for entry in entries:
        if entry.score != last.get(entry.query, 0) + 1:
            return entries
        last[entry.query] = entry.score
    if max(last.values()) < 2:
        return entries
    return [RankedDocument(entry.query, entry.document, None, entry.score, entry.line) for entry in entries]


def _places(path: Path, cells: Sequence[str]) -> tuple[int, int, int | None, int | None]:
    """The columns of query, document, score and rank: from the header, or the first three without one."""
    query, document = _column(cells, _QUERY), _column(cells, _DOCUMENT)
    score, rank = _column(cells, _SCORE), _column(cells, _RANK)
    if query is not None and document is not None and (score is not None or rank is not None):
        return query, document, score, rank
    if len(cells) == 3 and _number(cells[2]) is not None:
        return 0, 1, 2, None
    raise DataError(path, f"is not a run: it starts with {', '.join(cells)[:60]!r}; expected {_FORMS}.", line=1)


def _of_row(
    path: Path, cells: Sequence[str], places: tuple[int, int, int | None, int | None], line: int
) -> RankedDocument:
    def cell(place: int | None) -> str:
        return cells[place].strip() if place is not None and place < len(cells) else ""

    query, document, score, rank = (cell(place) for place in places)
    return _checked(path, query, document, score, rank, line=line, item="")


def _checked(path: Path, query: Any, document: Any, score: Any, rank: Any, *, line: int, item: str) -> RankedDocument:
    """A row of a list. Raises DataError without ids, or without a score or rank."""
    entry = RankedDocument(_id(query), _id(document), _number(score), _number(rank), line, item)
    if not entry.query or not entry.document:
        raise entry.error(path, f"it has no {'document' if entry.query else 'query'}; expected an id.")
    if entry.score is None and (entry.rank is None or score not in (None, "")):
        raise entry.error(path, f"its score {score!r} is not a finite number.")
    return entry


def _json(path: Path, text: str, first: str, sha256: str) -> Run:
    try:
        value = parse_json(text)
    except FormatError as error:
        if first.lstrip().startswith("{") and _is_object(first):
            return Run("JSON lines", _json_lines(path, text), sha256)
        raise DataError(path, f"{error}.", line=error.line, advice=f"Expected {_FORMS}.") from None
    if isinstance(value, list):
        if value and all(isinstance(row, dict) and "top_chunks" in row for row in value):
            return Run("MIRAGE", _mirage(path, value), sha256, ordered=True)
        return Run("JSON list", _rows(path, ((0, f"item {number}", row) for number, row in enumerate(value))), sha256)
    if _column(list(value), _DOCUMENT) is not None and _column(list(value), _QUERY) is not None:
        return Run("JSON lines", _json_lines(path, text), sha256)  # a single line
    return Run("BEIR", _beir(path, value), sha256)


def _is_object(line: str) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except FormatError:
        return False


def _json_lines(path: Path, text: str) -> Iterator[RankedDocument]:
    def rows() -> Iterator[tuple[int, str, Any]]:
        for number, line in enumerate(_lines(text), 1):
            if line.strip():
                try:
                    yield number, "", parse_json(line)
                except FormatError as error:
                    raise DataError(path, f"{error}.", line=number) from None

    return _rows(path, rows())


def _rows(path: Path, rows: Iterable[tuple[int, str, Any]]) -> Iterator[RankedDocument]:
    for line, item, row in rows:
        if not isinstance(row, dict):
            raise RankedDocument("", "", line=line, item=item).error(path, f"is not an object; expected {_FORMS}.")
        keys = list(row)
        places = [_column(keys, names) for names in (_QUERY, _DOCUMENT, _SCORE, _RANK)]
        query, document, score, rank = (None if place is None else row[keys[place]] for place in places)
        yield _checked(path, query, document, score, rank, line=line, item=item)


def _beir(path: Path, value: Mapping[str, Any]) -> Iterator[RankedDocument]:
    for query, documents in value.items():
        if not isinstance(documents, dict):
            raise DataError(path, "expected {document: score}.", field=query)
        for document, score in documents.items():
            yield _checked(path, query, document, score, None, line=0, item=f"query {query!r}, document {document!r}")


def _mirage(path: Path, rows: Sequence[Mapping[str, Any]]) -> Iterator[RankedDocument]:
    queries: set[str] = set()
    for number, row in enumerate(rows):
        query, chunks, scores = _id(row.get("query_id")), row["top_chunks"], row.get("scores")
        blank = RankedDocument(query, "", item=f"item {number}")
        if not query:
            raise blank.error(path, "it has no query_id.")
        if query in queries:
            raise blank.error(path, f"the query {query!r} occurs twice.")
        queries.add(query)
        if not isinstance(chunks, list):
            raise blank.error(path, "top_chunks should be a list of chunks.")
        numbers = [_number(score) for score in scores] if isinstance(scores, list) else []
        if len(numbers) != len(chunks) or None in numbers:
            numbers = [None] * len(chunks)
        for rank, (chunk, score) in enumerate(zip(chunks, numbers, strict=True), 1):
            if not isinstance(chunk, dict) or not isinstance(chunk.get("doc_chunk"), str):
                raise blank.error(path, f"chunk {rank} has no doc_chunk.")
            known = Chunk(chunk["doc_chunk"], str(chunk.get("doc_name") or ""), _id(chunk.get("mapped_id")))
            yield RankedDocument(query, known, score, rank, item=f"item {number} ({query})")
