"""Reads Excel workbooks (.xlsx)."""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ragstone.datasets.tabular.problems import warning
from ragstone.datasets.tabular.rows import DataRow, Raw, repeated
from ragstone.datasets.tabular.words import is_question
from ragstone.errors import DataError, UnknownName
from ragstone.optional import load
from ragstone.storage import ReaderFailed, read_bounded

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


def xlsx_rows(path: Path, *, sheet: str | None = None, known: Sequence[str] = ()) -> Raw:
    """The rows of a sheet: the named one, else the first with a question column, else the first. The first row that is
    not empty has the column names. Formulas have the values that Excel saved. Raises DataError, UnknownName or
    MissingExtra."""
    raw = Raw(path.name, (), sparse=True)
    cells = _read(path, sheet, known)
    sheets, chosen = next(cells)
    if sheet is None and len(sheets) > 1:
        others = ", ".join(repr(name) for name in sheets if name != chosen)
        raw.warnings.append(warning("other_sheets", sheet=chosen, others=others))
    raw.rows = _rows(path, cells)
    return raw


def _read(path: Path, sheet: str | None, known: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """What `_cells` yields, within the budget of the file."""
    try:
        yield from read_bounded(_cells, path, sheet, known)
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror or error}).") from None
    except ReaderFailed as error:  # openpyxl raises many kinds for a damaged file or another archive
        reason = " ".join(str(error).split())[:120]
        message = f"is no workbook that can be read ({reason})."
        raise DataError(path, message, advice="Save it again as .xlsx.") from None


def _cells(path: Path, sheet: str | None, known: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The names of all sheets and that of the chosen one, then each row with cells that are not empty: its number and
    its cells."""
    openpyxl = load("openpyxl", extra="files", purpose="Reading .xlsx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and validations, which do not affect values
        book = openpyxl.load_workbook(io.BytesIO(path.read_bytes()), read_only=True, data_only=True)
    sheets = {worksheet.title: worksheet for worksheet in book.worksheets}
    asking = [name for name, worksheet in sheets.items() if _has_question(worksheet, known)] if len(sheets) > 1 else []
    if not sheets:
        raise DataError(path, "has no sheet with cells.")
    if sheet is not None and sheet not in sheets:
        raise UnknownName("sheet", sheet, sheets)
    chosen = sheet or next(iter(asking or sheets))
    yield tuple(sheets), chosen
    sheets[chosen].reset_dimensions()  # some programs write a wrong size, and cells beyond it would be lost
    for number, cells in enumerate(sheets[chosen].iter_rows(values_only=True), 1):
        if not all(map(_empty, cells)):
            yield number, cells


def _has_question(sheet: Any, known: Sequence[str]) -> bool:
    for row in sheet.iter_rows(max_row=20, values_only=True):
        if any(not _empty(cell) for cell in row):
            return any(isinstance(cell, str) and (cell.strip() in known or is_question(cell)) for cell in row)
    return False


def _rows(path: Path, rows: Iterator[tuple[Any, ...]]) -> Iterator[DataRow]:
    header: dict[int, str] = {}
    for number, cells in rows:
        where = f"row {number}"
        if not header:
            header = _header(path, cells, number)
            continue
        beyond = [cell for place, cell in enumerate(cells) if place not in header and not _empty(cell)]
        if beyond:
            yield DataRow(
                where, {}, f"{str(beyond[0])[:40]!r} stands in a column without a name; expected a name in row 1."
            )
            continue
        yield DataRow(where, {name: _value(cells[place]) for place, name in header.items() if place < len(cells)})


def _header(path: Path, cells: Sequence[Any], number: int) -> dict[int, str]:
    names = {place: str(cell).strip() for place, cell in enumerate(cells) if not _empty(cell)}
    if (twice := repeated(names.values())) is not None:
        raise DataError(path, f"row {number}: the column {twice!r} occurs twice.", advice="Rename one of them.")
    return names


def _value(cell: Any) -> Any:
    """The cell with the escapes of .xlsx decoded in texts (_x000D_ is a carriage return)."""
    if isinstance(cell, str) and "_x" in cell:
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), cell)
    return cell


def _empty(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())
