"""Effective lengths: up to which length a model finds enough, and between which lengths that ends, at 95%."""

from dataclasses import dataclass

from ragstone.benchmarks.niah.aggregate import CellScores
from ragstone.stats import apart

RULER_BAR = 0.856
"""Hsieh et al. 2024 (RULER): the score of Llama 2 7B at 4k, the threshold of an effective length."""
NOLIMA_SHARE = 0.85
"""Modarressi et al. 2025 (NoLiMa): the threshold as a share of the score at the shortest length."""

Ends = tuple[float, float, float]
"""A value with the ends of its interval."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Bar:
    """The score to reach, with the ends of its interval. `own`: it is a share of the shortest length's, which so meets
    it."""

    score: Ends
    own: bool = False


@dataclass(frozen=True)
class EffectiveLength:
    """The longest length up to which every length has a mean of at least the bar, `reached`, and the ends of its 95%
    interval; 0 is below the shortest length. `high` is None if longer lengths than those asked may be reached, too.
    `ends`: whether the grid ends at `reached`; `pending`: whether the next length is not finished."""

    reached: int
    low: int
    high: int | None
    ends: bool = False
    pending: bool = False


def ruler_bar() -> Bar:
    """The fixed bar of RULER."""
    return Bar((RULER_BAR, RULER_BAR, RULER_BAR))


def nolima_bar(cells: CellScores) -> Bar | None:
    """85% of the mean at the shortest length; None if nothing is found or measured there, or cases are pending."""
    if not cells.lengths or cells.is_open(cells.lengths[0]):
        return None
    mean = cells.mean(lengths=cells.lengths[:1])
    if not mean.value:
        return None
    low, high = (0.0, 1.0) if mean.low is None or mean.high is None else (mean.low, mean.high)
    return Bar((NOLIMA_SHARE * mean.value, NOLIMA_SHARE * low, NOLIMA_SHARE * high), own=True)


def effective(cells: CellScores, bar: Bar) -> EffectiveLength:
    """The effective length by this bar. A length with pending cases has no mean yet and ends the search.

    The interval takes scores not to rise with the length, and tests length after length until one is not rejected, so
    that tests do not add up. Upwards from the shortest: a length is surely above the bar if the cells from there to the
    effective length are, all together. Downwards from the longest: a length is surely below by its own mean. Measured
    by `bench/needle_coverage.py`."""
    lengths = []
    for length in cells.lengths:
        if cells.is_open(length) or not cells.at_length(length):
            break
        lengths.append(length)
    means = [cells.mean(lengths=[length]).value or 0.0 for length in lengths]
    reached = next((at for at, mean in enumerate(means) if mean < bar.score[0] - _ROUNDING), len(lengths))
    finished = len(lengths) == len(cells.lengths)
    sure = min(reached, int(bar.own))
    while sure < reached and _apart(cells, lengths[sure:reached], bar)[0] >= 0:
        sure += 1
    possible = len(lengths)
    while finished and possible > reached and _apart(cells, lengths[possible - 1 : possible], bar)[1] < 0:
        possible -= 1
    steps = [0, *lengths]
    return EffectiveLength(
        steps[reached], steps[sure], None if possible == len(lengths) else steps[possible],
        ends=finished and reached == len(lengths), pending=not finished and reached == len(lengths),
    )  # fmt: skip


def _apart(cells: CellScores, lengths: list[int], bar: Bar) -> tuple[float, float]:
    """The interval of the mean at these lengths minus the bar; any difference where one cell is all there is."""
    known = cells.mean(lengths=lengths).known
    if known is None:
        return (-1.0, 1.0)
    low, high = apart(known, bar.score)
    return (float(low), float(high))
