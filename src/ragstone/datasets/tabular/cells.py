"""Normalizes the values of cells: missing values, numbers, lists, and lists that were exported as text."""

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ragstone.datasets.jsonlines import kind_of
from ragstone.datasets.tabular.problems import CellError

if TYPE_CHECKING:
    from ragstone.structs import Scalar

_LITERAL = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_BETWEEN = re.compile(r"\s*,?\s*")
_ARRAY = re.compile(
    r"^\s*(?:np\.|numpy\.)?array\((?P<list>\[.*\])\s*(?:,\s*dtype=[^()\[\]]*(?:\([^()]*\))?)?\)\s*$", re.DOTALL
)
NOTHING = frozenset({"", "none", "null", "nan", "<na>", "nat"})
"""How programs spell a missing value in a text, in lower case."""


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, or pandas' equivalent of them."""
    if value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def plain(value: Any) -> Any:
    """The value as a built-in Python type; converts numpy's arrays and scalars, dates, bytes and others."""
    if type(value) in _PLAIN:
        return value
    if is_missing(value):
        return None
    for kind, convert in _CONVERTED:
        if isinstance(value, kind):
            return convert(value)
    for name in ("tolist", "to_list", "as_py"):  # numpy, pandas and polars series, pyarrow
        if callable(method := getattr(value, name, None)):
            return method()
    return value


def _moment(value: datetime) -> str:
    midnight = value.time() == time() and value.tzinfo is None
    return value.date().isoformat() if midnight else value.isoformat()


def _decoded(value: bytes) -> str:
    try:
        return bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        raise CellError("found bytes that are not UTF-8; expected a text.") from None


def _decimal(value: Decimal) -> int | float | None:
    if not value.is_finite():
        return None
    return int(value) if value == value.to_integral_value() else float(value)


_PLAIN = frozenset({type(None), str, bool, int, float, list, dict})
_CONVERTED: tuple[
    tuple[Any, Callable[[Any], Any]], ...
] = (  # the first that fits; numpy's texts and floats are Python's
    (str, str),
    (float, float),
    (int, int),
    (datetime, _moment),
    ((date, time), lambda value: value.isoformat()),
    ((bytes, bytearray), _decoded),
    ((list, tuple, set, frozenset), list),
    (Mapping, dict),
    (Decimal, _decimal),
    ((UUID, timedelta), str),
)


def text(value: Any, expected: str) -> str | None:
    """The cell as a text; None if it is missing. Numbers are formatted as in Python, but 5.0 as 5."""
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
    raise CellError(f"found {kind_of(value)}; expected {expected}.")


def scalar(value: Any) -> "Scalar | None":
    """The cell as a scalar to group by; None if it is missing or not a scalar."""
    try:
        value = plain(value)
    except CellError:
        return None
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    return value if isinstance(value, (str, bool, int, float)) else None


def listed(value: str) -> Any:
    """Parses a text that is a list or object in JSON, in Python's `repr` or as printed by numpy; returns any other text
    unchanged. None for an empty text or one such as "null" or "nan"."""
    stripped = value.strip()
    if stripped.lower() in NOTHING:
        return None
    if not ((stripped[0] == "[" and stripped[-1] == "]") or (stripped[0] == "{" and stripped[-1] == "}")):
        array = _ARRAY.match(stripped) if stripped.endswith(")") and "array(" in stripped[:12] else None
        if array is None:
            return value
        stripped = array["list"]
    try:
        items = json.loads(stripped)
    except (ValueError, RecursionError):
        items = _texts(stripped)
        if items is None:
            items = _literal(stripped)
    return items if isinstance(items, (list, dict)) else value


def _texts(spelled: str) -> list[str] | None:
    """A list of Python's text literals, parted by commas or, as numpy prints them, by spaces alone. (Python itself
    would join texts without a comma between them into one.) None where there is anything else."""
    if spelled[0] != "[":
        return None
    texts: list[str] = []
    at, end = len(spelled) - len(spelled[1:].lstrip()), len(spelled) - 1
    while at < end:
        match = _LITERAL.match(spelled, at, end)
        if match is None:
            return None
        literal = match[0]
        value = _literal(literal) if "\\" in literal else literal[1:-1]
        if not isinstance(value, str):
            return None
        texts.append(value)
        between = _BETWEEN.match(spelled, match.end(), end)
        at = between.end() if between else match.end()
    return texts


def _literal(spelled: str) -> Any:
    """Parses the output of Python's `repr`; None for anything else. The text is never evaluated.

    Besides literals it accepts `nan` and objects with named fields, such as LangChain's documents:
    Document(page_content='…', metadata={…}) becomes a dict of these fields."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes in the text, which is data, not code
            return _value(ast.parse(spelled, mode="eval").body)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> Any:
    """The value of a parsed literal. Raises ValueError for other expressions."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [_value(element) for element in elements]
        case ast.Dict(keys=keys, values=values) if all(isinstance(key, ast.Constant) for key in keys):
            return dict(zip(map(ast.literal_eval, keys), map(_value, values), strict=True))  # type: ignore[arg-type]
        case ast.Call(func=ast.Name(), args=[], keywords=fields) if fields and all(field.arg for field in fields):
            return {field.arg: _value(field.value) for field in fields}
        case ast.Name(id="nan"):
            return None
        case _:
            return ast.literal_eval(node)


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # more digits than Python converts
        return hex(value)
