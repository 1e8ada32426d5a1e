"""Labels of the axes of a large heat map: round numbers at their places between the cells."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise

from ragstone.display import Tick

_MOST = 8  # labels of an axis


def round_ticks(values: Sequence[float], name: Callable[[float], str], *, most: int) -> tuple[Tick, ...]:
    """Round numbers along cells of these rising values, either evenly spaced ones or 1, 2, 5, 10, 20…, whichever
    spreads over the cells better; () for at most `most` cells, which all have their own names."""
    if len(values) <= most:
        return ()
    candidates = (_even(values[0], values[-1]), _decades(values[0], values[-1]))
    spread = min((_thinned(values, numbers) for numbers in candidates), key=lambda ticks: _widest(ticks, len(values)))
    return tuple(Tick(at, name(value)) for at, value in spread)


def _even(first: float, last: float) -> list[float]:
    rough = (last - first) / _MOST
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough * (1 - 1e-9))
    return [step * number for number in range(math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9) + 1)]


def _decades(first: float, last: float) -> list[float]:
    if first <= 0:
        return []
    powers = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    return [digit * 10.0**power for power in powers for digit in (1, 2, 5) if first <= digit * 10.0**power <= last]


def _thinned(values: Sequence[float], numbers: Sequence[float]) -> list[tuple[float, float]]:
    """(place, number), far enough apart to be read."""
    kept: list[tuple[float, float]] = []
    for number in numbers:
        at = _place(values, number)
        if not kept or at - kept[-1][0] >= len(values) / (1.5 * _MOST):
            kept.append((at, number))
    return kept


def _place(values: Sequence[float], number: float) -> float:
    """Where a number is on the axis of these cells, in cells."""
    after = min(len(values) - 1, max(1, bisect_left(values, number)))
    low, high = values[after - 1], values[after]
    return after - 0.5 + (number - low) / (high - low)


def _widest(ticks: Sequence[tuple[float, float]], cells: int) -> float:
    """The longest stretch of the axis without a label."""
    places = [0.0, *(at for at, _ in ticks), float(cells)]
    return max(after - before for before, after in pairwise(places))
