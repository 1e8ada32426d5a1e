"""Reads CSV with commas, semicolons (Excel in locales with decimal commas), tabs or bars."""

import contextlib
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from ragstone.datasets.tabular.problems import places, warning
from ragstone.datasets.tabular.rows import DataRow, Raw, repeated
from ragstone.datasets.tabular.texts import encoding_of
from ragstone.datasets.tabular.words import is_known
from ragstone.errors import DataError
from ragstone.messages import preferred_language
from ragstone.storage import reading
from ragstone.text.csv_fields import fields_up_to

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SNIFFED = 1 << 16
_LARGEST = 2**31 - 1  # characters of a field: the maximum of a C long on all platforms


def csv_rows(path: Path, *, known: Sequence[str] = ()) -> Raw:
    """The rows of a CSV file. The delimiter is the one that yields the most known column names in the first line
    (`known`: those named by the user), then the most columns. Raises DataError if the file cannot be read or has a
    column twice."""
    encoding, guess = encoding_of(path)
    raw = Raw(path.name, (), sparse=True, warnings=[guess] if guess else [])
    with reading(path), path.open(encoding=encoding, newline="") as stream:
        head = stream.read(_SNIFFED)
    first, _, _ = head.partition("\n")
    skipped = 0
    if first[:4].lower() == "sep=" and len(first.rstrip("\r")) == 5:  # Excel's line for the delimiter
        delimiter, skipped = first[4], 1
        spaced = False
    else:
        delimiter, spaced = _sniff(head, [*_DELIMITERS] if path.suffix != ".tsv" else ["\t", ",", ";", "|"], known)
    raw.rows = _rows(path, raw, encoding, delimiter, spaced=spaced, skipped=skipped)
    return raw


def _sniff(head: str, delimiters: Sequence[str], known: Sequence[str]) -> tuple[str, bool]:
    """The delimiter, and whether a space follows each one."""
    best, score = delimiters[0], (-1, -1)
    names: list[str] = []
    for delimiter in delimiters:
        reader = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
        with fields_up_to(_LARGEST), contextlib.suppress(csv.Error, StopIteration):
            header = next(row for row in reader if not _is_blank(row))
            count = sum(1 for name in header if name.strip() in known or is_known(name))
            if (count, len(header)) > score:
                best, score, names = delimiter, (count, len(header)), header
    return best, len(names) > 1 and all(name.startswith(" ") for name in names[1:])


def _rows(path: Path, raw: Raw, encoding: str, delimiter: str, *, spaced: bool, skipped: int) -> Iterator[DataRow]:
    header: list[str] = []
    short: list[str] = []
    few = 0
    with path.open(encoding=encoding, newline="") as stream:
        for _ in range(skipped):
            stream.readline()
        reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=spaced, strict=True)
        while True:
            line = skipped + reader.line_num + 1
            try:
                with fields_up_to(_LARGEST):
                    fields = next(reader)
            except StopIteration:
                break
            except csv.Error as error:
                yield DataRow(f"line {line}", {}, _quoting(error))
                break
            if _is_blank(fields):
                continue
            if not header:
                header = _header(path, fields, line)
                continue
            if len(fields) > len(header) and any(fields[len(header) :]):
                yield DataRow(f"line {line}", {}, _too_many(len(fields), len(header), delimiter))
                continue
            if len(fields) < len(header):
                few += 1
                short.append(f"line {line}")
                del short[5:]
            yield DataRow(f"line {line}", {name: cell for name, cell in zip(header, fields, strict=False) if name})
    if few:
        raw.warnings.append(warning("few_fields", where=places(short, few, preferred_language())))


def _is_blank(fields: Sequence[str]) -> bool:
    return not any(field.strip() for field in fields)


def _header(path: Path, fields: Sequence[str], line: int) -> list[str]:
    names = [name.strip() for name in fields]
    if (twice := repeated(name for name in names if name)) is not None:
        raise DataError(path, f"the column {twice!r} occurs twice.", line=line, advice="Rename one of them.")
    return names


def _too_many(fields: int, columns: int, delimiter: str) -> str:
    return (
        f"has {fields} fields for {columns} columns; expected a text that has {_DELIMITERS.get(delimiter, delimiter)}"
        ' or quotation marks in it to stand in quotation marks, its own written twice ("").'
    )


def _quoting(error: csv.Error) -> str:
    if "end of data" in str(error):
        return "a quotation mark is opened and never closed; expected one at the end of the field."
    if "expected after" in str(error):
        return 'a quotation mark stands inside a quoted field; expected it written twice ("").'
    return f"cannot be read as CSV ({error})."
