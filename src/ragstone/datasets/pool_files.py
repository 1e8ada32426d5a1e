"""Reads pools: MIRAGE's files (`datasets.mirage`), the hub's form of the same (one row a question, its chunks beside
it), or a BEIR folder (`corpus.jsonl`, `queries.jsonl`, `qrels/*.tsv`; answers if a query has them)."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragstone.datasets.mirage import (
    MirageChunk,
    MirageQuestion,
    no_json,
    plain,
    read_oracle,
    read_pool,
    read_questions,
    sha256_of,
)
from ragstone.datasets.pools import Pool, PoolQuestion, mirage_pool
from ragstone.datasets.tabular.columnar import parquet_records
from ragstone.errors import DataError
from ragstone.messages import messages, preferred_language
from ragstone.storage import FormatError, check_regular, parse_json, reading, text_of
from ragstone.types import Passage

_GRADE = re.compile(r"[+-]?[0-9]{1,9}")
_HEADERS = ("score", "relevance", "rel", "grade", "label")
MIRAGE_FILES = ("dataset.json", "doc_pool.json", "oracle.json")


def read_mirage(folder: Path, *, name: str = "", license: str = "") -> Pool:  # noqa: A002
    """`dataset.json`, `doc_pool.json` and `oracle.json` of a folder. Raises DataError."""
    paths = {part: folder / part for part in MIRAGE_FILES}
    if missing := [part for part, path in paths.items() if not path.is_file()]:
        raise DataError(folder, f"has no {' and no '.join(missing)}; MIRAGE needs {', '.join(MIRAGE_FILES)}.")
    return mirage_pool(
        name or folder.name,
        read_questions(paths["dataset.json"]),
        read_pool(paths["doc_pool.json"]),
        read_oracle(paths["oracle.json"]),
        where=folder,
        sha256={part: sha256_of(path) for part, path in paths.items()},
        license=license,
    )


def read_hub(path: Path, *, name: str = "", license: str = "") -> Pool:  # noqa: A002
    """The hub's form: one row a question, with `doc_pool` as a mapping of lists (or a list of chunks) and `oracle` as
    a chunk (or several that are needed together). JSON lines, a JSON list, or Parquet (extra `files`). Raises DataError
    or MissingExtra."""
    questions, chunks, oracle = [], list[MirageChunk](), dict[str, MirageChunk | list[MirageChunk]]()
    ids: set[str] = set()
    for number, row in enumerate(_rows(path), 1):
        part = ""
        try:
            question = msgspec.convert(row, MirageQuestion)
            part = "doc_pool"
            row_chunks = msgspec.convert(_listed(row.get("doc_pool")), list[MirageChunk])
            part = "oracle"  # without its query, as in `oracle.json` by query
            oracle_chunks = [
                {"mapped_id": question.query_id} | part_of_oracle
                if isinstance(part_of_oracle, dict)
                else part_of_oracle
                for part_of_oracle in _several(row)
            ]
            oracle[question.query_id] = msgspec.convert(oracle_chunks, list[MirageChunk])
        except msgspec.ValidationError as error:
            problem, place = plain(error)
            message = f"row {number} is none of MIRAGE: {problem}."
            raise DataError(path, message, field=(part + place).removeprefix(".")) from None
        if not question.query.strip():
            raise DataError(path, f"row {number} ({question.query_id}) has no question.", field="query")
        if question.query_id in ids:
            raise DataError(path, f"row {number}: {question.query_id!r} occurs twice.", field="query_id")
        ids.add(question.query_id)
        questions.append(question)
        chunks += row_chunks
    if not questions:
        raise DataError(path, "holds no question.")
    return mirage_pool(
        name or path.stem, questions, chunks, oracle, where=path, sha256={path.name: sha256_of(path)}, license=license
    )


def _listed(pool: Any) -> Any:
    """The chunks of a row, where they are a mapping of lists as the hub has them; anything else as it is."""
    if not isinstance(pool, dict):
        return pool
    columns = [values if isinstance(values, list) else [] for values in pool.values()]
    if len(set(map(len, columns))) > 1:
        raise msgspec.ValidationError("the lists of doc_pool differ in length")
    return [dict(zip(pool, values, strict=True)) for values in zip(*columns, strict=True)]


def _several(row: Mapping[str, Any]) -> list[Any]:
    """The oracle of a row, one chunk or more; an empty list is as invalid as a missing one."""
    oracle = row.get("oracle")
    return oracle if isinstance(oracle, list) and oracle else [oracle]


def read_beir(folder: Path, *, name: str = "", split: str = "") -> Pool:
    """A BEIR folder. A query's `answer` or `answers`, and its `evidence`, beside its text or in its `metadata`, are
    taken as such; the passages that the qrels judge are those mapped to it, those with a grade above 0 its gold and its
    oracle. `split`: the file of `qrels/` by its stem; "": test, or the only one.

    Queries without a positive grade are left out, as in BEIR; they, and relevant documents that the corpus does not
    have, are counted in `doubts`. Raises DataError."""
    corpus, queries, qrels = folder / "corpus.jsonl", folder / "queries.jsonl", _qrels_of(folder, split)
    passages = tuple(_corpus(corpus))
    by_id = {passage.id: passage for passage in passages}
    if len(by_id) < len(passages):
        (twice, _), *_ = Counter(passage.id for passage in passages).most_common(1)
        raise DataError(corpus, f"the document {twice!r} occurs twice.", field="_id")
    graded = _graded(qrels)
    questions, query_ids, without = [], set[str](), []
    for line, row in _lines(queries):
        key, text = (str(row.get("_id", "")), row.get("text")) if isinstance(row, dict) else ("", None)
        if not key or not isinstance(text, str) or not text.strip():
            raise DataError(queries, "expected _id and text.", line=line)
        if key in query_ids:
            raise DataError(queries, f"the query {key!r} occurs twice.", line=line, field="_id")
        query_ids.add(key)
        judged = graded.pop(key, {})
        grades = {doc: float(grade) for doc, grade in judged.items() if grade > 0}
        if not grades:
            without.append(key)
            continue
        oracle = tuple(msgspec.structs.replace(by_id[doc], relevant=True) for doc in grades if doc in by_id)
        questions.append(
            PoolQuestion(
                key, text, _texts(queries, line, row, "answers", "answer"), "", "", tuple(grades),
                tuple(doc for doc in judged if doc in by_id), oracle,
                {doc: grade for doc, grade in grades.items() if grade != 1}, _texts(queries, line, row, "evidence"),
            )
        )  # fmt: skip
    if graded:
        raise DataError(qrels, f"judges the query {next(iter(graded))!r}, which queries.jsonl does not have.")
    if not any(question.oracle for question in questions):
        raise DataError(qrels, "no query has a relevant document in the corpus." if questions else
                        "no query has a relevant document.", advice=f"The corpus is {corpus}.")  # fmt: skip
    hashes = {part: sha256_of(path) for part, path in ((file.name, file) for file in (corpus, queries, qrels))}
    doubts = tuple(_beir_doubts(qrels, questions, by_id, without, len(query_ids)))
    return Pool(name or folder.name, tuple(questions), passages, hashes, doubts=doubts)


def _qrels_of(folder: Path, split: str) -> Path:
    """The file of judgements of a split."""
    listed = sorted((folder / "qrels").glob("*.tsv")) if (folder / "qrels").is_dir() else []
    by_split = {path.stem: path for path in listed}
    if split and split not in by_split:
        known = f"It has: {', '.join(by_split)}." if by_split else "It has no folder qrels."
        raise DataError(folder, f"has no split {split!r}.", advice=known)
    if split or "test" in by_split:
        return by_split[split or "test"]
    return listed[0] if listed else folder / "qrels.tsv"


def _texts(path: Path, line: int, row: Mapping[str, Any], *names: str) -> tuple[str, ...]:
    """The texts of the first of these fields, of a query or of its `metadata`."""
    metadata = row.get("metadata")
    about = metadata if isinstance(metadata, dict) else {}
    value = next((part[word] for part in (row, about) for word in names if part.get(word)), ())
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, (list, tuple)) or not all(isinstance(element, str | int | float) for element in values):
        raise DataError(path, "expected a text or a list of texts.", line=line, field=names[0])
    return tuple(text for element in values if (text := str(element)).strip())


def _beir_doubts(
    qrels: Path, questions: Sequence[PoolQuestion], by_id: Mapping[str, Passage], without: Sequence[str], total: int
) -> Iterator[str]:
    texts = messages(__name__, preferred_language())
    if without:
        yield texts["no_relevant"].format(count=len(without), total=total, file=qrels.name, first=without[0])
    absent = [(question.id, doc) for question in questions for doc in question.gold if doc not in by_id]
    if absent:
        queries = len({query for query, _ in absent})
        yield texts["absent"].format(count=len(absent), queries=queries, file=qrels.name, first=absent[0][1])


def read_any_pool(path: Path, *, split: str = "") -> Pool:
    """The pool in a folder or file, by its format. `split`: of BEIR's qrels. Raises DataError if it is none."""
    if (path / "corpus.jsonl").is_file():
        return read_beir(path, split=split)
    if split:
        raise DataError(path, f"has no split {split!r}: only a BEIR folder with qrels/{split}.tsv has splits.")
    if path.is_dir():
        if any((path / part).is_file() for part in MIRAGE_FILES):
            return read_mirage(path)
        tables = sorted([*path.glob("*.parquet"), *path.glob("data/*.parquet")])
        if len(tables) == 1:
            return read_hub(tables[0])
        packed = any(path.glob("*.gz"))
        raise DataError(
            path, f"holds neither MIRAGE's files ({', '.join(MIRAGE_FILES)}) nor BEIR's (corpus.jsonl, queries.jsonl, "
            "qrels/test.tsv).", advice="Unpack its .gz files first." if packed else "",
        )  # fmt: skip
    if path.name in MIRAGE_FILES and all((path.parent / part).is_file() for part in MIRAGE_FILES):
        raise DataError(path, "is one of MIRAGE's three files.", advice=f"Name their folder: {path.parent}")
    if path.is_file():
        return read_hub(path)
    raise DataError(path, "is neither a file nor a folder." if path.exists() else "no such folder or file.")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.suffix == ".parquet":
        yield from parquet_records(path)
        return
    for line, row in _lines(path):
        if not isinstance(row, dict):
            raise DataError(path, "expected a JSON object a line.", line=line)
        yield row


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The JSON objects of a file: one a line, or a list of them."""
    with reading(path):
        check_regular(path)
        data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise no_json(path, data, str(error)) from None
    if text.lstrip().startswith("["):
        try:
            yield from enumerate(parse_json(text), 1)
        except FormatError as error:
            raise DataError(path, f"{error}.", line=error.line) from None
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, parse_json(line)
            except FormatError as error:
                raise DataError(path, f"{error}.", line=number) from None


def _corpus(path: Path) -> Iterator[Passage]:
    for line, row in _lines(path):
        if not isinstance(row, dict) or not row.get("_id") or not isinstance(row.get("text"), str):
            raise DataError(path, "expected _id and text.", line=line)
        yield Passage(str(row["_id"]), row["text"], str(row.get("title") or ""))


def _graded(path: Path) -> dict[str, dict[str, int]]:
    """Query → document → grade, of a BEIR or TREC file of judgements."""
    grades: dict[str, dict[str, int]] = {}
    try:
        for number, cells in enumerate(csv.reader(io.StringIO(text_of(path)), delimiter="\t"), 1):
            parts = [cell.strip() for cell in cells] if len(cells) > 1 else (cells[0].split() if cells else [])
            if not parts or (number == 1 and parts[-1].lower() in _HEADERS):
                continue
            if len(parts) < 3 or not _GRADE.fullmatch(parts[-1]):
                message = f"expected query, document and grade; found {parts[:4]}."
                raise DataError(path, message, line=number)
            query, doc, grade = parts[0], parts[-2], parts[-1]
            grades.setdefault(query, {})[doc] = int(grade)
    except UnicodeDecodeError:
        raise DataError(path, "is not UTF-8.", advice="Save it as UTF-8.") from None
    except csv.Error as error:
        raise DataError(path, f"cannot be read as a table ({error}).") from None
    return grades
