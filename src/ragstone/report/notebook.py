"""A table as plain HTML for a notebook cell, without styles or scripts."""

from html import escape

from ragstone.display import Cell, Table
from ragstone.report.number_format import counts, interval, value
from ragstone.report.sanitize import one_line


def table_snippet(table: Table) -> str:
    """The table with its title and notes, and the interval and counts of each value."""
    head = "".join(f"<th>{_text(column)}</th>" for column in table.columns)
    rows = "".join(f"<tr>{''.join(map(_cell, row.cells))}</tr>" for row in table.rows)
    notes = "".join(f"<li>{_text(note)}</li>" for note in table.notes)
    return (
        f"<table><caption>{_text(table.title)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<ul>{notes}</ul>" if notes else "")
    )


def _cell(cell: Cell) -> str:
    parts = [_text(part) for part in (cell.text, value(cell), interval(cell), counts(cell)) if part]
    return f"<td>{'<br>'.join(parts)}</td>"


def _text(text: str) -> str:
    return escape(one_line(text))
