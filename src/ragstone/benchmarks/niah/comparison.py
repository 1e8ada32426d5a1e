"""Two systems side by side: needles found by length, and effective lengths.

Only the cells that both systems have are compared, paired by length and depth. The uncertainty of an effective length
is bootstrapped: at each length the cells are resampled, identically for both systems, and the effective lengths are
computed again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ragstone.benchmarks.niah.aggregate import (
    NOLIMA_SHARE,
    RULER_BAR,
    NeedleKey,
    NeedleTally,
    needle_name,
    tally_needles,
)
from ragstone.benchmarks.niah.tables import name_of_length
from ragstone.benchmarks.table_builder import row
from ragstone.display import Cell, Table
from ragstone.messages import messages
from ragstone.stats import Estimate
from ragstone.types import Run

__all__ = ["EffectiveLengths", "Lengths", "compare_tables", "effective_of", "paired_cells"]

_DRAWS = 2000
_SEED = 0

Lengths = dict[int, list[tuple[float, float]]]
"""Length → the means of the cells there, of the first and the second system."""


@dataclass(frozen=True)
class EffectiveLengths:
    """The effective lengths of two systems with 95% intervals; 0 if even the shortest length is below the bar.
    `longer`, `shorter`: the share of draws in which the second one's is longer or shorter."""

    a: int
    b: int
    a_range: tuple[int, int]
    b_range: tuple[int, int]
    longer: float
    shorter: float


def paired_cells(first_tally: NeedleTally, second_tally: NeedleTally) -> Lengths:
    """The cells that both have."""
    first, second = first_tally.main.means(), second_tally.main.means()
    pairs: Lengths = {}
    for cell in sorted(first.keys() & second.keys()):
        pairs.setdefault(cell[0], []).append((first[cell], second[cell]))
    return pairs


def effective_of(cells: Lengths, bar: float | None) -> EffectiveLengths:
    """Effective lengths by a bar; None: 85% of each system's own mean at the shortest length."""
    import numpy as np  # noqa: PLC0415

    lengths = np.array([0, *cells])
    rng = np.random.default_rng(_SEED)
    drawn = []
    for pairs in cells.values():
        values = np.array(pairs)  # (cells, 2)
        draws = rng.integers(len(values), size=(_DRAWS, len(values)))
        drawn.append(np.concatenate([values.mean(axis=0)[None], values[draws].mean(axis=1)]))
    means = np.stack(drawn)  # (lengths, 1 + draws, 2); the first "draw" is the original sample
    bars = NOLIMA_SHARE * means[0] if bar is None else np.full(means.shape[1:], bar)
    above = (means >= bars - 1e-12) & (bars > 0)
    reached = lengths[np.cumprod(above, axis=0).sum(axis=0)]  # (1 + draws, 2)
    ranges = np.quantile(reached[1:], [0.025, 0.975], axis=0, method="nearest")
    return EffectiveLengths(
        int(reached[0, 0]), int(reached[0, 1]), (int(ranges[0, 0]), int(ranges[1, 0])),
        (int(ranges[0, 1]), int(ranges[1, 1])), float((reached[1:, 1] > reached[1:, 0]).mean()),
        float((reached[1:, 1] < reached[1:, 0]).mean()),
    )  # fmt: skip


def compare_tables(a: tuple[Run, str, str], b: tuple[Run, str, str], *, language: str = "en") -> list[Table]:
    """Tables by length and of effective lengths for two systems, each (its run, its id, its display name). [] if they
    share no cell."""
    texts = messages(__name__, language)
    first, second = (
        {replace(key, system=""): group for key, group in tally_needles(run).items() if key.system == system}
        for run, system, _ in (a, b)
    )
    shared = {
        key: cells for key in sorted(first.keys() & second.keys()) if (cells := paired_cells(first[key], second[key]))
    }
    if not shared:
        return []
    names = (a[2], b[2])
    return [_by_length(shared, names, texts), *_effective(shared, names, texts)]


def _name_of(key: NeedleKey, texts: Mapping[str, str]) -> str:
    parts = (texts.get(key.language, key.language), needle_name(key.needle, texts), key.template, key.retriever)
    return texts["comma"].join(part for part in parts if part)


def _by_length(shared: Mapping[NeedleKey, Lengths], names: tuple[str, str], texts: Mapping[str, str]) -> Table:
    rows = []
    for key, lengths in shared.items():
        for length, cells in lengths.items():
            first, second = ([pair[side] for pair in cells] for side in (0, 1))
            means = (Cell(value=sum(values) / len(values), unit="%") for values in (first, second))
            gain = Estimate.of_difference([after - before for before, after in cells]).cell("%")
            rows.append(row(_name_of(key, texts), name_of_length(length), *means, gain, str(len(cells))))
    columns = (texts["asked"], texts["length"], *names, texts["difference"], texts["cells"])
    return Table("niah-compare-lengths", texts["beside_lengths"], columns, tuple(rows), (texts["beside_note"],), keys=2)


def _effective(shared: Mapping[NeedleKey, Lengths], names: tuple[str, str], texts: Mapping[str, str]) -> list[Table]:
    rows = []
    for key, lengths in shared.items():
        if len(lengths) < 2:
            continue
        for name, bar in (("effective_nolima", None), ("effective_ruler", RULER_BAR)):
            both, shortest = effective_of(lengths, bar), min(lengths)
            shares = (Cell(value=share, unit="%") for share in (both.longer, both.shorter))
            ranges = (_range(both.a, both.a_range, shortest, texts), _range(both.b, both.b_range, shortest, texts))
            rows.append(row(_name_of(key, texts), texts[name], *ranges, *shares))
    columns = (texts["asked"], texts["bar"], *names, texts["longer"], texts["shorter"])
    notes = (texts["effective_note"], texts["draws_note"].format(n=f"{_DRAWS:,}", b=names[1]))
    table = Table("niah-compare-effective", texts["effective"], columns, tuple(rows), notes, keys=2)
    return [table] if rows else []


def _range(value: int, ends: tuple[int, int], shortest: int, texts: Mapping[str, str]) -> str:
    labels = [
        name_of_length(length) if length else texts["none_effective"].format(length=name_of_length(shortest))
        for length in (value, *ends)
    ]
    return labels[0] if ends == (value, value) else f"{labels[0]} ({labels[1]}–{labels[2]})"
