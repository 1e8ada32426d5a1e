"""Whether a value of a settings file is of the type that its key takes."""

from datetime import date, time
from pathlib import Path
from typing import Any

from ragstone.datasets.jsonlines import kind_of
from ragstone.errors import DataError

# What a key takes, in the words of its error.
TEXT, INTEGER, NUMBER, SWITCH = "a text", "an integer", "a number", "true or false"
TABLE, TEXTS, TEXT_OR_TABLE = "a table", "a list of texts", "a text or a table"
_TYPES: dict[str, tuple[type, ...]] = {
    TEXT: (str,), INTEGER: (int,), NUMBER: (int, float), SWITCH: (bool,), TABLE: (dict,), TEXTS: (list,),
    TEXT_OR_TABLE: (str, dict),
}  # fmt: skip


def check_value(path: Path, field: str, value: Any, expected: str) -> None:
    """Raises DataError, naming file and key, for a value of another type than `expected`, and for an empty one."""
    if not isinstance(value, _TYPES[expected]) or (isinstance(value, bool) and expected != SWITCH):
        raise DataError(path, f"found {_found(value)}; expected {expected}.", field=field)
    if isinstance(value, str) and "\0" in value:
        raise DataError(path, "holds a NUL character.", field=field, advice="Leave it out.")
    if not value and isinstance(value, str | list | dict):
        raise DataError(path, "is empty.", field=field, advice="Give a value, or leave the key out.")
    if isinstance(value, list):
        for number, item in enumerate(value, 1):
            check_value(path, f"{field}[{number}]", item, TEXT)


def check_table(path: Path, field: str, value: Any) -> None:
    """Likewise for a table of texts and numbers by name."""
    check_value(path, field, value, TABLE)
    for name, item in value.items():
        check_value(path, f"{field}.{name}", item, NUMBER if isinstance(item, int | float) else TEXT)


def _found(value: Any) -> str:
    return TABLE if isinstance(value, dict) else "a date or time" if isinstance(value, date | time) else kind_of(value)
