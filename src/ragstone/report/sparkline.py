"""A curve in one line of characters, for the terminal."""

from collections.abc import Collection, Sequence

_BLOCKS = "▁▂▃▄▅▆▇█"
_WIDEST = 48  # points; of more, the last are shown


def sparkline(values: Sequence[float | None], cuts: Collection[int] = ()) -> str:
    """A block for each value, from the lowest to the highest of them; "·" where there is none, "│" before each place of
    `cuts`. Of a flat curve all blocks are of middle height."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    start = max(0, len(values) - _WIDEST)
    line = "…" if start else ""
    for place in range(start, len(values)):
        value = values[place]
        line += "│" if place in cuts else ""
        if value is None:
            line += "·"
        elif high == low:
            line += _BLOCKS[3]
        else:
            line += _BLOCKS[round((value - low) / (high - low) * (len(_BLOCKS) - 1))]
    return line
