"""What people put into a cell: values that are missing, numbers, lists, and lists that became texts on the way."""

import ast
import json
import math
import re
import warnings
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from ragstone.datasets.jsonlines import kind_of
from ragstone.datasets.own.problems import CellError
from ragstone.types import Scalar

__all__ = ["is_missing", "listed", "plain", "scalar", "text"]

_LITERAL = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_BETWEEN = re.compile(r"\s*,?\s*")
_ARRAY = re.compile(
    r"^\s*(?:np\.|numpy\.)?array\((?P<list>\[.*\])\s*(?:,\s*dtype=[^()\[\]]*(?:\([^()]*\))?)?\)\s*$", re.DOTALL
)
_NOTHING = frozenset({"", "none", "null", "nan", "<na>", "nat"})


def is_missing(value: object) -> bool:
    """None, NaN, and what pandas has for them."""
    if value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def plain(value: Any) -> Any:
    """The value in Python's own types: numpy's arrays and scalars, dates and bytes are turned into what they say."""
    if value is None or isinstance(value, (str, bool, int, float, list, dict)):
        return value
    if is_missing(value):
        return None
    if isinstance(value, datetime):
        midnight = value.time() == time() and value.tzinfo is None
        return value.date().isoformat() if midnight else value.isoformat()
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        try:
            return bytes(value).decode("utf-8")
        except UnicodeDecodeError:
            raise CellError("found bytes that are not UTF-8; expected a text.") from None
    if isinstance(value, (tuple, set, frozenset)):
        return list(value)
    for name in ("tolist", "to_list", "as_py"):  # numpy, pandas and polars series, pyarrow
        if callable(method := getattr(value, name, None)):
            return method()
    if isinstance(value, Mapping):
        return dict(value)
    return value


def text(value: Any, expected: str) -> str | None:
    """The cell as a text; None where it is missing. Numbers are written as Python writes them, 5.0 as 5."""
    value = plain(value)
    if is_missing(value):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _digits(value)
    if isinstance(value, float):
        return _digits(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, (list, dict)) or kind_of(value) == type(value).__name__ != "Decimal":
        raise CellError(f"found {kind_of(value)}; expected {expected}.")
    return str(value)


def scalar(value: Any) -> "Scalar | None":
    """The cell as a single value to group by; None where it is missing or no single value."""
    try:
        value = plain(value)
    except CellError:
        return None
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    if isinstance(value, (str, bool, int, float)):
        return value
    return None if isinstance(value, (list, dict)) else str(value)


def listed(value: str) -> Any:
    """The list or object that a text spells as JSON, as Python's `repr` or as numpy prints arrays; the text itself
    where it spells none. None where it only says that there is nothing."""
    stripped = value.strip()
    if stripped.lower() in _NOTHING:
        return None
    if not ((stripped[0] == "[" and stripped[-1] == "]") or (stripped[0] == "{" and stripped[-1] == "}")):
        array = _ARRAY.match(stripped) if stripped.endswith(")") and "array(" in stripped[:12] else None
        if array is None:
            return value
        stripped = array["list"]
    try:
        found = json.loads(stripped)
    except (ValueError, RecursionError):
        found = _texts(stripped)
        if found is None:
            found = _literal(stripped)
    return found if isinstance(found, (list, dict)) else value


def _texts(spelled: str) -> list[str] | None:
    """A list of Python's text literals, parted by commas or, as numpy prints them, by spaces alone. (Python itself
    would join texts without a comma between them into one.) None where there is anything else."""
    if spelled[0] != "[":
        return None
    found: list[str] = []
    at, end = len(spelled) - len(spelled[1:].lstrip()), len(spelled) - 1
    while at < end:
        match = _LITERAL.match(spelled, at, end)
        if match is None:
            return None
        literal = match[0]
        value = _literal(literal) if "\\" in literal else literal[1:-1]
        if not isinstance(value, str):
            return None
        found.append(value)
        between = _BETWEEN.match(spelled, match.end(), end)
        at = between.end() if between else match.end()
    return found


def _literal(spelled: str) -> Any:
    """What Python's `repr` wrote; None where it is not that. Evaluates literals only."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a text's own backslashes are no mistake of anybody's program
            return ast.literal_eval(spelled)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # beyond Python's limit of digits
        return hex(value)
