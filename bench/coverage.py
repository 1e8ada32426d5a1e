"""How often the 95% intervals contain what they estimate, and how wide they are.

    python bench/coverage.py [--replicates 2000] [--part means|differences|gates|shares] [--old]

Each line is a cell: scores of 0 and 1; of 0, ½ and 1; beta-like ones; skewed ones (a tenth or a half of the mean is
what every question has, the rest are rare questions that have 1; at means above ½ rare failures); a mixture of 0 and 1
and beta-like ones; a mean; a number of questions; one answer per question, three, or six, three, two and one. Means
stand beside an oracle's width: the exact interval (Clopper and Pearson) of one who knows the variance of the mean, as
that of right-or-wrong trials. Differences are of two systems on the same questions, by the mean of the first; in the
cells with a rise or a fall, this share of questions becomes 1 or 0 in the second. Gates: how often a system just at its
threshold fails, at worst over these scores and means. Shares: the exact coverage of a share of independent right
answers over all true shares, and widths against Wilson's, where the ends reach as far as the exact ones of a level.
`--old`: means and gates by the intervals that decision 51 replaced.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import beta, binom

from ragstone.stats import Array, count_interval, effective, exact_interval, gain_interval, wilson
from ragstone.stats.intervals import FAR_LEVEL, UpperEnd

KINDS, MEANS, SIZES = ("0/1", "half", "beta", "skewed", "rare", "mixed"), (0.02, 0.1, 0.5, 0.98), (10, 30, 100, 300)
_COMMON = {"skewed": 0.1, "rare": 0.5}  # the part of the mean that every question has
ANSWERS = {"1": (1,), "3": (3,), "6-3-2-1": (6, 3, 2, 1)}
_ALIKE = 0.4  # the correlation of the answers to a question
PARTS = ("means", "differences", "gates", "shares")
_SHIFTS = {0.02: (0.0, 0.2), 0.5: (0.0, 0.1, 0.3), 0.98: (0.0, -0.2)}


@dataclass(frozen=True)
class Coverage:
    """A cell: the share of intervals that contain the true value, their mean width, and the oracle's."""

    name: str
    share: float
    width: float
    oracle: float = float("nan")

    def line(self) -> str:
        against = "" if np.isnan(self.oracle) else f"{self.width / self.oracle:9.2f}"
        return f"{self.name:56}{self.share:7.1%}  {self.width:.3f}{against}"


def scores_of(rng: np.random.Generator, kind: str, chances: Array) -> Array:
    """Scores whose means are the chances."""
    if kind == "mixed":
        parts = [scores_of(rng, part, chances) for part in ("0/1", "beta")]
        return np.where(np.arange(chances.shape[1]) % 2 > 0, *parts)
    if kind in _COMMON:
        lower = np.minimum(chances, 1 - chances)  # rare failures are rare successes, mirrored
        common = _COMMON[kind] * lower
        scores = np.where(rng.random(chances.shape) < (lower - common) / (1 - common), 1.0, common)
        return np.where(chances > 0.5, 1 - scores, scores)
    if kind == "beta":
        return rng.beta(np.maximum(2 * chances, 1e-6), np.maximum(2 * (1 - chances), 1e-6))
    trials = 1 if kind == "0/1" else 2
    return rng.binomial(trials, chances) / trials


def _chances(rng: np.random.Generator, mean: float, shape: tuple[int, int], *, varies: bool) -> Array:
    """The chance of each question."""
    spread = (1 - _ALIKE) / _ALIKE
    return rng.beta(spread * mean, spread * (1 - mean), shape) if varies else np.full(shape, mean)


def _cell(name: str, true: float, ends: tuple[Array, Array], oracle: float = float("nan")) -> Coverage:
    """The cell of these intervals."""
    low, high = ends
    covered = np.mean((low <= true + 1e-12) & (true - 1e-12 <= high))
    return Coverage(name, float(covered), float(np.mean(high - low)), oracle)


def _oracle(found: Array, mean: float) -> float:
    """The mean width of the exact interval by one who knows how much these means vary."""
    trials = mean * (1 - mean) / float(np.square(found - mean).mean())
    won, lost = found * trials, (1 - found) * trials
    low = np.where(won > 0, beta.ppf(0.025, np.maximum(won, 1e-12), lost + 1), 0.0)
    high = np.where(lost > 0, beta.ppf(0.975, won + 1, np.maximum(lost, 1e-12)), 1.0)
    return float(np.mean(high - low))


