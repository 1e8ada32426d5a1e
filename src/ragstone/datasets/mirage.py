"""MIRAGE's files (Park et al. 2025): questions, the pool of labelled chunks, the oracle chunks; predictions and
retrieval results as the authors' programs save them.

- `dataset.json`: a list of `{source, query_id, query, doc_name, answer[], doc_url, num_doc_labels}`. Query strings
  repeat, so `query_id` is the key.
- `doc_pool.json`: a list of `{mapped_id, doc_name, doc_chunk, support}`; `mapped_id` is the query that a chunk was
  collected for, `support` 1 where it holds the answer. `oracle.json`: one such row a query, as a list or by query.
- predictions: a list of dataset rows with `model_predictions`, a text or a list with one.
- retrieval: a list of `{query_id, top_chunks: [pool rows], scores}`, the best chunk first.

Everything is read whole and checked; an error names the file, the item and what was expected.
"""

import codecs
import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragstone.datasets.signatures import binary_error
from ragstone.errors import DataError
from ragstone.storage import FormatError, check_regular, parse_json, reading, replacing


class MirageQuestion(msgspec.Struct, frozen=True):
    """A question. Any of `answer` is right; `num_doc_labels` says how many of its chunks support it. `evidence`, which
    the authors' files do not have: the texts that an answer rests on."""

    query_id: str
    query: str
    answer: tuple[str, ...]
    source: str = ""
    doc_name: str = ""
    doc_url: str = ""
    num_doc_labels: int | None = None
    evidence: tuple[str, ...] = ()


class MirageChunk(msgspec.Struct, frozen=True):
    """A chunk of the pool. `support`: 1 where it supports an answer to the query it is mapped to."""

    mapped_id: str
    doc_chunk: str
    doc_name: str = ""
    support: int = 0


class _OracleChunk(msgspec.Struct, frozen=True):
    """A chunk whose query is its key."""

    doc_chunk: str
    doc_name: str = ""
    support: int = 1


class _Label(msgspec.Struct, frozen=True):
    """A chunk without its text, as far as scores need it."""

    mapped_id: str
    support: int = 0


class _LabelledChunk(msgspec.Struct, frozen=True):
    """A retrieved chunk; its label is required, as a missing one would silently count as unsupported."""

    mapped_id: str
    support: int


class _RetrievedLabels(msgspec.Struct, frozen=True):
    query_id: str
    top_chunks: tuple[_LabelledChunk, ...]


class _PredictionRow(msgspec.Struct, frozen=True):
    query_id: str
    model_predictions: str | list[str] | None = None


