"""Collects the problems in a file's rows and reports them together, one line per kind."""

from collections.abc import Iterable
from typing import Any

from ragstone.errors import DataError, UsageError
from ragstone.messages import messages, preferred_language
from ragstone.structs import Frozen

SHOWN = 5  # problems per file, and rows per problem, that a message names


class CellError(ValueError):
    """A cell has an invalid value; the message says what was found and what was expected."""


class RowProblem(Frozen, frozen=True):
    """A problem of a field in one or more rows. `where` names the first rows; `rows` is the number of all."""

    path: str
    where: str
    field: str
    problem: str
    rows: int = 1

    def __str__(self) -> str:
        parts = (self.path, self.where, f"field {self.field!r}" if self.field else "")
        return ", ".join(part for part in parts if part) + f": {self.problem}"


class BadData(DataError):
    """The data have invalid rows. `problems` has the first ones; the message has one line for each."""

    def __init__(self, path: object, problems: Iterable[RowProblem], omitted: int = 0) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems]
        if omitted:
            lines.append(f"{path}: and {omitted} other problem{'' if omitted == 1 else 's'}.")
        UsageError.__init__(self, "\n".join(lines))
        self._lines = tuple(lines)
        first = self.problems[0]
        number = first.where.rpartition(" ")[2]
        self.path, self.field = str(path), first.field
        self.line = int(number) if first.where.startswith("line ") and number.isdigit() else 0

    @property
    def lines(self) -> tuple[str, ...]:
        return self._lines


class Problems:
    """Collects problems and groups their rows."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._rows: dict[tuple[str, str], list[str]] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, where: str, field: str, problem: str) -> None:
        key = (field, problem)
        self._counts[key] = self._counts.get(key, 0) + 1
        rows = self._rows.setdefault(key, [])
        if len(rows) < SHOWN:
            rows.append(where)

    def raise_any(self) -> None:
        """Raises `BadData` if there are problems."""
        if not self._rows:
            return
        lines = [
            RowProblem(self.path, places(rows, self._counts[key]), *key, rows=self._counts[key])
            for key, rows in list(self._rows.items())[:SHOWN]
        ]
        raise BadData(self.path, lines, omitted=len(self._rows) - len(lines))


def warning(key: str, **values: Any) -> str:
    """A warning about the data, in the preferred language."""
    return messages(__name__, preferred_language())[key].format(**values)


def places(rows: Iterable[str], total: int, language: str = "en") -> str:
    """Names rows for a message: "line 3", "lines 3, 5", "rows 1, 2, 3, 4, 5 and 12 more"."""
    texts, shown = messages(__name__, language), list(rows)[:SHOWN]
    kinds = {row.rpartition(" ")[0] for row in shown}
    kind = kinds.pop() if len(kinds) == 1 else ""
    if kind not in ("line", "row"):
        named = texts["number_join"].join(shown)
    else:
        numbers = texts["number_join"].join(row.rpartition(" ")[2] for row in shown)
        named = texts[f"place{'s' * (len(shown) > 1)}.{kind}"].format(numbers=numbers)
    return texts["more_places"].format(named=named, count=total - len(shown)) if 1 < len(shown) < total else named
