"""JSON lines, read strictly: one object a line, split at line feeds and nothing else.

Python's `json` takes more than JSON: NaN, and keys that occur twice, the last one winning. Neither can be meant in a
data file, so both are errors here. Escaped lone surrogates are kept as they are; U+2028 and its like, which
`str.splitlines` takes for ends of lines, are ordinary characters.
"""

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from ragstone.datasets.signatures import reject_binary
from ragstone.errors import DataError
from ragstone.storage import check_regular, parse_json, reading

_SAVE_AS_UTF8 = "Save it as UTF-8."


class Line:
    """A line that is not blank: its number from 1, and its object or its problem."""

    __slots__ = ("number", "problem", "row")

    def __init__(self, number: int, row: dict[str, Any] | None, problem: str = "") -> None:
        self.number, self.row, self.problem = number, row, problem


def json_lines(path: Path) -> Iterator[Line]:
    """Every line of the file that is not blank, streamed, whatever the extension; a leading byte order mark is skipped.
    Raises DataError only if the file as a whole cannot be read; the problem of a line is in its `Line`."""
    with reading(path):
        check_regular(path)
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):  # binary files end their lines at \n alone
                content = raw
                if number == 1:
                    reject_binary(path, content)
                    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                        raise DataError(path, "this is UTF-16; expected UTF-8.", advice=_SAVE_AS_UTF8)
                    content = content.removeprefix(codecs.BOM_UTF8)
                if content.strip():
                    yield _line(number, content)


def json_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number and the object of every line that is not blank. Raises DataError with the first line that is none."""
    for line in json_lines(path):
        if line.row is None:
            raise DataError(path, line.problem, line=line.number)
        yield line.number, line.row


def strict_json(text: str, *, constants: bool = False) -> Any:
    """The value of a JSON text. Raises ValueError, with a message for people, also for a key that occurs twice,
    nesting too deep to read, and NaN, unless `constants` takes it as Python's own writer means it."""
    return parse_json(text, object_pairs_hook=_object, parse_constant=None if constants else _no_constant)


def kind_of(value: object) -> str:
    """What a JSON value is, in words: "a text", "a list", "nothing"…"""
    if value is None:
        return "null"
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)


def _line(number: int, raw: bytes) -> Line:
    try:
        value = strict_json(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Line(number, None, f"byte {error.start + 1} of the line is not UTF-8. {_SAVE_AS_UTF8}")
    except ValueError as error:
        return Line(number, None, f"{error}; expected one JSON object a line.")
    if not isinstance(value, dict):
        return Line(number, None, f"found {kind_of(value)}; expected one JSON object a line.")
    return Line(number, value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        keys: set[str] = set()
        twice = next(key for key, _ in pairs if key in keys or keys.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