def sha256_of(path: Path) -> str:
    """The hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_questions(path: Path) -> list[MirageQuestion]:
    """`dataset.json`. Raises DataError also for a file without a question, a query_id that occurs twice, and a question
    without words or without an answer."""
    rows: list[MirageQuestion] = _read(path, list[MirageQuestion], "a list of MIRAGE questions")
    if not rows:
        raise DataError(path, "holds no question.")
    _check_once(path, [row.query_id for row in rows], "query_id")
    for number, row in enumerate(rows):
        if not row.query.strip():
            raise DataError(path, f"item {number} ({row.query_id}) has no question.", field="query")
        if not any(alias.strip() for alias in row.answer):
            raise DataError(path, f"item {number} ({row.query_id}) has no answer.", field="answer")
    return rows


def read_pool(path: Path) -> list[MirageChunk]:
    """`doc_pool.json`, in its order."""
    chunks: list[MirageChunk] = _read(path, list[MirageChunk], "a list of MIRAGE chunks")
    return chunks


def read_labels(path: Path) -> dict[str, int]:
    """Query → how many chunks of the pool support it, 0 for a query whose chunks are all unsupported."""
    counts: dict[str, int] = {}
    for row in _read(path, list[_Label], "a list of MIRAGE chunks"):
        counts[row.mapped_id] = counts.get(row.mapped_id, 0) + (row.support == 1)
    return counts


def read_oracle(path: Path) -> dict[str, tuple[MirageChunk, ...]]:
    """`oracle.json`: query → its chunk; several where an answer needs them all, as `write_mirage` writes them."""
    kind = list[MirageChunk] | dict[str, _OracleChunk | list[_OracleChunk]]
    rows = _read(path, kind, "MIRAGE chunks, a list or by query")
    if isinstance(rows, dict):
        return {
            query: tuple(MirageChunk(query, row.doc_chunk, row.doc_name, row.support) for row in row_of_query)
            for query, values in rows.items()
            for row_of_query in [values if isinstance(values, list) else [values]]
        }
    _check_once(path, [row.mapped_id for row in rows], "mapped_id")
    return {row.mapped_id: (row,) for row in rows}


def write_mirage(
    folder: Path,
    questions: Sequence[MirageQuestion],
    chunks: Sequence[MirageChunk],
    oracle: Mapping[str, Sequence[MirageChunk]],
) -> list[Path]:
    """The three files of a pool, in the official form. Files that were there are replaced when all three are written:
    a full disk leaves them as they were. Raises UsageError."""
    by_query = {
        query: chunks_of_query[0] if len(chunks_of_query) == 1 else chunks_of_query
        for query, chunks_of_query in oracle.items()
    }
    paths = [folder / f"{name}.json" for name in ("dataset", "doc_pool", "oracle")]
    with contextlib.ExitStack() as stack:
        for path, value in zip(paths, (questions, chunks, by_query), strict=True):
            stream = stack.enter_context(replacing(path, parents=True))
            stream.write(json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=1).encode())
            stream.flush()
    return paths


def read_predictions(path: Path, ids: Sequence[str]) -> list[str]:
    """The predictions of a file, in the order of `ids`. They are as they were saved: nothing is stripped.

    Raises DataError where a prediction is missing, null, there twice, or of a query that is not among `ids`."""
    rows = _read(path, list[_PredictionRow], "a list of dataset rows with model_predictions")
    _check_once(path, [row.query_id for row in rows], "query_id")
    known = set(ids)
    predictions: dict[str, str] = {}
    for number, row in enumerate(rows):
        if row.query_id not in known:
            raise DataError(path, f"item {number}: the data set has no query {row.query_id!r}.", field="query_id")
        prediction = row.model_predictions
        if isinstance(prediction, list):
            prediction = prediction[0] if len(prediction) == 1 else None
        if prediction is None:
            raise DataError(
                path, f"item {number} ({row.query_id}) has no prediction; expected a text or a list with one.",
                field="model_predictions", advice="Ask the model again, or put an empty text for no answer.",
            )  # fmt: skip
        predictions[row.query_id] = prediction
    if missing := [name for name in ids if name not in predictions]:
        raise DataError(path, f"{len(missing):,} of {len(ids):,} predictions are missing, the first of {missing[0]!r}.")
    return [predictions[name] for name in ids]


def read_retrieval(path: Path, labels: Mapping[str, int]) -> dict[str, list[bool]]:
    """Query → for each retrieved chunk whether it is one that supports it. Raises DataError as `read_predictions`."""
    rows = _read(path, list[_RetrievedLabels], "a list of objects with query_id and top_chunks")
    _check_once(path, [row.query_id for row in rows], "query_id")
    supporting = {}
    for number, row in enumerate(rows):
        supported = labels.get(row.query_id)
        if supported is None:
            raise DataError(path, f"item {number}: the pool has no chunk of query {row.query_id!r}.", field="query_id")
        if not supported:
            raise DataError(
                path, f"item {number}: no chunk of the pool supports query {row.query_id!r}, so nothing can be "
                "recalled.", field="query_id",
            )  # fmt: skip
        flags = [chunk.mapped_id == row.query_id and chunk.support == 1 for chunk in row.top_chunks]
        if sum(flags) > supported:
            raise DataError(
                path, f"item {number}: {sum(flags)} chunks support query {row.query_id!r}; the pool has {supported}.",
                field="top_chunks", advice="Is a chunk there twice?",
            )  # fmt: skip
        supporting[row.query_id] = flags
    if not supporting:
        raise DataError(path, "it holds no query.")
    return supporting


def _read(path: Path, kind: Any, expected: str) -> Any:
    with reading(path):
        check_regular(path)
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise _unlike(path, expected, error) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = str(error)
    try:  # what Python's reader takes and others write: NaN among the scores, lone surrogates
        return msgspec.convert(parse_json(data.decode("utf-8")), kind)
    except msgspec.ValidationError as error:
        raise _unlike(path, expected, error) from None
    except (FormatError, UnicodeDecodeError):
        raise no_json(path, data, f"expected {expected}: not JSON ({problem}).") from None


def no_json(path: Path, data: bytes, problem: str) -> DataError:
    """The error for a file that is not JSON: what it is by its bytes and what to do, else `problem`."""
    if error := binary_error(path, data):
        return error
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return DataError(path, "is UTF-16.", advice="Save it as UTF-8.")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as failure:
        line = data.count(b"\n", 0, failure.start) + 1
        return DataError(path, "is not UTF-8.", line=line, advice="Save it as UTF-8.")
    return DataError(path, problem if data.strip() else "is empty.")


def _unlike(path: Path, expected: str, error: msgspec.ValidationError) -> DataError:
    problem, place = plain(error)
    item, _, field = place.replace("[...]", "").partition(".")
    where = f"item {item[1:-1]}: " if item[1:-1].isdigit() else ""
    return DataError(path, f"{where}{problem}.", field=field, advice=f"The file should be {expected}.")


def plain(error: msgspec.ValidationError) -> tuple[str, str]:
    """msgspec's "Expected `array`, got `null` - at `$[0].answer`" as ("expected a list, got null", "[0].answer")."""
    problem, _, place = str(error).partition(" - at `$")
    problem = problem.replace("`array`", "a list").replace("`str`", "a text").replace("`", "")
    return problem[:1].lower() + problem[1:], place.rstrip("`")


def _check_once(path: Path, ids: Sequence[str], field: str) -> None:
    if len(set(ids)) == len(ids):
        return
    earlier: set[str] = set()
    for number, name in enumerate(ids):
        if name in earlier:
            raise DataError(path, f"item {number}: {name!r} occurs twice.", field=field)
        earlier.add(name)