def means(replicates: int, seed: int = 1, *, old: bool = False) -> Iterator[Coverage]:
    """The cells of means. `old`: by Wilson's interval with the effective number of trials alone."""
    rng = np.random.default_rng(seed)
    for kind, mean, n, (name, answers) in product(KINDS, MEANS, SIZES, ANSWERS.items()):
        sizes = np.resize(answers, n)
        chances = _chances(rng, mean, (replicates, n), varies=name != "1")
        scores = [scores_of(rng, kind, chances) * (at < sizes) for at in range(max(answers))]
        sums = np.sum(scores, axis=0)
        variances = np.square(scores).sum(axis=(0, 2)) / sizes.sum() - (sums.sum(axis=1) / sizes.sum()) ** 2
        trials = float(sizes.sum()) if kind == "0/1" else np.inf
        found = intervals(sums, sizes * 1.0, trials, None if old else np.maximum(variances, 0.0))
        oracle = _oracle(sums.sum(axis=1) / sizes.sum(), mean)
        label = f"mean {mean:<5} {kind:6} n={n:<4} answers {name}"
        yield _cell(label, mean, found, oracle)


def intervals(sums: Array, sizes: Array, trials: float, variances: "Array | None") -> tuple[Array, Array]:
    """The `score_interval` of each row, by scipy's quantiles, which are faster. No variances: without the far ends."""
    share, number = effective(sums, np.broadcast_to(sizes, sums.shape), trials=trials)
    low, high = np.array([wilson(*one) for one in zip(share * number, number, strict=True)]).T
    if variances is None:
        return low, high
    over, under = (_ends(part, sizes, trials, variances) for part in (sums, sizes - sums))
    return np.minimum(low, 1 - _far(under)), np.maximum(high, _far(over))


def _far(ends: Array) -> Array:
    """How far these upper ends reach."""
    least, a, b = ends
    return np.asarray(least + (1 - least) * beta.ppf(1 - FAR_LEVEL / 2, a, b), dtype=np.float64)


def _ends(sums: Array, sizes: Array, trials: float, variances: Array) -> Array:
    """The least value, a and b of the upper end of each row."""
    ends = [UpperEnd.of(row, sizes, trials, variance) for row, variance in zip(sums, variances, strict=True)]
    return np.array([(end.least, end.a, end.b) for end in ends]).T


def differences(replicates: int, seed: int = 2) -> Iterator[Coverage]:
    """The cells of paired differences."""
    rng = np.random.default_rng(seed)
    for kind, (mean, shifts), n, (name, answers) in product(KINDS[:3], _SHIFTS.items(), SIZES, ANSWERS.items()):
        sizes = np.resize(answers, n)
        weights = np.broadcast_to(sizes * 1.0, (replicates, n))
        for shift in shifts:
            chances = _chances(rng, mean, (replicates, n), varies=True)
            moved = rng.random((replicates, n)) < abs(shift)
            gains, losses = np.zeros((replicates, n)), np.zeros((replicates, n))
            for at in range(max(answers)):
                first, second = (scores_of(rng, kind, chances) for _ in "ab")
                change = (np.where(moved, float(shift > 0), second) - first) * (at < sizes)
                gains, losses = gains + np.maximum(change, 0), losses + np.maximum(-change, 0)
            true = shift * (1 - mean if shift > 0 else mean)
            ends = gain_interval(gains, losses, weights, trials=float(sizes.sum()) if kind == "0/1" else np.inf)
            label = f"difference {mean:<5} {shift:+.2f} {kind:5} n={n:<4} answers {name}"
            yield _cell(label, true, ends)


