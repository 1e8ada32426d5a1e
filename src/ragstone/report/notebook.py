"""What results show: text where they are printed, in a notebook plain HTML without styles or scripts."""

from collections.abc import Iterable, Sequence
from html import escape

from msgspec.structs import asdict

from ragstone.display import Cell, Table
from ragstone.report.number_format import counts, interval, value
from ragstone.report.sanitize import one_line


class ShownTable(Table, frozen=True):
    """A table that shows itself."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and asdict(self) == asdict(other)

    __hash__ = Table.__hash__

    def __repr__(self) -> str:
        from ragstone.report.text import table_text  # noqa: PLC0415  (only where somebody prints it)

        return table_text(self).rstrip("\n")

    def _repr_html_(self) -> str:
        return table_snippet(self)


class Tables(list[Table]):
    """Tables that show themselves."""

    def __init__(self, tables: Iterable[Table]) -> None:
        super().__init__(table if isinstance(table, ShownTable) else ShownTable(**asdict(table)) for table in tables)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return "".join(map(table_snippet, self))


def result_text(opening: str, tables: Iterable[Table], lines: Sequence[str] = (), *, language: str = "en") -> str:
    """A result as text: what it opens with, its tables, and lines at the end."""
    from ragstone.report.text import table_text  # noqa: PLC0415  (only where somebody prints it)

    shown = [table_text(table, language=language).rstrip("\n") for table in tables]
    return "\n".join([*([opening] if opening else []), *shown, *lines])


def result_snippet(opening: str, tables: Iterable[Table], lines: Sequence[str] = ()) -> str:
    """A result: what it opens with, as `opening_text` writes it (the verdict, a blank line, the picture and what to
    do), its tables, and lines at the end."""
    verdict, _, picture = opening.strip("\n").partition("\n\n")
    parts = [f"<p><strong>{escape(verdict)}</strong></p>"] if verdict else []
    parts += [f"<pre>{escape(picture)}</pre>"] if picture else []
    return "".join([*parts, *map(table_snippet, tables), *(f"<p>{_text(line)}</p>" for line in lines)])


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
