"""Parsing of length and depth grids."""

import math
import re
from collections.abc import Iterable
from typing import Literal

from ragstone.errors import UsageError

__all__ = ["Spacing", "depths_of", "grid_of", "lengths_of"]

Spacing = Literal["linear", "sigmoid"]
_RANGE = re.compile(r"(?P<start>-?[\d.]+k?):(?P<stop>-?[\d.]+k?):(?P<count>\d+)", re.IGNORECASE)
_EXAMPLES = {"lengths": "500,1000", "depths": "0,50,100"}
_SHORTEST, _LONGEST = 50, 10_000_000  # tokens


def lengths_of(lengths: str | Iterable[float]) -> list[int]:
    """Distinct lengths in tokens, ascending. Raises UsageError."""
    values = grid_of(lengths, what="lengths", low=_SHORTEST, high=_LONGEST) if isinstance(lengths, str) else lengths
    return [int(value) for value in _rounded(values, 0, what="Length", low=_SHORTEST, high=_LONGEST)]


def depths_of(depths: str | Iterable[float], spacing: Spacing = "linear") -> list[float]:
    """Distinct depths in percent, ascending, to two digits. `spacing` "sigmoid": denser at both ends, by the curve of
    Kamradt's program. Raises UsageError."""
    values = grid_of(depths, what="depths", low=0, high=100) if isinstance(depths, str) else depths
    values = _rounded(values, 4, what="Depth", low=0, high=100)
    if spacing == "sigmoid":
        values = [depth if depth in (0, 100) else 100 / (1 + math.exp(-0.1 * (depth - 50))) for depth in values]
    return _rounded(values, 2, what="Depth", low=0, high=100)  # case ids have two digits


def grid_of(text: str, *, what: str, low: float, high: float) -> tuple[float, ...]:
    """ "1k:32k:15" (start:stop:count, evenly spaced, k = 1000) or "500,1000,2000" as numbers. Raises UsageError."""
    spaced = _RANGE.fullmatch(text.strip())
    try:
        if spaced:
            start, stop, count = _number(spaced["start"]), _number(spaced["stop"]), int(spaced["count"])
            if count < 1 or count > 10_000:
                raise ValueError
            step = (stop - start) / (count - 1) if count > 1 else 0.0
            values = [start + at * step for at in range(count)]
        else:
            values = [_number(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--{what} {text}: expected numbers such as {_EXAMPLES.get(what, '1,2')} or start:stop:count."
        ) from None
    for value in values:
        if not low <= value <= high:
            raise UsageError(f"--{what} {text}: {value:g} is not between {low:g} and {high:g}.")
    return tuple(dict.fromkeys(values))


def _rounded(values: Iterable[float], digits: int, *, what: str, low: float, high: float) -> list[float]:
    """Distinct rounded numbers, ascending. Raises UsageError if there are none or one is out of range."""
    numbers = list(values)
    for value in numbers:
        if not low <= value <= high:  # also catches NaN
            raise UsageError(f"{what} {value:g} is not between {low:g} and {high:g}.")
    if not numbers:
        raise UsageError(f"No {what.lower()}: give at least one.")
    return sorted({round(value, digits) for value in numbers})


def _number(text: str) -> float:
    text = text.strip().lower()
    value = float(text.removesuffix("k")) * (1000 if text.endswith("k") else 1)
    if not math.isfinite(value):
        raise ValueError
    return value
