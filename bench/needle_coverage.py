"""How often the 95% intervals of a needle test contain the truth, where the repeats of a cell are alike.

    python bench/needle_coverage.py [--replicates 1000]

Means: 6 to 30 cells with 1 to 10 repeats, whose correlation within a cell is 0 to 0.5; each line is over 25 means from
0.5 to 0.98, since with few cells the coverage at one mean says more about its place between two possible results.
Effective lengths: 12 lengths of known means; how often the interval ends too high or too low. Templates: how often two
equally good ones differ at p < 0.05, by the test over cells and by one that counts every trial as independent.
"""

import argparse
from collections.abc import Iterator
from itertools import product

import numpy as np

from ragstone.benchmarks.niah.aggregate import CellScores
from ragstone.benchmarks.niah.effective import effective, ruler_bar
from ragstone.stats import Array, mcnemar_exact, paired_test, score_interval

CELLS, REPEATS, ALIKE = (6, 10, 15, 30), (1, 2, 3, 5, 10), (0.0, 0.1, 0.3, 0.5)
MEANS = np.linspace(0.5, 0.98, 25)
_AT = np.linspace(0, 1, 12)
CURVES = {
    "all found": np.ones(12), "0.99": np.full(12, 0.99), "0.9": np.full(12, 0.9), "just above": np.full(12, 0.857),
    "just below": np.full(12, 0.855), "falls slowly": 1 - 0.4 * _AT, "falls": 1 / (1 + np.exp(8 * (_AT - 0.75))),
    "breaks off": np.where(_AT < 0.5, 0.98, 0.5), "dips": np.where(abs(_AT - 0.5) < 0.1, 0.6, 0.98),
}  # fmt: skip
_GRIDS = ((5, 1, 0.0), (15, 1, 0.0), (15, 3, 0.3))  # depths, repeats, how alike those are


def chances(rng: np.random.Generator, mean: Array, shape: tuple[int, ...], alike: float) -> Array:
    """The chance of each cell, so that its repeats have this correlation."""
    if not alike:
        return np.broadcast_to(mean, shape)
    spread = (1 - alike) / alike
    return rng.beta(np.maximum(spread * mean, 1e-9), np.maximum(spread * (1 - mean), 1e-9), shape)


def means(replicates: int, seed: int = 1) -> Iterator[tuple[int, int, float, float, float, float]]:
    """Cells, repeats, correlation; coverage and mean width over all means, and the least coverage at one."""
    rng = np.random.default_rng(seed)
    for cells, repeats, alike in product(CELLS, REPEATS, ALIKE):
        if repeats == 1 and alike:
            continue
        found = []
        for mean in MEANS:
            sums: Array = rng.binomial(repeats, chances(rng, mean, (replicates, cells), alike)).astype(np.float64)
            sizes, trials = np.full(cells, float(repeats)), float(cells * repeats)
            low, high = np.array([score_interval(row, sizes, trials=trials) for row in sums]).T
            found.append((np.mean((low <= mean + 1e-12) & (mean - 1e-12 <= high)), np.mean(high - low)))
        shares, widths = np.array(found).T
        yield cells, repeats, alike, float(shares.mean()), float(widths.mean()), float(shares.min())


def effective_lengths(replicates: int, seed: int = 2) -> Iterator[tuple[str, int, float, float, float, float, float]]:
    """Curve and grid; how often the interval ends below the truth, begins above it, and the mean low end, effective
    length and high end, in lengths of twelve."""
    rng = np.random.default_rng(seed)
    bar = ruler_bar()
    for (name, curve), (depths, repeats, alike) in product(CURVES.items(), _GRIDS):
        true = int(np.cumprod(curve >= bar.score[0]).sum())
        ends = []
        for _ in range(replicates):
            cells = CellScores()
            drawn = rng.binomial(1, chances(rng, curve[:, None], (12, depths), alike)[..., None], (12, depths, repeats))
            for at, depth in np.ndindex(12, depths):
                cells.values[at + 1, float(depth)] = drawn[at, depth].tolist()
            found = effective(cells, bar)
            ends.append((found.low, found.reached, 12 if found.high is None else found.high))
        low, _, high = np.array(ends).T
        label = f"{name}, {depths} depths × {repeats}"
        yield label, true, float((high < true).mean()), float((low > true).mean()), *np.mean(ends, axis=0)


def template_errors(replicates: int, seed: int = 3) -> tuple[float, float]:
    """How often two templates, equally good on average but not in each cell, differ at p < 0.05: by the paired test
    over cells, and by McNemar's test over all trials."""
    rng = np.random.default_rng(seed)
    wrong = np.zeros(2)
    names = [cell for cell in range(30) for _ in range(5)]
    for _ in range(replicates):
        a, b = (rng.binomial(1, np.repeat(chances(rng, np.array(0.8), (30,), 0.5), 5)).tolist() for _ in "ab")
        only = [sum(x > y for x, y in zip(*sides, strict=True)) for sides in ((a, b), (b, a))]
        wrong += [paired_test(a, b, groups=names)[1] < 0.05, mcnemar_exact(*only) < 0.05]
    return float(wrong[0]) / replicates, float(wrong[1]) / replicates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    replicates = parser.parse_args().replicates
    rows = list(means(replicates))
    print("cells repeats alike  covered  width  least at one mean")
    for cells, repeats, alike, share, width, least in rows:
        print(f"{cells:5} {repeats:7} {alike:5}  {share:7.1%}  {width:.3f}  {least:17.1%}")
    shares = [row[3] for row in rows]
    print(f"covered: {min(shares):.1%} to {max(shares):.1%}, on average {np.mean(shares):.1%}")
    print(f"{'effective length':32}true  too low  too high  low  reached  high")
    for label, true, under, over, low, reached, high in effective_lengths(max(1, replicates // 5)):
        print(f"{label:32}{true:4}  {under:7.1%}  {over:8.1%}  {low:3.1f}  {reached:7.1f}  {high:4.1f}")
    by_cell, by_trial = template_errors(replicates)
    print(f"equal templates that differ at p < 0.05: {by_cell:.1%} by cell, {by_trial:.1%} by trial")


if __name__ == "__main__":
    main()
