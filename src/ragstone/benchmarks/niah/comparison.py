"""Two systems side by side: needles found by length, and effective lengths.

Only the cells that both systems have are compared, paired by length and depth. Which effective length is longer is
bootstrapped: at each length the cells are resampled, identically for both systems, and the effective lengths are
computed again.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ragstone.benchmarks.niah.aggregate import ANYWHERE, CellScores, NeedleKey, NeedleTally, setting_name, tally_needles
from ragstone.benchmarks.niah.effective import (
    NOLIMA_SHARE,
    RULER_BAR,
    EffectiveLength,
    effective,
    nolima_bar,
    ruler_bar,
)
from ragstone.benchmarks.niah.tables import name_of_length, named_effective
from ragstone.benchmarks.table_builder import row
from ragstone.display import Cell, Table
from ragstone.messages import messages
from ragstone.stats import Estimate
from ragstone.types import Run

_DRAWS = 2000
_SEED = 0

Lengths = dict[int, list[tuple[float, float]]]
"""Length → the means of the cells there, of the first and the second system."""


@dataclass(frozen=True)
class EffectiveLengths:
    """The effective lengths of two systems. `longer`, `shorter`: the share of bootstrap draws of the cells in which the
    second one's is longer or shorter."""

    a: EffectiveLength
    b: EffectiveLength
    longer: float
    shorter: float


def paired_cells(first_tally: NeedleTally, second_tally: NeedleTally) -> Lengths:
    """The cells that both have; where a task has no depth, its repeats."""
    first, second = first_tally.main, second_tally.main
    pairs: Lengths = {}
    for cell in sorted(first.values.keys() & second.values.keys()):
        found = [first.values[cell], second.values[cell]]
        if cell[1] != ANYWHERE or len(found[0]) != len(found[1]):
            found = [[math.fsum(values) / len(values)] for values in found]
        pairs.setdefault(cell[0], []).extend(zip(*found, strict=True))
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
    a, b = (_effective_length(cells, side, fixed=bar is not None) for side in (0, 1))
    longer, shorter = reached[1:, 1] > reached[1:, 0], reached[1:, 1] < reached[1:, 0]
    return EffectiveLengths(a, b, float(longer.mean()), float(shorter.mean()))


def _effective_length(cells: Lengths, side: int, *, fixed: bool) -> EffectiveLength:
    scores = CellScores()
    for length, pairs in cells.items():
        for place, pair in enumerate(pairs):
            scores.values[length, float(place)].append(pair[side])
    found = ruler_bar() if fixed else nolima_bar(scores)
    return EffectiveLength(0, 0, 0) if found is None else effective(scores, found)


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
    fields = ("language", "needle", "template", "retriever")
    return texts["comma"].join(part for field in fields if (part := setting_name(field, getattr(key, field), texts)))


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
            alone = min(map(len, lengths.values())) < 2  # every draw is the same
            shares = (Cell("–") if alone else Cell(value=share, unit="%") for share in (both.longer, both.shorter))
            named = (named_effective(found, shortest, texts) for found in (both.a, both.b))
            rows.append(row(_name_of(key, texts), texts[name], *named, *shares))
    columns = (texts["asked"], texts["bar"], *names, texts["longer"], texts["shorter"])
    notes = (texts["effective_note"], texts["draws_note"].format(n=f"{_DRAWS:,}", b=names[1]))
    table = Table("niah-compare-effective", texts["effective"], columns, tuple(rows), notes, keys=2)
    return [table] if rows else []
