"""The format of the value, interval and counts of a table cell, the same in every output."""

from ragstone.display import Cell


def share(part: int, whole: int) -> str:
    """`part` of `whole` in per cent, without decimals; "–" where `whole` is 0."""
    return f"{100 * part / whole:.0f}%" if whole else "–"


def number(amount: float) -> str:
    """A number without a unit: integers with separators, others to three decimals, tiny ones in scientific notation."""
    if amount == int(amount) and abs(amount) < 1e15:
        return f"{int(amount):,}"
    if abs(amount) < 0.0005:
        return f"{amount:.1e}"
    return f"{amount:,.3f}"


def value(cell: Cell) -> str:
    """The cell's value: a share as a percentage to two decimals, as in papers; "" where there is none."""
    if cell.value is None:
        return ""
    return f"{100 * cell.value:.2f}" if cell.unit == "%" else number(cell.value)


def interval(cell: Cell) -> str:
    """The cell's interval: "89.6–94.8", or "[-0.421, -0.211]" where it begins below 0; "" where there is none."""
    if cell.low is None or cell.high is None:
        return ""
    low, high = (f"{100 * end:.1f}" if cell.unit == "%" else number(end) for end in (cell.low, cell.high))
    return f"[{low}, {high}]" if cell.low < 0 else f"{low}–{high}"


def counts(cell: Cell) -> str:
    """The number scored and the total, such as "287/300"; "" where there are no counts."""
    if cell.scored is None:
        return ""
    return f"{cell.scored}/{cell.scored if cell.total is None else cell.total}"
