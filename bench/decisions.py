"""How often a comparison takes chance for a difference, and how often it finds one that is there.

    python bench/decisions.py [--replicates 4000]

Each line is a cell: how the differences of paired questions are distributed and how many there are. Type I: their true
mean is 0. Power: the same differences, of which a share of the questions gains. Beside `stats.decide` stands flipping
signs (McNemar's test for right and wrong), which decided before; `decide` is vectorised here, and checked against the
function itself.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ragstone.stats import LEVEL, Array, decide, mcnemar_exact, student_quantile
from ragstone.stats.intervals import MeanChange

SIZES = (10, 30, 50, 100, 300)
_FLIPS = 999
_CHECKED = 40  # samples of a cell that are decided by the function itself

Draw = Callable[[np.random.Generator, tuple[int, int]], Array]


def _normal(spread: float) -> Draw:
    return lambda rng, shape: np.clip(rng.normal(0, spread, shape), -1, 1)


def _two_valued(changed: float) -> Draw:
    return lambda rng, shape: np.sign(rng.random(shape) - 0.5) * (rng.random(shape) < changed)


def _halves(changed: float) -> Draw:
    return lambda rng, shape: _two_valued(changed)(rng, shape) * rng.choice([0.5, 1.0], shape)


def _skewed(rare: float, loss: float) -> Draw:
    """Few questions lose much, the others gain what makes up for it."""
    return lambda rng, shape: np.where(rng.random(shape) < rare, -loss, rare * loss / (1 - rare))


def _zeros(changed: float) -> Draw:
    return lambda rng, shape: (rng.random(shape) < changed) * rng.uniform(-1, 1, shape)


def _skewed_zeros(rare: float, changed: float) -> Draw:
    """Most questions do not change; few lose all, some gain what makes up for it."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        at = rng.random(shape)
        return np.where(at < rare, -1.0, np.where(at < rare + changed, rare / changed, 0.0))

    return draw


KINDS: dict[str, tuple[Draw, float]] = {  # with the gain that power is of
    "normal, spread 0.05": (_normal(0.05), 0.05),
    "normal, spread 0.1": (_normal(0.1), 0.1),
    "normal, spread 0.3": (_normal(0.3), 0.1),
    "two-valued, 5% change": (_two_valued(0.05), 0.1),
    "two-valued, 20% change": (_two_valued(0.2), 0.1),
    "two-valued, 60% change": (_two_valued(0.6), 0.2),
    "0, ½ and 1, 60% change": (_halves(0.6), 0.2),
    "skewed, 1% lose 0.8": (_skewed(0.01, 0.8), 0.1),
    "skewed, 5% lose 0.8": (_skewed(0.05, 0.8), 0.1),
    "skewed, 10% lose 0.8": (_skewed(0.1, 0.8), 0.1),
    "skewed, 22% lose 1": (_skewed(0.22, 1.0), 0.1),
    "zeros, 10% change": (_zeros(0.1), 0.1),
    "zeros, 30% change": (_zeros(0.3), 0.1),
    "zeros, 2% lose 1": (_skewed_zeros(0.02, 0.2), 0.1),
    "zeros, 10% lose 1": (_skewed_zeros(0.1, 0.3), 0.1),
}


@dataclass(frozen=True)
class Errors:
    """A cell: the shares of samples that differ, by `decide` and by flipping signs, without and with a gain."""

    name: str
    n: int
    false: float
    false_before: float
    found: float
    found_before: float


def decided(changes: Array) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Whether each sample (samples, questions) differs, as `stats.decide` says one at a time."""
    n = changes.shape[1]
    gains, losses = np.maximum(changes, 0.0), np.maximum(-changes, 0.0)
    whole = bool(np.isin(changes, (-1.0, 0.0, 1.0)).all())
    balance = MeanChange.of(gains, losses, np.ones(changes.shape), trials=n if whole else np.inf)
    low, high = balance.interval(student_quantile(n - 1))
    won, lost = (gains > 0).sum(axis=1), (losses > 0).sum(axis=1)
    exact = _mcnemar(won, lost) if whole else 2.0 ** (1.0 - won - lost)
    return np.asarray(((low > 0) | (high < 0)) & (exact < LEVEL))


def _mcnemar(won: Array, lost: Array) -> Array:
    known = {pair: mcnemar_exact(*pair) for pair in set(zip(won.tolist(), lost.tolist(), strict=True))}
    return np.array([known[pair] for pair in zip(won.tolist(), lost.tolist(), strict=True)])


def flipped(changes: Array, rng: np.random.Generator) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """The same by flipping signs at random."""
    if np.isin(changes, (-1.0, 0.0, 1.0)).all():
        return np.asarray(_mcnemar((changes > 0).sum(axis=1), (changes < 0).sum(axis=1)) < LEVEL)
    signs = 1.0 - 2.0 * rng.integers(0, 2, (_FLIPS, changes.shape[1]))
    extreme = (np.abs(signs @ changes.T) >= np.abs(changes.sum(axis=1)) - 1e-9).sum(axis=0)
    return np.asarray((1 + extreme) / (1 + _FLIPS) < LEVEL)


def scores_of(changes: Array) -> tuple[Array, Array]:
    """Scores in [0, 1] whose differences these are."""
    before = np.maximum(-changes, 0.0)
    return before, before + changes


def cells(replicates: int, sizes: tuple[int, ...] = SIZES, seed: int = 1) -> Iterator[Errors]:
    """The cells, whatever they cost; AssertionError where the function itself decides otherwise."""
    rng = np.random.default_rng(seed)
    for name, (draw, gain) in KINDS.items():
        for n in sizes:
            none = draw(rng, (replicates, n))
            share = np.isin(none, (-1.0, 0.0, 1.0)).all()
            if share:
                some = np.where((none == 0) & (rng.random(none.shape) < gain / (none == 0).mean()), 1.0, none)
            else:
                some = np.clip(none + gain, -1.0, 1.0)
            new = [decided(none), decided(some)]
            for changes, found in zip((none, some), new, strict=True):
                for row, differs in zip(changes[:_CHECKED], found[:_CHECKED], strict=True):
                    assert (decide(*scores_of(row)).p < LEVEL) == differs, row
            old = [flipped(none, rng), flipped(some, rng)]
            yield Errors(name, n, *(float(part.mean()) for part in (new[0], old[0], new[1], old[1])))


def seconds(count: int, n: int = 300, seed: int = 2) -> float:
    """The time that so many comparisons of `n` pairs take."""
    rng = np.random.default_rng(seed)
    before = rng.random((count, n)).round(1)
    after = np.clip(before + rng.normal(0.02, 0.2, (count, n)), 0.0, 1.0)
    started = time.process_time()
    for a, b in zip(before, after, strict=True):
        decide(a, b).interval()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=4000)
    replicates = parser.parse_args().replicates
    print(f"{'':28}{'':>5}  type I: now  before    power: now  before")
    worst = 0.0
    for cell in cells(replicates):
        worst = max(worst, cell.false)
        print(f"{cell.name:28}{cell.n:5}{cell.false:13.1%}{cell.false_before:8.1%}", end="")
        print(f"{cell.found:14.1%}{cell.found_before:8.1%}", flush=True)
    print(f"type I: at most {worst:.1%}")
    print(f"10,000 comparisons of 300 pairs: {100 * seconds(100):.0f} s of processor time")


if __name__ == "__main__":
    main()
