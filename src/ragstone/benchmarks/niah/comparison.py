"""Two systems side by side: what each finds by length, and how long a context is effective for either.

Only cells that both have are looked at, paired by length and depth. The uncertainty of an effective length is that of
its cells: at each length they are drawn anew, the same for both, and the effective lengths are taken again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragstone.benchmarks.niah.aggregate import NOLIMA_SHARE, RULER_BAR, Group, Key, count
from ragstone.benchmarks.niah.tables import name_of_length
from ragstone.messages import messages
from ragstone.stats import bootstrap_mean, paired_difference
from ragstone.types import Cell, Row, Run, Table

__all__ = ["Effective", "Lengths", "compare_tables", "effective_of", "paired_cells"]

_DRAWS = 2000
_SEED = 0

Lengths = dict[int, list[tuple[float, float]]]
"""Length → the means of the cells there, of the first and the second system."""


@dataclass(frozen=True)
class Effective:
    """Effective lengths of both, each with its 95% interval; 0 where even the shortest length is below the bar.
    `longer`, `shorter`: the share of draws in which that of the second is longer, or shorter."""

    a: int
    b: int
    a_range: tuple[int, int]
    b_range: tuple[int, int]
    longer: float
    shorter: float


def paired_cells(one: Group, other: Group) -> Lengths:
    """The cells that both have."""
    first, second = one.main.means(), other.main.means()
    found: Lengths = {}
    for cell in sorted(first.keys() & second.keys()):
        found.setdefault(cell[0], []).append((first[cell], second[cell]))
    return found


def effective_of(cells: Lengths, bar: float | None) -> Effective:
    """By a bar; None: 85% of the mean at the shortest length, of each its own."""
    import numpy as np  # noqa: PLC0415

    lengths = np.array([0, *cells])
    rng = np.random.default_rng(_SEED)
    drawn = []
    for held in cells.values():
        values = np.array(held)  # (cells, 2)
        at = rng.integers(len(values), size=(_DRAWS, len(values)))
        drawn.append(np.concatenate([values.mean(axis=0)[None], values[at].mean(axis=1)]))
    means = np.stack(drawn)  # (lengths, 1 + draws, 2); the first draw is the cells themselves
    bars = NOLIMA_SHARE * means[0] if bar is None else np.full(means.shape[1:], bar)
    above = (means >= bars - 1e-12) & (bars > 0)
    reached = lengths[np.cumprod(above, axis=0).sum(axis=0)]  # (1 + draws, 2)
    ranges = np.quantile(reached[1:], [0.025, 0.975], axis=0, method="nearest")
    return Effective(
        int(reached[0, 0]), int(reached[0, 1]), (int(ranges[0, 0]), int(ranges[1, 0])),
        (int(ranges[0, 1]), int(ranges[1, 1])), float((reached[1:, 1] > reached[1:, 0]).mean()),
        float((reached[1:, 1] < reached[1:, 0]).mean()),
    )  # fmt: skip


def compare_tables(a: tuple[Run, str, str], b: tuple[Run, str, str], *, language: str = "en") -> list[Table]:
    """Of two systems, each (its run, its id, what to call it): by length, and the effective lengths. [] where they
    share no cell."""
    told = messages(__name__, language)
    first, second = ({_alike(key): group for key, group in count(run).items() if key.system == system}
                     for run, system, _ in (a, b))  # fmt: skip
    shared = {
        key: cells for key in sorted(first.keys() & second.keys()) if (cells := paired_cells(first[key], second[key]))
    }
    if not shared:
        return []
    names = (a[2], b[2])
    return [_by_length(shared, names, told), *_effective(shared, names, told)]


def _alike(key: Key) -> Key:
    return Key("", key.language, key.needle, key.template, key.mode, key.retriever)


def _asked(key: Key, told: Mapping[str, str]) -> Cell:
    parts = (told.get(key.language, key.language), told.get(key.needle, key.needle), key.template, key.retriever)
    return Cell(told["comma"].join(part for part in parts if part))


def _by_length(shared: Mapping[Key, Lengths], names: tuple[str, str], told: Mapping[str, str]) -> Table:
    rows = []
    for key, lengths in shared.items():
        for length, cells in lengths.items():
            one, other = ([pair[side] for pair in cells] for side in (0, 1))
            mean, low, high = _difference(one, other)
            rows.append(
                Row((
                    _asked(key, told), Cell(name_of_length(length)), Cell(value=sum(one) / len(one), unit="%"),
                    Cell(value=sum(other) / len(other), unit="%"), Cell(value=mean, low=low, high=high, unit="%"),
                    Cell(str(len(cells))),
                ))
            )  # fmt: skip
    columns = (told["asked"], told["length"], *names, told["difference"], told["cells"])
    return Table("niah-compare-lengths", told["beside_lengths"], columns, tuple(rows), (told["beside_note"],), keys=2)


def _difference(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Of the means, with its 95% interval: Tango's where every cell is 0 or 1, else by bootstrap."""
    mean = (sum(other) - sum(one)) / len(one)
    if {*one, *other} <= {0.0, 1.0}:
        only_one = sum(a > b for a, b in zip(one, other, strict=True))
        only_other = sum(a < b for a, b in zip(one, other, strict=True))
        return mean, *paired_difference(only_one, only_other, len(one))
    return mean, *bootstrap_mean([b - a for a, b in zip(one, other, strict=True)])


def _effective(shared: Mapping[Key, Lengths], names: tuple[str, str], told: Mapping[str, str]) -> list[Table]:
    rows = []
    for key, lengths in shared.items():
        if len(lengths) < 2:
            continue
        for name, bar in (("effective_nolima", None), ("effective_ruler", RULER_BAR)):
            found = effective_of(lengths, bar)
            shortest = min(lengths)
            rows.append(
                Row((
                    _asked(key, told), Cell(told[name]), Cell(_range(found.a, found.a_range, shortest, told)),
                    Cell(_range(found.b, found.b_range, shortest, told)), Cell(value=found.longer, unit="%"),
                    Cell(value=found.shorter, unit="%"),
                ))
            )  # fmt: skip
    columns = (told["asked"], told["bar"], *names, told["longer"], told["shorter"])
    notes = (told["effective_note"], told["draws_note"].format(n=f"{_DRAWS:,}", b=names[1]))
    made = Table("niah-compare-effective", told["effective"], columns, tuple(rows), notes, keys=2)
    return [made] if rows else []


def _range(value: int, ends: tuple[int, int], shortest: int, told: Mapping[str, str]) -> str:
    shown = [
        name_of_length(one) if one else told["none_effective"].format(length=name_of_length(shortest))
        for one in (value, *ends)
    ]
    return shown[0] if ends == (value, value) else f"{shown[0]} ({shown[1]}–{shown[2]})"
