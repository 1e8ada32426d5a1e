"""An Excel workbook of a run: a sheet per table, and one of all records. Needs openpyxl (extra `files`)."""

import contextlib
import errno
import os
import re
from typing import IO, TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Font
from openpyxl.writer.excel import ExcelWriter

from ragstone.display import Cell, Table
from ragstone.report.export import MARK
from ragstone.report.records_table import columns_of, guarded, rows_of
from ragstone.report.sanitize import readable
from ragstone.report.unfinished import tables_of
from ragstone.types import Benchmark, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ragstone.structs import Scalar

_LONGEST_TEXT = 32_767  # characters that Excel allows in a cell
_MOST_ROWS = 1_048_575  # rows that Excel allows in a sheet, without the heading
_FORBIDDEN_IN_TITLES = re.compile(r"[\[\]:*?/\\']")


def write_xlsx(run: Run, benchmark: Benchmark, stream: IO[bytes], language: str) -> None:
    """Write the workbook. Texts longer than Excel allows are cut; records beyond its row limit go to further sheets."""
    book = Workbook(write_only=True)
    try:
        with _errors_of_lxml():
            _fill(book, run, benchmark, language)
            _save(book, stream)
    finally:
        _close(book)


@contextlib.contextmanager
def _errors_of_lxml() -> "Iterator[None]":
    """Raises OSError where lxml, with which openpyxl writes if it is installed, reports one in words of its own."""
    try:
        yield
    except Exception as error:
        number = getattr(errno, str(error).removeprefix("IO_"), None)  # "IO_ENOSPC"
        if not isinstance(number, int):
            raise
        raise OSError(number, os.strerror(number)) from error


def _fill(book: Workbook, run: Run, benchmark: Benchmark, language: str) -> None:
    titles: set[str] = set()
    for table in tables_of(run, benchmark, language=language):
        sheet = book.create_sheet(_title(table.id, titles))
        sheet.append(_cells(sheet, [readable(table.title)], bold=True))
        sheet.append(_cells(sheet, _headings(table), bold=True))
        measured = _measured(table)
        for row in table.rows:
            values = [part for cell, wide in zip(row.cells, measured, strict=False) for part in _parts(cell, wide=wide)]
            sheet.append(_cells(sheet, [*values, "published" if row.published else None]))
        for note in table.notes:
            sheet.append(_cells(sheet, [readable(note)]))
    columns = columns_of(run)
    sheet = None
    for number, entry in enumerate(rows_of(run, benchmark, columns, language)):
        if sheet is None or number % _MOST_ROWS == 0:
            sheet = book.create_sheet(_title("records", titles))
            sheet.freeze_panes = "D2"
            sheet.append(_cells(sheet, [readable(name) for name in columns.names], bold=True))
        sheet.append(_cells(sheet, entry.values()))
    if sheet is None:
        book.create_sheet(_title("records", titles)).append(columns.names)


def _close(book: Workbook) -> None:
    """Close the sheets, because openpyxl otherwise writes during garbage collection and prints tracebacks."""
    for sheet in book.worksheets:
        for unfinished in (sheet._rows, getattr(sheet._writer, "xf", None)):
            if unfinished is not None:
                with contextlib.suppress(Exception):  # what ended the writing is already known
                    unfinished.close()


def _save(book: Workbook, stream: IO[bytes]) -> None:
    for sheet in book.worksheets:
        sheet.close()
    archive = ZipFile(stream, "w", ZIP_DEFLATED)
    try:
        archive.comment = MARK.encode()
        ExcelWriter(book, archive).save()
    except OSError:
        archive.fp = None  # see _close
        raise


def _measured(table: Table) -> list[bool]:
    """For each column, whether any of its cells has an interval or counts; those get columns of their own."""
    measured = [False] * len(table.columns)
    for row in table.rows:
        for index, cell in enumerate(row.cells[: len(measured)]):
            measured[index] |= cell.low is not None or cell.scored is not None
    return measured


def _headings(table: Table) -> list[str]:
    names: list[str] = []
    for column, wide in zip(table.columns, _measured(table), strict=True):
        names += [readable(column), *(("low", "high", "scored", "total") if wide else ())]
    return names


def _parts(cell: Cell, *, wide: bool) -> "list[Scalar | None]":
    head: Scalar | None = readable(cell.text) if cell.value is None else cell.value
    return [None if head == "" else head, *((cell.low, cell.high, cell.scored, cell.total) if wide else ())]


def _cells(sheet: Any, values: "Iterable[Scalar | None]", *, bold: bool = False) -> list[Any]:
    cells = []
    for value in values:
        safe = guarded(value)
        cell = WriteOnlyCell(sheet, value=safe[:_LONGEST_TEXT] if isinstance(safe, str) else safe)
        if isinstance(safe, str):
            cell.data_type = "s"  # never a formula, whatever it begins with
        if bold:
            cell.font = Font(bold=True)
        cells.append(cell)
    return cells


def _title(name: str, titles: set[str]) -> str:
    """A sheet title that Excel accepts: at most 31 characters, none of []:*?/\\', unique in the workbook."""
    base = _FORBIDDEN_IN_TITLES.sub(" ", readable(name)).strip()[:28] or "table"
    title, number = base, 1
    while title.lower() in titles:
        number += 1
        title = f"{base[:27]} {number}"
    titles.add(title.lower())
    return title
