"""How often `ragstone trend` raises a false alarm where nothing has changed, and how often it finds changes.

    python bench/trend.py [--series 400] [--reruns 200]

A series is of 2 to 30 runs; a run has 20 to 80 questions, the same in every run or its own. Scores are 0 and 1 or
between them (`between`). Questions differ in difficulty; an answer is drawn anew in every run. `persistent`: nothing
varies from run to run but that some questions change for good, at a random run and in a random direction. In the
changes, the chance of a right answer falls for every question from some run on. `reruns`: pairs of runs of one system
that is asked three times, of which each time raises or lowers the chance of every question alike.

One line for each cell: the share of series with an alarm at 5%, and its interval; with several quantities, any alarm.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product

import numpy as np

from ragstone.comparison.change_points import LEVEL, RunScores, Scan, changes, scan_figures, scan_scores
from ragstone.stats import Array, RepeatVariance, holm, wilson

KINDS, MEANS, SHAPES = ("same", "own", "between"), (0.6, 0.86, 0.97), ((2, 80), (10, 20), (14, 80), (30, 30))
FALLS = ((0.07, 14, 9), (0.07, 30, 25), (0.15, 14, 9), (0.15, 14, 13))  # size, runs, first run after
_CONCENTRATION = 1.5  # of the difficulties: most questions are answered nearly always or nearly never
_QUANTITIES = 4
SHIFTS, REPEATS, DROP = (0.0, 0.03, 0.06, 0.1), 3, 0.1  # standard deviation of a repeat's shift; the real change


@dataclass(frozen=True)
class Cell:
    """A cell: the share of its series with an alarm, of so many."""

    name: str
    alarms: int
    series: int

    @property
    def share(self) -> float:
        return self.alarms / self.series

    def line(self) -> str:
        low, high = wilson(self.alarms, self.series)
        return f"{self.name:<44} {100 * self.share:5.1f}%  [{100 * low:.1f}, {100 * high:.1f}]"


def series(
    rng: np.random.Generator, kind: str, mean: float, runs: int, size: int, *, fall: float = 0.0, at: int = 0
) -> list[RunScores]:
    """The scores of a series. `fall`: by how much the chances fall from run `at` on."""
    ease = rng.beta(mean * _CONCENTRATION, (1 - mean) * _CONCENTRATION, size)
    result = []
    for run in range(runs):
        if kind == "own":
            ease = rng.beta(mean * _CONCENTRATION, (1 - mean) * _CONCENTRATION, size)
        chances = np.clip(ease - fall * (run >= at), 0, 1)
        values: Array = (rng.random(size) < chances).astype(np.float64)
        if kind == "between":
            values = np.clip(chances + rng.normal(0, 0.15, size), 0, 1)
        result.append(RunScores(np.arange(size) + (run * size if kind == "own" else 0), values))
    return result


def false_alarms(count: int, seed: int = 0) -> Iterator[Cell]:
    """The cells without a change."""
    rng = np.random.default_rng(seed)
    for kind, mean, (runs, size) in product(KINDS, MEANS, SHAPES):
        alarms = sum(scan_scores(series(rng, kind, mean, runs, size)).p <= LEVEL for _ in range(count))
        yield Cell(f"{kind}, mean {mean}, {runs} runs of {size}", alarms, count)
    for runs, size in SHAPES:
        alarms = sum(scan_scores(_persistent(rng, runs, size)).p <= LEVEL for _ in range(count))
        yield Cell(f"persistent, {runs} runs of {size}", alarms, count)


def _persistent(rng: np.random.Generator, runs: int, size: int) -> list[RunScores]:
    """As many right as wrong, so that neither direction is likelier."""
    before = (rng.random(size) < 0.5).astype(np.float64)
    turn = np.where(rng.random(size) < 0.3, rng.integers(1, runs + 1, size), runs)
    return [RunScores(np.arange(size), np.where(run >= turn, 1 - before, before)) for run in range(runs)]


def family_alarms(count: int, seed: int = 1) -> Cell:
    """Any alarm among several scores and a latency whose level varies from run to run, after Holm's correction."""
    rng, alarms = np.random.default_rng(seed), 0
    for _ in range(count):
        ps = [scan_scores(series(rng, "same", 0.86, 14, 80)).p for _ in range(_QUANTITIES)]
        ps.append(scan_figures(list(rng.normal(0, 0.2, 14))).p)
        alarms += min(holm(ps)) <= LEVEL
    return Cell(f"any of {_QUANTITIES} scores and a latency, 14 runs of 80", alarms, count)


def found_changes(count: int, seed: int = 2) -> Iterator[tuple[Cell, Cell, Cell]]:
    """The cells with a change: how often it is found, how often at most a run off, and how often with a second one."""
    rng = np.random.default_rng(seed)
    for kind, (fall, runs, at) in product(("same", "own"), FALLS):
        found = near = second = 0
        for _ in range(count):
            scores = series(rng, kind, 0.86, runs, 80, fall=fall, at=at)

            def scan(low: int, high: int, scores: list[RunScores] = scores) -> Scan:
                return scan_scores(scores[low:high])

            places = changes(scan, scan_scores(scores), 0, runs, level=LEVEL)
            found += bool(places)
            near += any(abs(place - at) <= 1 for place, _ in places)
            second += len(places) > 1
        name = f"{kind}, fall of {fall}, run {at + 1} of {runs}, 80 questions"
        yield (Cell(name, found, count), Cell("  within one run", near, count), Cell("  another one", second, count))


def rerun_pair(rng: np.random.Generator, shift: float, *, drop: float = 0.0, size: int = 100) -> tuple[float, float]:
    """The p-values of two runs of one system, with and without the variance of its repeats. `drop`: by how much the
    second is worse."""
    ease = rng.beta(0.7 * _CONCENTRATION, 0.3 * _CONCENTRATION, size)
    questions, repeats = np.tile(np.arange(size), REPEATS), np.repeat(np.arange(REPEATS), size)
    runs = []
    for fall in (0.0, drop):
        chances = np.clip(ease[questions] + rng.normal(0, shift, REPEATS)[repeats] - fall, 0, 1)
        values: Array = (rng.random(len(questions)) < chances).astype(np.float64)
        runs.append(RunScores(questions, values, REPEATS))
    variance = RepeatVariance.of((questions, repeats, run.values) for run in runs)
    return scan_scores(runs, variance=variance).p, scan_scores(runs).p


def reruns(count: int, seed: int = 3) -> Iterator[Cell]:
    """For each shift the alarms without a change, and with a real one, with and without the variance of repeats."""
    rng = np.random.default_rng(seed)
    for shift in SHIFTS:
        same = np.array([rerun_pair(rng, shift) for _ in range(count)]) <= LEVEL
        worse = np.array([rerun_pair(rng, shift, drop=DROP) for _ in range(count)]) <= LEVEL
        yield Cell(f"reruns, shift {shift}, no change", int(same[:, 0].sum()), count)
        yield Cell("  repeats not counted", int(same[:, 1].sum()), count)
        yield Cell(f"  fall of {DROP}", int(worse[:, 0].sum()), count)
        yield Cell(f"  fall of {DROP}, repeats not counted", int(worse[:, 1].sum()), count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=400)
    parser.add_argument("--reruns", type=int, default=200)
    options = parser.parse_args()
    count = options.series
    for cell in chain(false_alarms(count), [family_alarms(count)]):
        print(cell.line(), flush=True)
    for cell in reruns(options.reruns):
        print(cell.line(), flush=True)
    for cells in found_changes(max(1, count // 4)):
        for cell in cells:
            print(cell.line(), flush=True)


if __name__ == "__main__":
    main()
