"""How often the 95% intervals contain what they estimate, and how wide they are, beside the percentile bootstrap's.

    python bench/coverage.py [--replicates 2000]

Each line is a cell: scores of 0 and 1, of 0, ½ and 1, or beta-like ones; a mean; a number of questions; one answer per
question, three, or six, three, two and one. Differences are of two systems on the same questions, by the mean of the
first; in the cells with a rise or a fall, this share of questions becomes 1 or 0 in the second. Gates: how often a
system just at its threshold fails, at worst over these scores and means.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import beta

from ragstone.stats import Array, effective, gain_interval, share_interval

KINDS, MEANS, SIZES = ("0/1", "half", "beta"), (0.02, 0.5, 0.98), (10, 30, 100, 300)
ANSWERS = {"1": (1,), "3": (3,), "6-3-2-1": (6, 3, 2, 1)}
_ALIKE = 0.4  # the correlation of the answers to a question
_SHIFTS = {0.02: (0.0, 0.2), 0.5: (0.0, 0.1, 0.3), 0.98: (0.0, -0.2)}
_RESAMPLES = 300


@dataclass(frozen=True)
class Coverage:
    """A cell: the share of intervals that contain the true value and their mean width, and the bootstrap's."""

    name: str
    share: float
    width: float
    bootstrap_share: float
    bootstrap_width: float


def _scores(rng: np.random.Generator, kind: str, chances: Array) -> Array:
    """Scores whose means are the chances."""
    if kind == "beta":
        return rng.beta(np.maximum(2 * chances, 1e-6), np.maximum(2 * (1 - chances), 1e-6))
    trials = 1 if kind == "0/1" else 2
    return rng.binomial(trials, chances) / trials


def _chances(rng: np.random.Generator, mean: float, shape: tuple[int, int], *, varies: bool) -> Array:
    """The chance of each question."""
    spread = (1 - _ALIKE) / _ALIKE
    return rng.beta(spread * mean, spread * (1 - mean), shape) if varies else np.full(shape, mean)


def _cell(
    name: str, true: float, ends: tuple[Array, Array], sums: Array, sizes: Array, rng: np.random.Generator
) -> Coverage:
    """The cell of intervals whose sums and sizes by question these are."""
    n = sums.shape[1]
    counts = rng.multinomial(n, np.full(n, 1 / n), _RESAMPLES).T
    means = (sums @ counts) / (sizes @ counts)
    both = [ends, tuple(np.quantile(means, [0.025, 0.975], axis=1))]
    shares = [float(np.mean((low <= true + 1e-12) & (true - 1e-12 <= high))) for low, high in both]
    widths = [float(np.mean(high - low)) for low, high in both]
    return Coverage(name, shares[0], widths[0], shares[1], widths[1])


def means(replicates: int, seed: int = 1) -> Iterator[Coverage]:
    """The cells of means."""
    rng = np.random.default_rng(seed)
    for kind, mean, n, (name, answers) in product(KINDS, MEANS, SIZES, ANSWERS.items()):
        sizes = np.resize(answers, n)
        chances = _chances(rng, mean, (replicates, n), varies=name != "1")
        sums = np.sum([_scores(rng, kind, chances) * (at < sizes) for at in range(max(answers))], axis=0)
        weights = np.broadcast_to(sizes * 1.0, sums.shape)
        trials = float(sizes.sum()) if kind == "0/1" else np.inf
        ends = share_interval(sums, weights, trials=trials)
        yield _cell(f"mean {mean:<5} {kind:5} n={n:<4} answers {name}", mean, ends, sums, weights, rng)


def differences(replicates: int, seed: int = 2) -> Iterator[Coverage]:
    """The cells of paired differences."""
    rng = np.random.default_rng(seed)
    for kind, (mean, shifts), n, (name, answers) in product(KINDS, _SHIFTS.items(), SIZES, ANSWERS.items()):
        sizes = np.resize(answers, n)
        weights = np.broadcast_to(sizes * 1.0, (replicates, n))
        for shift in shifts:
            chances = _chances(rng, mean, (replicates, n), varies=True)
            moved = rng.random((replicates, n)) < abs(shift)
            gains, losses = np.zeros((replicates, n)), np.zeros((replicates, n))
            for at in range(max(answers)):
                first, second = (_scores(rng, kind, chances) for _ in "ab")
                change = (np.where(moved, float(shift > 0), second) - first) * (at < sizes)
                gains, losses = gains + np.maximum(change, 0), losses + np.maximum(-change, 0)
            true = shift * (1 - mean if shift > 0 else mean)
            ends = gain_interval(gains, losses, weights, trials=float(sizes.sum()) if kind == "0/1" else np.inf)
            label = f"difference {mean:<5} {shift:+.2f} {kind:5} n={n:<4} answers {name}"
            yield _cell(label, true, ends, gains - losses, weights, rng)


def false_failures(replicates: int, n: int, seed: int = 3) -> float:
    """The largest share of systems just at their threshold that a gate fails, over scores and means."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for kind, mean in product(KINDS, (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)):
        drawn = _scores(rng, kind, np.full((replicates, n), mean))
        share, trials = effective(drawn, np.ones(drawn.shape))
        # `stats.exact_interval` of many at a time.
        high = np.where(share < 1, beta.ppf(0.975, share * trials + 1, np.maximum((1 - share) * trials, 1e-12)), 1.0)
        low = np.where(share > 0, beta.ppf(0.025, np.maximum(share * trials, 1e-12), (1 - share) * trials + 1), 0.0)
        worst = max(worst, float(np.mean(high < mean)), float(np.mean(low > mean)))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=2000)
    replicates = parser.parse_args().replicates
    print(f"{'cell':56}covered  width   bootstrap: covered  width")
    for cells in (means, differences):
        found = list(cells(replicates))
        for cell in found:
            print(f"{cell.name:56}{cell.share:7.1%}  {cell.width:.3f}", end="")
            print(f"{cell.bootstrap_share:21.1%}  {cell.bootstrap_width:.3f}")
        print(f"least covered: {min(cell.share for cell in found):.1%}")
    for n in (5, 8, 10, 30, 100):
        print(f"gates, n={n}: at most {false_failures(10 * replicates, n):.1%} of systems just at the threshold fail")


if __name__ == "__main__":
    main()
