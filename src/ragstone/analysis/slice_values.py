"""The values of a field that make slices: texts as they are, numbers with many values in quarters."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

_FEW = 8  # different numbers that are values of their own
_BINS = 4
_MOST_VALUES = 20  # of a field; the most frequent ones


def labels_of(values: Sequence[str | None]) -> list[str | None]:
    """The slice to which each value belongs; None where it is unknown. A value that is not among the 20 most
    frequent ones has "", which is no slice but belongs to the rest. Bins are spelled as `--where` reads them: "..11",
    "12..20", "21..", ends included."""
    numbers = [None if value is None else _number(value) for value in values]
    known = [number for number in numbers if number is not None]
    if len({*known}) > _FEW and len(known) == sum(value is not None for value in values):
        bins = _bins(known)
        return [None if number is None else next(name for high, name in bins if number <= high) for number in numbers]
    counts = Counter(value for value in values if value is not None)
    common = {*sorted(counts, key=lambda value: (-counts[value], value))[:_MOST_VALUES]}
    return [value if value is None or value in common else "" for value in values]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _bins(numbers: Sequence[float]) -> list[tuple[float, str]]:
    """The largest number and the name of each quarter. Bounds are the roundest numbers that divide the same values."""
    ordered = np.sort(np.array(numbers))
    cuts = sorted({float(cut) for cut in np.quantile(ordered, np.arange(1, _BINS) / _BINS, method="lower")})
    bins: list[tuple[float, str]] = []
    low = ""
    for cut in cuts:
        above = ordered[ordered > cut]
        if len(above):
            high = _roundest(cut, float(above[0]), math.ceil)
            bins.append((cut, f"{low}..{high}"))
            low = _roundest(float(above[0]), float(high), math.floor)
    return [*bins, (math.inf, f"{low}..")]


def _roundest(number: float, bound: float, towards: Callable[[float], int]) -> str:
    """The number with the fewest decimals between `number` (included) and `bound` (excluded), rounded `towards` it."""
    for decimals in range(18):
        rounded = towards(number * 10**decimals) / 10**decimals
        if min(number, bound) <= rounded <= max(number, bound) and rounded != bound:
            return f"{rounded + 0.0:.{decimals}f}"  # not "-0"
    return repr(number)
