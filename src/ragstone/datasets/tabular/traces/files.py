"""Files of spans: JSON of any layout, read as far as it can be read, and protobuf.

A file of traces is written by programs that are killed, so a broken part costs only its own spans: each unreadable
line or end of a file is a row with a problem.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ragstone.datasets.jsonlines import kind_of
from ragstone.datasets.tabular.rows import DataRow, Raw
from ragstone.datasets.tabular.traces import protobuf
from ragstone.datasets.tabular.traces.samples import is_trace
from ragstone.errors import DataError
from ragstone.storage import reading

_MARK = re.compile(
    rb'"(resourceSpans|(context\.)?trace_id|traceId|run_type|parentObservationId|parent_observation_id|observations)"\s*:'
)
_SEARCHED = 1 << 16  # bytes that name a field of a span
_TRIED = 20  # rows of which one is a span: the others may be broken
_WRAPPERS = ("data", "runs", "traces", "observations", "spans", "results", "items")
_BLOCK = (b"{", b"[")
_NOT_JSON = "not JSON; expected spans as JSON objects."
_TORN = "breaks off, the rest of the JSON is missing."


def is_json_spans(path: Path, head: bytes) -> bool:
    """Whether a file has spans as JSON. `head` is its beginning."""
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_BLOCK):
        return False
    with path.open("rb") as file:
        if _MARK.search(file.read(_SEARCHED)) is None:
            return False
    return any(is_trace(tuple(row.cells)) for row in islice(_json_rows(path), _TRIED))


def json_spans(path: Path) -> Raw:
    """The rows of a file of JSON values: one a line, printed over several lines, in a list, or any of these mixed."""
    return Raw(path.name, _json_rows(path))


def protobuf_spans(path: Path) -> Raw:
    """The rows of a file of OTLP requests in protobuf."""
    return Raw(path.name, _protobuf_rows(path))


def joined(folder: Path, raws: Iterable[Raw]) -> Raw | None:
    """The rows of the files of a folder that have spans, as one source; None if none has. Other files are left out."""
    parts: list[tuple[str, Iterable[DataRow]]] = []
    for raw in raws:
        rows = iter(raw.rows)
        first: list[DataRow] = []
        try:
            for row in rows:
                first.append(row)
                if not row.problem:
                    break
        except DataError:
            continue
        if first and is_trace(tuple(first[-1].cells)):
            parts.append((raw.name, chain(first, rows)))
    return Raw(folder.name, _renamed(parts)) if parts else None


def _renamed(parts: Sequence[tuple[str, Iterable[DataRow]]]) -> Iterator[DataRow]:
    for name, rows in parts:
        for row in rows:
            row.where = f"{name} {row.where}"
            yield row


def _protobuf_rows(path: Path) -> Iterator[DataRow]:
    for number, request in enumerate(protobuf.requests_in(path.read_bytes(), str(path)), 1):
        problem = request if isinstance(request, str) else ""
        yield DataRow(f"row {number}", {} if isinstance(request, str) else request, problem)


def _json_rows(path: Path) -> Iterator[DataRow]:
    with reading(path), path.open("rb") as file:
        lines = enumerate(file, 1)
        waiting: list[tuple[int, bytes]] = []
        while pair := (waiting.pop() if waiting else next(lines, None)):
            number, line = pair
            content = line.removeprefix(b"\xef\xbb\xbf").strip()
            if not content:
                continue
            if content in (b"{", b"[", b"[{"):
                block, after = _block(content, lines)
                waiting += [after] if after else []
                yield from _rows(number, b"".join([line, *block]))
            else:
                yield from _rows(number, content)


def _block(opener: bytes, lines: Iterator[tuple[int, bytes]]) -> tuple[list[bytes], tuple[int, bytes] | None]:
    """The lines of a value that is printed over several, after its first one; and the line after a value that breaks
    off, which is not indented as its lines are."""
    block: list[bytes] = []
    for number, line in lines:
        if opener != b"[" and line[:1] in _BLOCK:
            return block, (number, line)
        block.append(line)
        if line[:1] == (b"}" if opener == b"{" else b"]"):
            break
    return block, None


def _rows(number: int, content: bytes) -> Iterator[DataRow]:
    where = f"line {number}"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        yield DataRow(where, {}, f"byte {error.start + 1} is not UTF-8.")
        return
    if not text.lstrip().startswith(("{", "[")):
        yield DataRow(where, {}, _NOT_JSON)
        return
    try:
        yield from _objects(where, json.loads(text))
    except RecursionError:
        yield DataRow(where, {}, "is nested too deeply to be read.")
    except ValueError:
        yield from _salvaged(where, text)


def _objects(where: str, value: Any) -> Iterator[DataRow]:
    """The rows of a JSON value: an object, a list of them, or an object around such a list."""
    if isinstance(value, dict) and not is_trace(tuple(value)):
        value = next((value[name] for name in _WRAPPERS if isinstance(value.get(name), list)), value)
    for item in value if isinstance(value, list) else [value]:
        problem = "" if isinstance(item, dict) else f"found {kind_of(item)}; expected a span, an object."
        yield DataRow(where, item if isinstance(item, dict) else {}, problem)


def _salvaged(where: str, text: str) -> Iterator[DataRow]:
    """The whole values at the beginning of a text that breaks off, or of several values in a line."""
    decoder, at = json.JSONDecoder(), 0
    text = text.strip()
    at = 1 if text.startswith("[") else 0
    while at < len(text):
        if text[at] in ", \t\r\n]":
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield DataRow(where, {}, _TORN)
            return
        yield from _objects(where, value)
