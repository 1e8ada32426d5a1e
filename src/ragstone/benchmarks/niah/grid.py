"""Grids of lengths and depths, as a user writes them."""

import math
import re
from collections.abc import Iterable
from typing import Literal

from ragstone.errors import UsageError

__all__ = ["Spacing", "depths_of", "grid_of", "lengths_of"]

Spacing = Literal["linear", "sigmoid"]
_RANGE = re.compile(r"(?P<start>-?[\d.]+k?):(?P<stop>-?[\d.]+k?):(?P<count>\d+)", re.IGNORECASE)
_SUCH = {"lengths": "500,1000", "depths": "0,50,100"}
_SHORTEST, _LONGEST = 50, 10_000_000  # tokens


def lengths_of(given: str | Iterable[float]) -> list[int]:
    """Lengths in tokens, each once, ascending. Raises UsageError."""
    values = grid_of(given, what="lengths", low=_SHORTEST, high=_LONGEST) if isinstance(given, str) else given
    return [int(value) for value in _rounded(values, 0, what="Length", low=_SHORTEST, high=_LONGEST)]


def depths_of(given: str | Iterable[float], spacing: Spacing = "linear") -> list[float]:
    """Depths in percent, each once, ascending, to two digits. `spacing` "sigmoid": drawn towards both ends by the curve
    of Kamradt's program. Raises UsageError."""
    values = grid_of(given, what="depths", low=0, high=100) if isinstance(given, str) else given
    held = _rounded(values, 4, what="Depth", low=0, high=100)
    if spacing == "sigmoid":
        held = [depth if depth in (0, 100) else 100 / (1 + math.exp(-0.1 * (depth - 50))) for depth in held]
    return _rounded(held, 2, what="Depth", low=0, high=100)  # two digits are what the ids of cases have


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
            f"--{what} {text}: expected numbers such as {_SUCH.get(what, '1,2')} or start:stop:count."
        ) from None
    for value in values:
        if not low <= value <= high:
            raise UsageError(f"--{what} {text}: {value:g} is not from {low:g} to {high:g}.")
    return tuple(dict.fromkeys(values))


def _rounded(values: Iterable[float], digits: int, *, what: str, low: float, high: float) -> list[float]:
    """Each number once, ascending. Raises UsageError for none, and for one that is not from `low` to `high`."""
    held = list(values)
    for value in held:
        if not low <= value <= high:  # NaN is not, either
            raise UsageError(f"{what} {value:g} is not from {low:g} to {high:g}.")
    if not held:
        raise UsageError(f"No {what.lower()}: ask for at least one.")
    return sorted({round(value, digits) for value in held})


def _number(text: str) -> float:
    text = text.strip().lower()
    value = float(text.removesuffix("k")) * (1000 if text.endswith("k") else 1)
    if not math.isfinite(value):
        raise ValueError
    return value
