"""Chooses the reader for a source by its first bytes, then by its file extension; reads rows from memory.

In memory are lists of objects, frames of pandas and polars, data sets of Hugging Face. None of these libraries is
imported; their objects are recognized by their methods."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from ragstone.datasets.jsonlines import kind_of
from ragstone.datasets.signatures import TABLE_MARKS, reject_binary
from ragstone.datasets.tabular import trec
from ragstone.datasets.tabular.columnar import arrow_rows, dataset_folder, parquet_rows
from ragstone.datasets.tabular.csvfiles import csv_rows
from ragstone.datasets.tabular.jsonfiles import json_rows
from ragstone.datasets.tabular.problems import warning
from ragstone.datasets.tabular.rows import DataRow, Raw
from ragstone.datasets.tabular.sheets import xlsx_rows
from ragstone.datasets.tabular.texts import encoding_of
from ragstone.datasets.tabular.traces.files import is_json_spans, joined, json_spans, protobuf_spans
from ragstone.datasets.tabular.traces.protobuf import is_protobuf
from ragstone.errors import DataError, RagstoneError, UsageError
from ragstone.storage import leads_out, reading

_EXPECTED = "a path, a list of dicts, a pandas or polars frame, or a datasets.Dataset"


def memory_rows(source: Any) -> Raw:
    """The rows of a value. Raises UsageError if it has none."""
    kind = type(source).__name__
    if _is_frame_of_splits(source):
        names = ", ".join(map(repr, source))
        raise UsageError(f"{kind}: holds the splits {names}; give one of them: data[{next(iter(source))!r}].")
    name = "data" if kind in ("list", "tuple", "dict", "generator") else kind
    return Raw(name, _numbered(_records(source)))


def _records(source: Any) -> Iterable[Any]:
    if callable(method := getattr(source, "iter_rows", None)):  # polars
        return method(named=True)  # type: ignore[no-any-return]
    if hasattr(source, "iloc") and callable(method := getattr(source, "to_dict", None)):  # pandas
        return method(orient="records")  # type: ignore[no-any-return]
    if callable(collect := getattr(source, "collect", None)) and not isinstance(source, Mapping):  # a lazy polars frame
        return _records(collect())
    if isinstance(source, Mapping):
        return _columns(source)
    if isinstance(source, (str, bytes)) or not isinstance(source, Iterable):
        raise UsageError(f"The data are {kind_of(source)}; expected {_EXPECTED}.")
    return source


def _columns(source: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a mapping of columns."""
    lengths = {name: len(column) for name, column in source.items() if hasattr(column, "__len__")}
    if not source or len(lengths) < len(source) or any(isinstance(column, str) for column in source.values()):
        raise UsageError(f"The data are one object that is not columns of equal length; expected {_EXPECTED}.")
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} has {count}" for name, count in lengths.items())
        raise UsageError(f"The data are columns of different lengths ({shown}); expected {_EXPECTED}.")
    columns = [list(column) for column in source.values()]
    return (dict(zip(source, row, strict=True)) for row in zip(*columns, strict=True))


def _numbered(records: Iterable[Any]) -> Iterator[DataRow]:
    for number, record in enumerate(records, 1):
        cells = _cells(record)
        where = f"row {number}"
        if cells is None:
            yield DataRow(where, {}, f"found {kind_of(record)}; expected an object with named columns.")
        else:
            yield DataRow(where, cells)


def _cells(record: Any) -> dict[str, Any] | None:
    if isinstance(record, Mapping):
        return {str(name): value for name, value in record.items()}
    if callable(dump := getattr(record, "model_dump", None)):  # pydantic: the samples of ragas and deepeval
        return dict(dump())
    if is_dataclass(record) and not isinstance(record, type):
        return asdict(record)
    return None


def _is_frame_of_splits(source: Any) -> bool:
    """Whether this is a datasets.DatasetDict."""
    return isinstance(source, Mapping) and bool(source) and all(
        hasattr(part, "column_names") and not isinstance(part, Mapping) for part in source.values()
    )  # fmt: skip


