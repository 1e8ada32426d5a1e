"""A table as text for a terminal: Chinese columns are aligned too, and no control sequence reaches the terminal."""

from collections.abc import Mapping
from io import StringIO

from rich import box
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table as Grid
from rich.text import Text

from ragstone.display import Cell, Row, Table
from ragstone.messages import messages, wrapped
from ragstone.report.number_format import counts, interval, value
from ragstone.report.sanitize import one_line

_GAP = 3  # rich's space between two columns
_LONGEST_KEY = 28  # longer keys are wrapped before the table is split
_LONGEST_WORD = 24  # the same for other cells
_MARK = "†"


def table_text(table: Table, *, width: int = 100, color: bool = False, language: str = "en") -> str:
    """The table with its title and notes, at most `width` columns wide, ending in a newline.

    Below a value are its interval and, unless they are the same for the whole row, its counts (scored/total). A table
    that is too wide continues below with its key columns repeated. `color` adds terminal colours; leave it off for
    other outputs. Published rows are marked with a dagger. `language` is that of the footnotes.
    """
    width = max(width, 24)
    out = StringIO()
    console = plain_console(out, width, color=color)
    console.print(Text(one_line(table.title), style="bold"))
    columns, rows = _laid_out(table, width)
    for number, block in enumerate(_blocks(columns, rows, table.keys, width) if columns else ()):
        if number:
            console.print()
        console.print(_grid(columns, rows, block, table, width))
    for note in (*_footnotes(table, messages(__name__, language)), *table.notes):
        for line in wrapped(one_line(note), width):
            console.print(Text(line, style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def plain_console(out: StringIO, width: int, *, color: bool) -> Console:
    """A console that writes to `out`, in a notebook, too, and interprets nothing in its texts."""
    return Console(
        file=out, force_jupyter=False, width=width,
        force_terminal=color, color_system="standard" if color else None, no_color=not color,
        highlight=False, emoji=False, markup=False, legacy_windows=False,
    )  # fmt: skip


def _laid_out(table: Table, width: int) -> tuple[list[str], list[list[str]]]:
    """Headings and the text of every cell. If every row shares its counts, they get a column of their own where there
    is room."""
    shared = [_shared_counts(row) for row in table.rows]
    plain = _filled(table, None)
    if not any(shared) or None in shared:
        return plain
    with_counts = _filled(table, [text or "" for text in shared])
    fits = len(_blocks(*with_counts, table.keys, width)) <= len(_blocks(*plain, table.keys, width))
    return with_counts if fits else plain


def _has_values(table: Table, index: int) -> bool:
    return index >= len(table.columns) or any(
        row.cells[index].value is not None for row in table.rows if index < len(row.cells)
    )


def _filled(table: Table, shared: list[str] | None) -> tuple[list[str], list[list[str]]]:
    columns = [one_line(column) for column in table.columns] + (["n"] if shared else [])
    rows = []
    for number, row in enumerate(table.rows):
        cells = [_cell_text(cell, with_counts=shared is None) for cell in row.cells]
        if row.published and cells:
            cells[0] = f"{cells[0]} {_MARK}"
        cells += [""] * (len(table.columns) - len(cells))
        rows.append([*cells, shared[number]] if shared else cells)
    return columns, rows


def _shared_counts(row: Row) -> str | None:
    """The counts shared by all cells of a row ("" where none has counts), or None where they differ."""
    values = {counts(cell) for cell in row.cells if cell.value is not None}
    return None if len(values) > 1 else next(iter(values), "")


def _cell_text(cell: Cell, *, with_counts: bool) -> str:
    lines = [value(cell), one_line(cell.text), interval(cell), counts(cell) if with_counts else "", one_line(cell.note)]
    return "\n".join(line for line in lines if line)


def _footnotes(table: Table, words: Mapping[str, str]) -> list[str]:
    notes = []
    cells = [cell for row in table.rows for cell in row.cells if cell.value is not None]
    if any(cell.unit == "%" for cell in cells):
        notes.append(words["in_percent"])
    if any(interval(cell) for cell in cells):
        notes.append(words["interval_below"])
    if any(counts(cell) for cell in cells):
        notes.append(words["n"].format(meaning=words["scored_of_total"]))
    if any(row.published for row in table.rows):
        notes.append(f"{_MARK} {words['published_note']}")
    return [words["apart"].join(notes)] if notes else []


def _blocks(columns: list[str], rows: list[list[str]], keys: int, width: int) -> list[list[int]]:
    """The columns of each block: as many as fit side by side, beginning with the key columns."""
    widths = [_needed(index, columns, rows, key=index < keys) for index in range(len(columns))]
    first = list(range(min(keys, len(columns))))
    room = width - sum(widths[index] + _GAP for index in first)
    blocks: list[list[int]] = [[]]
    used = 0
    for index in range(len(first), len(columns)):
        if blocks[-1] and used + widths[index] + _GAP > room:
            blocks.append([])
            used = 0
        blocks[-1].append(index)
        used += widths[index] + _GAP
    return [first + block for block in blocks]


def _needed(index: int, columns: list[str], rows: list[list[str]], *, key: bool) -> int:
    """The width a column needs for its longest line and the longest word of its heading, up to a limit."""
    words = max((cell_len(word) for word in columns[index].split()), default=1)
    return min(max(_longest(index, rows), words, 1), _LONGEST_KEY if key else _LONGEST_WORD)


def _longest(index: int, rows: list[list[str]]) -> int:
    return max((cell_len(line) for row in rows for line in row[index].split("\n")), default=0)


def _widths(columns: list[str], rows: list[list[str]], block: list[int], keys: int, width: int) -> list[int]:
    """The widths of the columns of a block; columns that could use the remaining space share it."""
    widths = [_needed(index, columns, rows, key=index < keys) for index in block]
    spare = width - sum(widths) - _GAP * (len(block) - 1)
    for position, index in enumerate(block):
        extra = max(0, min(spare, _longest(index, rows) - widths[position]))
        widths[position] += extra
        spare -= extra
    return widths


def _grid(columns: list[str], rows: list[list[str]], block: list[int], table: Table, width: int) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    widths = _widths(columns, rows, block, table.keys, width)
    several_lines = any("\n" in row[index] for row in rows for index in block)
    for index, column_width in zip(block, widths, strict=True):
        side: JustifyMethod = "left" if index < table.keys or not _has_values(table, index) else "right"
        grid.add_column(Text(columns[index]), justify=side, overflow="fold", vertical="top", width=column_width)
    for number, (row, source) in enumerate(zip(rows, table.rows, strict=True)):
        last = number == len(rows) - 1
        style = "dim" if source.published else ""
        first, *others = block
        cells = [Text(_indented(row[first], widths[0])), *(Text(row[index]) for index in others)]
        grid.add_row(*cells, style=style, end_section=several_lines and not last)
    return grid


def _indented(text: str, width: int) -> str:
    """The text of a first column with its further lines indented: none of a long name looks like a line of output."""
    if cell_len(text) <= width or "\n" in text:
        return text
    head = Text(text).wrap(Console(width=width), width)[0]
    tail = text[len(head.plain) :].lstrip()
    return "\n".join([head.plain, *(f" {line.plain}" for line in Text(tail).wrap(Console(width=width), width - 1))])
