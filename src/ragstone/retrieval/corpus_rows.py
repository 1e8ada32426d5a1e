"""Documents that are rows of a file: JSON lines, CSV and TSV; and the text of a file in its encoding."""

import codecs
import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragstone.errors import DataError
from ragstone.storage import FormatError, parse_json
from ragstone.text.csv_fields import fields_up_to
from ragstone.types import Passage

LARGEST = 200_000_000
"""Bytes of a file that is read at once."""
_PIECE = 1_000_000  # characters
_TEXTS = ("text", "content", "passage", "body", "document", "chunk", "page_content", "正文", "内容", "文本")
_TITLES = ("title", "heading", "name", "标题")
_DATES = ("date", "published", "published_at", "pubdate", "日期")
_IDS = ("id", "_id", "doc_id", "document_id", "chunk_id", "url", "编号")


_MOST_NUL = 0.01  # of the bytes of a text in UTF-8
# UTF-32's little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip


def text_of(path: Path) -> str:
    """The text of a file in UTF-8 or GB 18030, or in UTF-16 or UTF-32 with a byte order mark. Raises DataError."""
    return path.read_bytes().decode(_encoding_of(path))


def _encoding_of(path: Path) -> str:
    """The encoding of a text, which is read piece by piece."""
    with path.open("rb") as stream:
        head = stream.read(_PIECE)
    if marked := next((name for mark, name in _MARKS if head.startswith(mark)), ""):
        return marked
    if head.count(0) > _MOST_NUL * len(head):
        raise DataError(path, "this is UTF-16 without a byte order mark, or no text. Save it as UTF-8.")
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            with path.open(encoding=encoding, newline="") as stream:
                while stream.read(_PIECE):
                    pass
        except UnicodeDecodeError:
            continue
        return encoding
    raise DataError(path, "the text is neither UTF-8 nor GB 18030. Save it as UTF-8.")


def read_lines(path: Path, name: str) -> Iterator[Passage]:
    """A document per line of a JSONL file. Only one line is in memory at a time. Raises DataError."""
    with path.open(encoding=_encoding_of(path), newline="\n") as lines:
        for number in itertools.count(1):
            if not (line := lines.readline(LARGEST)):
                return
            if len(line) >= LARGEST:
                raise DataError(path, f"the line has more than {LARGEST:,} characters. Split it.", line=number)
            if line.strip():
                try:
                    row = parse_json(line)
                except FormatError as error:
                    raise DataError(path, f"{error}.", line=number) from None
                yield _row(path, name, number, row)


def read_table(path: Path, name: str) -> Iterator[Passage]:
    """A document per row of a CSV or TSV file, whose first row has the columns' names. Raises DataError."""
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open(encoding=_encoding_of(path), newline="") as lines:
        rows = csv.DictReader(lines, delimiter=delimiter)
        for number in itertools.count(2):
            with fields_up_to(LARGEST):
                row = next(rows, None)
            if row is None:
                return
            yield _row(path, name, number, row)


def _row(path: Path, name: str, number: int, row: Any) -> Passage:
    fields: Mapping[str, Any] = row if isinstance(row, Mapping) else {"text": row}
    text = _first(fields, _TEXTS)
    if not isinstance(text, str):
        raise DataError(path, f"the document has no text. Name its column one of {', '.join(_TEXTS[:4])}.", line=number)
    title = _first(fields, _TITLES)
    date, row_id = _first(fields, _DATES), str(_first(fields, _IDS) or f"{name}#{number}")
    meta = {"date": str(date)} if date else {}
    return Passage(row_id, text, title=title if isinstance(title, str) else "", meta=meta)


def _first(fields: Mapping[str, Any], names: Sequence[str]) -> Any:
    lowered = {str(key).strip().lower(): value for key, value in fields.items()}
    return next((lowered[name] for name in names if lowered.get(name) not in (None, "")), None)