_LINES = (".jsonl", ".ndjson", ".jsonlines")
_TABLES = (".csv", ".tsv", ".tab", ".psv")
_PROTOBUF = (".pb", ".binpb", ".otlp")
_READABLE = (".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".parquet", ".ndjson", ".arrow", ".trec", ".run", ".txt")


def open_source(source: Any, *, sheet: str | None = None, split: str | None = None, known: Sequence[str] = ()) -> Raw:
    """The rows of a path or of a value in memory. `known`: columns named by the user. Raises UsageError, DataError or
    MissingExtra."""
    if not isinstance(source, (str, Path)):
        return memory_rows(source)
    path = Path(source)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:  # it contains a NUL or is too long
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{str(source)[:80]!r} is no path ({reason}). Name a file or folder.") from None
    if path.is_symlink() and not exists:
        raise UsageError(f"{str(source)!r}: is a link to nothing that is there. Name the file itself.")
    if not str(source) or not exists:
        raise UsageError(f"{str(source)!r}: no such file or folder.{_nearest(path)}")
    if not is_folder and not path.is_file():
        raise UsageError(f"{str(source)!r}: is a pipe or a device, and data are read twice. Save them as a file first.")
    if split is not None and not is_folder:
        raise UsageError(f"{str(source)!r}: is one file, and --split chooses of a folder. Leave it out.")
    raw = _folder(path, split, known) if is_folder else open_file(path, sheet=sheet, known=known)
    raw.path = raw.path or path
    if is_folder and (links := [item.name for item in sorted(path.iterdir()) if leads_out(item, path)]):
        raw.warnings.append(warning("links", names=", ".join(links[:5]) + ("…" if len(links) > 5 else "")))
    return raw


def open_file(path: Path, *, sheet: str | None = None, known: Sequence[str] = ()) -> Raw:
    """The rows of a file."""
    with reading(path), path.open("rb") as file:
        head = file.read(8192)
    if head.startswith(TABLE_MARKS["xlsx"]):
        return xlsx_rows(path, sheet=sheet, known=known)
    is_parquet = head.startswith(TABLE_MARKS["parquet"])
    if is_protobuf(head):
        return protobuf_spans(path)
    if not is_parquet:
        reject_binary(path, head)
    if sheet is not None:
        raise DataError(path, f"is no workbook, and has no sheet {sheet!r}.", advice="Leave --sheet out.")
    if is_parquet:
        return parquet_rows(path)
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")) or path.suffix == ".arrow":
        return arrow_rows(path)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise DataError(path, "is empty.", advice="Name a file with rows.")
    if path.suffix in _TABLES:
        return csv_rows(path, known=known)
    if is_json_spans(path, head):
        return json_spans(path)
    return _text(path, known)


def _text(path: Path, known: Sequence[str]) -> Raw:
    """The rows of a text file whose extension is not that of a table."""
    encoding, _ = encoding_of(path)
    with path.open(encoding=encoding, newline="\n") as stream:
        first = next((line.strip() for line in stream if line.strip()), "")
    if path.suffix in (*_LINES, ".json") or first[:1] in ("{", "["):
        return json_rows(path, lines=path.suffix in _LINES, known=known)
    if trec.is_run_line(first):
        return trec.run_rows(path)
    if trec.is_qrels_line(first):
        advice = f"Give the run, and this with it: --qrels {path.name}."
        raise DataError(path, "holds relevance judgements (qrels), not what a system retrieved.", advice=advice)
    return csv_rows(path, known=known)


def _folder(folder: Path, split: str | None, known: Sequence[str]) -> Raw:
    with reading(folder):
        if (beir := trec.beir_folder(folder, split=split)) is not None:
            raw = open_file(beir.run or beir.queries, known=known)
            raw.name, raw.qrels, raw.corpus, raw.queries = folder.name, beir.qrels, beir.corpus, beir.queries
            raw.warnings.extend(beir.warnings)
            if beir.run is None:
                raw.schema, raw.mapping = "beir", {"question": "text", "id": "_id"}
            return raw
        if (questions := folder / "questions.jsonl").is_file():  # as `ragstone build questions` writes it
            raw = open_file(questions, known=known)
            raw.path = questions
            return raw
        if (raw_or_none := _traces(folder) or dataset_folder(folder, split=split)) is not None:
            return raw_or_none
        files = sorted(path.name for path in folder.iterdir() if path.suffix in _READABLE)
    advice = f"Name a file in it: {', '.join(files[:5])}{'…' if len(files) > 5 else ''}." if files else "Name a file."
    raise DataError(folder, "is no saved data set and no folder of BEIR.", advice=advice)


def _traces(folder: Path) -> Raw | None:
    """The rows of the files in a folder that have spans; None if none has."""
    raws: list[Raw] = []
    notes: list[str] = []
    for path in sorted(path for path in folder.iterdir() if path.suffix in (*_READABLE, *_PROTOBUF) and path.is_file()):
        try:
            raws.append(open_file(path))
        except RagstoneError as error:
            notes.append(str(error))
    found = joined(folder, raws)
    if found is not None:
        found.warnings += [*notes, *(note for raw in raws for note in raw.warnings)]
    return found


def _nearest(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, [name for name in names if name != path.name], n=1, cutoff=0.6)
    return f" Did you mean {str(path.with_name(near[0]))!r}?" if near else ""
