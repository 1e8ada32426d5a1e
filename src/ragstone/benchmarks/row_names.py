"""Rows of the user's data in the ids of cases, which a run file sorts as texts."""

import string

_DIGITS = 6


def row_name(row: int) -> str:
    """The name of a row by its number, from 1: the names sort as the numbers do. It has six digits; that of a larger
    number begins with a letter that says how many more it has: "999999", "a1000000"."""
    digits = f"{row:0{_DIGITS}d}"
    more = len(digits) - _DIGITS
    return string.ascii_lowercase[more - 1] + digits if more else digits


def row_number(name: str) -> int:
    """The number of a row by its name."""
    return int(name.lstrip(string.ascii_lowercase))
