"""JSON and TOML that somebody else wrote: whatever is wrong with it is a `FormatError`."""

import json
import re
import tomllib
from collections.abc import Iterable
from sys import float_info
from typing import Any

_LONGEST = float_info.max_10_exp  # digits of an integer: a longer one may be no number to whoever computes with it

_KEY = re.compile(r"\((?:'[^']*'(?:, )?,?)+\)")  # of a table, as `tomllib` says it


class FormatError(ValueError):
    """A text is not of its format, or holds what cannot be used; the message is for people, without a full stop.
    `line` counts from 1 (0: not known)."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(problem)
        self.line = line


def parse_json(text: str, **hooks: Any) -> Any:
    """The value of a JSON text. `hooks` are those of `json.loads`. Raises FormatError."""
    try:
        return json.loads(text, parse_int=_integer, **hooks)
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON ({error.msg}, column {error.colno})", error.lineno) from None
    except RecursionError:
        raise _too_deep() from None


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises FormatError."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem = _KEY.sub(lambda key: ".".join(re.findall(r"'([^']*)'", key[0])), str(error))
        raise FormatError(f"not TOML ({' '.join(problem.split())})") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:  # of an integer with more digits than Python reads
        raise _too_long() from None
    _check_integers(tables.values())
    return tables


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST:
        raise _too_long()
    return int(digits)


def _check_integers(values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, dict | list):
            _check_integers(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, int) and abs(value) >= 10**_LONGEST:
            raise _too_long()


def _too_deep() -> FormatError:
    return FormatError("nested too deeply to be read")


def _too_long() -> FormatError:
    return FormatError(f"holds a number of more than {_LONGEST} digits; write it as a text")
