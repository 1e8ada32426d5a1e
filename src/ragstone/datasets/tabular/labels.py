"""Adds labels to passages from relevance judgements, and texts to passages that have only ids."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from ragstone.datasets.tabular import trec
from ragstone.datasets.tabular.cells import text
from ragstone.datasets.tabular.items import Item, spooled
from ragstone.datasets.tabular.problems import CellError, warning
from ragstone.datasets.tabular.rows import DataRow, Raw, Rows
from ragstone.datasets.tabular.sources import open_file
from ragstone.datasets.tabular.texts import encoding_of
from ragstone.datasets.tabular.words import plain_name
from ragstone.errors import DataError, UsageError
from ragstone.storage import Spool, check_regular
from ragstone.types import Passage

_ID = ("_id", "id", "doc_id", "docid", "docno", "corpus_id", "passage_id", "document_id", "query_id", "qid")
_TEXT = ("text", "contents", "content", "passage", "body", "document", "query", "question")
_TITLE = ("title",)


def read_qrels(path: Path) -> trec.Qrels:
    """Reads relevance judgements: TREC's four columns, or a table with column names (TSV, CSV, JSON, Parquet)."""
    _must_exist(path, "qrels")
    return trec.grades_of(Rows(_qrels(path)))


def read_queries(path: Path) -> dict[str, str]:
    """Reads queries: id → text."""
    return {name: body for name, body, _ in _documents(Rows(open_file(path)).take(), path)}


def with_labels(items: Sequence[Item], qrels: trec.Qrels, name: str) -> tuple[Spool[Item], list[str]]:
    """The items with labelled passages from `qrels` instead of their own, and warnings. Raises DataError if no query is
    an item's id."""
    judged_ids = {item.sample.id for item in items} & qrels.keys()
    if not judged_ids:
        some, ids = ", ".join(map(repr, list(qrels)[:3])), ", ".join(repr(item.sample.id) for item in items[:3])
        raise DataError(
            name, f"no query in it ({some}…) is the id of a row ({ids}…).", advice="Name the column: --map id=COLUMN."
        )
    labelled = spooled()
    for item in items:
        grades = qrels.get(item.sample.id)
        if grades is not None:
            gold = tuple(Passage(doc, "", relevant=grade > 0, meta={"grade": grade}) for doc, grade in grades.items())
            sample = msgspec.structs.replace(item.sample, passages=gold)
            item = msgspec.structs.replace(item, sample=sample)  # noqa: PLW2901
        labelled.append(item)
    warnings = []
    if beyond := len(qrels) - len(judged_ids):
        warnings.append(warning("no_row", name=name, count=beyond, total=len(qrels)))
    return labelled, warnings


def with_texts(items: Sequence[Item], corpus: Path) -> tuple[Spool[Item], list[str]]:
    """The items with missing texts of passages filled in from a file or a folder's `corpus.jsonl`, and warnings. Keeps
    only the required texts in memory."""
    _must_exist(corpus, "corpus")
    path = corpus / "corpus.jsonl" if corpus.is_dir() else corpus
    without_text = {passage.id for item in items for passage in _passages(item) if not passage.text}
    texts: dict[str, tuple[str, str]] = {}
    for name, body, title in _documents(open_file(path).rows, path):
        if name in without_text:
            texts[name] = (body, title)
    warnings = []
    if missing := len(without_text - texts.keys()):
        warnings.append(warning("not_in_corpus", name=path.name, count=missing, total=len(without_text)))

    def filled(passages: Iterable[Passage]) -> tuple[Passage, ...]:
        return tuple(
            msgspec.structs.replace(passage, text=texts[passage.id][0], title=passage.title or texts[passage.id][1])
            if not passage.text and passage.id in texts
            else passage
            for passage in passages
        )

    filled_items = spooled()
    for item in items:
        sample = msgspec.structs.replace(item.sample, passages=filled(item.sample.passages))
        response = item.response
        if response is not None:
            response = msgspec.structs.replace(response, passages=filled(response.passages))
        filled_items.append(msgspec.structs.replace(item, sample=sample, response=response))
    return filled_items, warnings


def _passages(item: Item) -> tuple[Passage, ...]:
    return (*item.sample.passages, *(item.response.passages if item.response else ()))


def _qrels(path: Path) -> Raw:
    if path.suffix not in (".json", ".jsonl", ".parquet", ".xlsx", ".csv"):
        encoding, _ = encoding_of(path)
        with path.open(encoding=encoding) as stream:
            first = next((line for line in stream if line.strip()), "")
        if trec.is_qrels_line(first):
            return trec.qrels_lines(path)
    return open_file(path)


def _documents(rows: Iterable[DataRow], path: Path) -> Iterable[tuple[str, str, str]]:
    """(id, text, title) of each row. Raises DataError at the first row without an id."""
    for row in rows:
        names = {plain_name(column): column for column in row.cells}
        try:
            name, body, title = (
                next((text(row.cells[names[key]], "a text") for key in keys if key in names), None)
                for keys in (_ID, _TEXT, _TITLE)
            )
        except CellError as error:
            raise DataError(path, f"{row.where}: {error}") from None
        if row.problem or name is None:
            raise DataError(path, f"{row.where}: {row.problem or 'has no id; expected the fields _id and text.'}")
        yield name, body or "", title or ""


def _must_exist(path: Path, what: str) -> None:
    if not path.exists():
        raise UsageError(f"--{what} {path}: no such file.")
    try:
        check_regular(path)
    except OSError as error:
        raise UsageError(f"--{what} {path}: cannot be read ({error.strerror or error}).") from None