def false_failures(replicates: int, n: int, seed: int = 3, *, old: bool = False) -> float:
    """The largest share of systems just at their threshold that a gate fails, over scores and means. `old`: by the
    exact interval of the effective number of trials (Korn and Graubard 1998)."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for kind, mean in product(KINDS, (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)):
        trials = n if kind == "0/1" else np.inf
        drawn = np.sort(scores_of(rng, kind, np.full((replicates, n), mean)), axis=1)
        scores, counts = np.unique(drawn, axis=0, return_counts=True)
        for values, at in ((scores, mean), (1 - scores, 1 - mean)):
            if old:
                share, number = effective(values, np.ones_like(values), trials=trials)
                least, a, b = np.zeros(len(values)), share * number + 1, (1 - share) * number
            else:
                least, a, b = _ends(values, np.ones(n), trials, values.var(axis=1))
            place = (at - least) / np.maximum(1 - least, 1e-12)
            # The upper end of the 95% interval, a quantile of this beta distribution, is below the threshold.
            failed = (place > 0) & (b > 0) & (beta.cdf(place, a, np.maximum(b, 1e-12)) > 0.975)
            worst = max(worst, float(counts[failed].sum()) / replicates)
    return worst


@dataclass(frozen=True)
class Shares:
    """The interval of a share of so many answers, whose ends reach as far as the exact ones of a level (None: Wilson's
    own): its least and largest coverage, and its least and largest width against Wilson's."""

    sizes: str
    level: float | None
    covered: tuple[float, float]
    width: tuple[float, float]

    def line(self) -> str:
        name = "Wilson" if self.level is None else f"and {1 - self.level:.0%}"
        covered, width = (f"{low:.{digits}f}–{high:.{digits}f}" for low, high, digits in (
            (100 * self.covered[0], 100 * self.covered[1], 1), (*self.width, 3)))  # fmt: skip
        return f"share of n={self.sizes:<9} {name:7} {covered:>12}%  {width}"


def shares(first: int, last: int, level: float | None) -> Shares:
    """Of all numbers of answers from the first to the last."""
    covered, wider = map(np.array, zip(*(_share(n, level) for n in range(first, last + 1)), strict=True))
    sizes = f"{first}" if first == last else f"{first}–{last}"
    ends = [(float(found[:, 0].min()), float(found[:, 1].max())) for found in (covered, wider)]
    return Shares(sizes, level, *ends)


def _share(n: int, level: float | None) -> tuple[tuple[float, float], tuple[float, float]]:
    """Exact, over the true shares from a thousandth to 999, and those just beyond each end, where the coverage jumps.
    Shares with which all or none are right in more than 99% of samples are left out."""
    own = np.array([wilson(won, n) for won in range(n + 1)])
    ends = own
    if level == FAR_LEVEL:
        ends = np.array([count_interval(won, n) for won in range(n + 1)])
    elif level is not None:
        exact = np.array([exact_interval(won / n, n, level) for won in range(n + 1)])
        ends = np.stack([np.minimum(own[:, 0], exact[:, 0]), np.maximum(own[:, 1], exact[:, 1])], axis=1)
    jumps = np.concatenate([ends.ravel() - 1e-9, ends.ravel() + 1e-9])
    true = np.concatenate([np.arange(1, 1000) / 1000, jumps])
    true = true[(true > 0) & (true < 1) & (np.maximum(true, 1 - true) ** n <= 0.99)]
    chances = binom.pmf(np.arange(n + 1), n, true[:, None])
    covered = (chances * ((ends[:, 0] <= true[:, None]) & (true[:, None] <= ends[:, 1]))).sum(axis=1)
    wider = (ends[:, 1] - ends[:, 0]) / (own[:, 1] - own[:, 0])
    return (covered.min(), covered.max()), (wider.min(), wider.max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--part", choices=PARTS, action="append", help="only this (repeatable)")
    parser.add_argument("--old", action="store_true")
    options = parser.parse_args()
    parts, count, old = options.part or PARTS, options.replicates, options.old
    if "means" in parts:
        _print(means(count, old=old))
    if "differences" in parts:
        _print(differences(count))
    if "gates" in parts:
        for n in (5, 8, 10, 30, 100):
            share = false_failures(2 * count, n, old=old)
            print(f"gates, n={n}: at most {share:.1%} of systems just at the threshold fail", flush=True)
    if "shares" in parts:
        print(f"{'shares':25}covered  width against Wilson's")
        for first, last in ((2, 9), (10, 10), (10, 100), (300, 300)):
            for level in (None, 0.1, FAR_LEVEL, 0.05):
                print(shares(first, last, level).line(), flush=True)


def _print(cells: Iterator[Coverage]) -> None:
    print(f"{'cell':56}covered  width  against the oracle's")
    found = []
    for cell in cells:
        print(cell.line(), flush=True)
        found.append(cell)
    wide = sum(cell.width > 1.2 * cell.oracle for cell in found)
    print(f"{len(found)} cells; least covered: {min(cell.share for cell in found):.1%}; wider than 1.2: {wide}")


if __name__ == "__main__":
    main()
