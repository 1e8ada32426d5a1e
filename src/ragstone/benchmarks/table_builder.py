"""What the tables of all benchmarks are written with: rows of cells and plain texts, and texts by key."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from ragstone.display import Cell, Row, Table

Entry: TypeAlias = Cell | str


def row(*entries: Entry, published: bool = False) -> Row:
    """A row of cells; a text becomes a cell."""
    return Row(tuple(Cell(entry) if isinstance(entry, str) else entry for entry in entries), published)


class TableWriter:
    """Writes the tables of one run in one language. `words` are its texts; the ids of its tables begin with
    `prefix`."""

    prefix: str

    def __init__(self, words: Mapping[str, str]) -> None:
        self.words = words

    def texts(self, *keys: str) -> tuple[str, ...]:
        """The texts of these keys."""
        return tuple(self.words[key] for key in keys)

    def table(
        self, name: str, columns: Iterable[str], rows: Iterable[Row], notes: Iterable[str] = (), *, keys: int = 1,
        title: str = "",
    ) -> Table:  # fmt: skip
        """A table with the title `title`, by default the text `title_NAME` (with `_` for `-`)."""
        title = title or self.words[f"title_{name.replace('-', '_')}"]
        return Table(f"{self.prefix}-{name}", title, tuple(columns), tuple(rows), tuple(notes), keys)
