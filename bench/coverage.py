"""How often the 95% intervals contain what they estimate, and how wide they are.

    python bench/coverage.py [--replicates 2000]

Each line is a cell: scores of 0 and 1; of 0, ½ and 1; beta-like ones; skewed ones (a tenth or a half of the mean is
what every question has, the rest are rare questions that have 1; at means above ½ rare failures); a mixture of 0 and 1
and beta-like ones; a mean; a number of questions; one answer per question, three, or six, three, two and one. Means
stand beside an oracle's width: the exact interval (Clopper and Pearson) of one who knows the variance of the mean, as
that of right-or-wrong trials. Differences are of two systems on the same questions, by the mean of the first; in the
cells with a rise or a fall, this share of questions becomes 1 or 0 in the second. Gates: how often a system just at its
threshold fails, at worst over these scores and means.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import beta

from ragstone.stats import Array, gain_interval, score_interval
from ragstone.stats.intervals import UpperEnd

KINDS, MEANS, SIZES = ("0/1", "half", "beta", "skewed", "rare", "mixed"), (0.02, 0.1, 0.5, 0.98), (10, 30, 100, 300)
_COMMON = {"skewed": 0.1, "rare": 0.5}  # the part of the mean that every question has
ANSWERS = {"1": (1,), "3": (3,), "6-3-2-1": (6, 3, 2, 1)}
_ALIKE = 0.4  # the correlation of the answers to a question
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


def _scores(rng: np.random.Generator, kind: str, chances: Array) -> Array:
    """Scores whose means are the chances."""
    if kind == "mixed":
        parts = [_scores(rng, part, chances) for part in ("0/1", "beta")]
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


def means(replicates: int, seed: int = 1) -> Iterator[Coverage]:
    """The cells of means."""
    rng = np.random.default_rng(seed)
    for kind, mean, n, (name, answers) in product(KINDS, MEANS, SIZES, ANSWERS.items()):
        sizes = np.resize(answers, n)
        chances = _chances(rng, mean, (replicates, n), varies=name != "1")
        scores = [_scores(rng, kind, chances) * (at < sizes) for at in range(max(answers))]
        sums = np.sum(scores, axis=0)
        variances = np.square(scores).sum(axis=(0, 2)) / sizes.sum() - (sums.sum(axis=1) / sizes.sum()) ** 2
        trials = float(sizes.sum()) if kind == "0/1" else np.inf
        found = [
            score_interval(row, sizes * 1.0, trials=trials, variance=max(0.0, variance))
            for row, variance in zip(sums, variances, strict=True)
        ]
        oracle = _oracle(sums.sum(axis=1) / sizes.sum(), mean)
        label = f"mean {mean:<5} {kind:6} n={n:<4} answers {name}"
        yield _cell(label, mean, tuple(np.array(found).T), oracle)


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
                first, second = (_scores(rng, kind, chances) for _ in "ab")
                change = (np.where(moved, float(shift > 0), second) - first) * (at < sizes)
                gains, losses = gains + np.maximum(change, 0), losses + np.maximum(-change, 0)
            true = shift * (1 - mean if shift > 0 else mean)
            ends = gain_interval(gains, losses, weights, trials=float(sizes.sum()) if kind == "0/1" else np.inf)
            label = f"difference {mean:<5} {shift:+.2f} {kind:5} n={n:<4} answers {name}"
            yield _cell(label, true, ends)


def false_failures(replicates: int, n: int, seed: int = 3) -> float:
    """The largest share of systems just at their threshold that a gate fails, over scores and means."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for kind, mean in product(KINDS, (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)):
        trials, failed = n if kind == "0/1" else np.inf, [0, 0]
        for scores in _scores(rng, kind, np.full((replicates, n), mean)):
            for side, (values, at) in enumerate(((scores, mean), (1 - scores, 1 - mean))):
                failed[side] += UpperEnd.of(values, np.ones(n), trials).beyond(at, 0.05) == at  # ends below it
        worst = max(worst, *(count / replicates for count in failed))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=2000)
    replicates = parser.parse_args().replicates
    print(f"{'cell':56}covered  width  against the oracle's")
    for cells in (means, differences):
        found = []
        for cell in cells(replicates):
            print(cell.line(), flush=True)
            found.append(cell)
        print(f"least covered: {min(cell.share for cell in found):.1%}")
    for n in (5, 8, 10, 30, 100):
        print(f"gates, n={n}: at most {false_failures(2 * replicates, n):.1%} of systems just at the threshold fail")


if __name__ == "__main__":
    main()
