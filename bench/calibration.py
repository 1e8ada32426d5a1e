"""How often the interval of a calibrated mean covers the truth, for judges from perfect to reversed.

    python bench/calibration.py [--draws 2000] [--next]

Prints, by kind of label (0/1, graded), judge, number of labels and mean: the coverage with its own interval, the width
against that of labels alone, and λ. With `--next` half of the labels are drawn at random and the others chosen by
`next_labels`, beside as many at random, both in strata by the judge's score. `right in`: a judge of right and wrong
with this accuracy. Goals: coverage from 93%, never
wider than labels alone by more than 5%, and narrower with chosen labels.
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from ragstone.analysis.calibration import Calibrated, calibrated_mean
from ragstone.analysis.next_labels import next_labels, score_strata
from ragstone.stats import Array, wilson

World: TypeAlias = Callable[[np.random.Generator, int], tuple[Array, Array]]
JUDGES = {"perfect": 1.0, "good": 0.8, "weak": 0.4, "useless": 0.0, "reversed": -0.8}
ACCURACIES, RATES = (0.6, 0.8, 0.9, 0.95, 0.99, 1.0), (0.05, 0.2, 0.5, 0.8, 0.95)
CELLS = ((50, 0.5), (50, 0.8), (50, 0.9), (200, 0.5), (200, 0.8))


def world(rng: np.random.Generator, kind: str, quality: float, count: int, share: float) -> tuple[Array, Array]:
    """What is true of each answer, and the judge's score of it."""

    def drawn() -> Array:
        if kind == "graded":
            return rng.beta(2 * share, 2 * (1 - share), count)
        return (rng.random(count) < share).astype(float)

    truth, noise = drawn(), drawn()
    follows = rng.random(count) < abs(quality)
    return truth, np.where(follows, truth if quality >= 0 else 1 - truth, noise) * 0.9 + 0.05


def accurate_world(accuracy: float, rate: float, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """Answers that are right at this rate, and a judge who says which they are with this accuracy."""
    truth = (rng.random(count) < rate).astype(float)
    return truth, np.where(rng.random(count) < accuracy, truth, 1 - truth)


def accurate(accuracy: float, rate: float, labels: int, draws: int, others: int = 1000) -> list[Calibrated]:
    """Calibrated means of labels drawn at random in that world."""
    rng = np.random.default_rng(labels + round(1000 * (accuracy + rate)))
    made = (accurate_world(accuracy, rate, rng, labels + others) for _ in range(draws))
    return [calibrated(truth, judge, slice(labels)) for truth, judge in made]


def unsure_world(quality: float, rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """Answers of which the judge is more or less sure; it says how sure (`quality` 1), or that and noise."""
    chance = rng.beta(0.6, 0.6, count)
    truth = (rng.random(count) < chance).astype(float)
    return truth, abs(quality) * (chance if quality >= 0 else 1 - chance) + (1 - abs(quality)) * rng.random(count)


def lopsided_world(rng: np.random.Generator, count: int) -> tuple[Array, Array]:
    """A judge who finds a fifth of the answers wrong; half of those are right, and 3% of the others are wrong."""
    judge = (rng.random(count) < 0.8).astype(float)
    return (rng.random(count) < np.where(judge > 0, 0.97, 0.5)).astype(float), judge


def calibrated(truth: Array, judge: Array, labelled: Any, strata: Any = None) -> Calibrated:
    """The calibrated mean with labels of these answers."""
    inside = np.zeros(len(truth), dtype=bool)
    inside[labelled] = True
    parts = None if strata is None else (list(strata[inside]), list(strata[~inside]))
    return calibrated_mean(truth[inside], judge[inside], judge[~inside], strata=parts)


def row(name: str, found: list[Calibrated], share: float) -> str:
    """A line of the table: coverage, its interval, width against labels alone, λ."""
    covered = sum(one.low <= share <= one.high for one in found)
    low, high = wilson(covered, len(found))
    width = float(np.mean([one.high - one.low for one in found]))
    alone = float(np.mean([one.labels_only[2] - one.labels_only[1] for one in found]))
    weight = float(np.mean([one.weight for one in found]))
    return f"{name:<40}{covered / len(found):>8.3f}  [{low:.3f}, {high:.3f}]{width / alone:>8.3f}{weight:>7.2f}"


def at_random(kind: str, judge: str, labels: int, share: float, draws: int, others: int = 1000) -> list[Calibrated]:
    """Calibrated means of labels drawn at random."""
    rng = np.random.default_rng(len(judge) * 1000 + labels)
    found = []
    for _ in range(draws):
        truth, scores = world(rng, kind, JUDGES[judge], labels + others, share)
        found.append(calibrated(truth, scores, slice(labels)))
    return found


def chosen(made: World, labels: int, draws: int, total: int = 1000) -> tuple[list[Calibrated], list[Calibrated]]:
    """Calibrated means where the second half of the labels is drawn at random, and where `next_labels` chooses it."""
    random, best = [], []
    for draw in range(draws):
        rng = np.random.default_rng(1000 * draw + labels)
        truth, judge = made(rng, total)
        scores = {str(place): float(score) for place, score in enumerate(judge)}
        strata = score_strata(scores)
        named = np.array([strata[item] for item in scores])
        order = rng.permutation(total)
        first = order[: labels // 2]
        plan = next_labels(scores, {str(place): float(truth[place]) for place in first}, labels - len(first),
                           strata=strata, seed=draw)  # fmt: skip
        random.append(calibrated(truth, judge, order[:labels], named))
        best.append(calibrated(truth, judge, [*first, *map(int, plan.ids)], named))
    return random, best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--next", action="store_true", dest="chosen")
    options = parser.parse_args()
    print(f"{'cell':<40}{'coverage':>8}  {'95%':<14}{'width':>8}{'λ':>7}")
    if options.chosen:
        worlds: dict[str, tuple[World, float]] = {
            "lopsided": (lopsided_world, 0.876), "unsure": (partial(unsure_world, 1.0), 0.5),
            "unsure and noisy": (partial(unsure_world, 0.7), 0.5), "reversed": (partial(unsure_world, -0.7), 0.5),
        }  # fmt: skip
        for name, (made, mean) in worlds.items():
            for labels in (100, 200):
                random, best = chosen(made, labels, options.draws)
                print(row(f"{name}, {labels} labels, random", random, mean))
                print(row(f"{name}, {labels} labels, chosen", best, mean), flush=True)
        return
    for kind in ("0/1", "graded"):
        for judge in JUDGES:
            for labels, share in CELLS:
                found = at_random(kind, judge, labels, share, options.draws)
                print(row(f"{kind}, {judge}, {labels} labels, mean {share}", found, share), flush=True)
    for labels in (50, 100, 200):
        for accuracy in ACCURACIES:
            for rate in RATES:
                found = accurate(accuracy, rate, labels, options.draws)
                print(row(f"right in {accuracy}, {labels} labels, mean {rate}", found, rate), flush=True)


if __name__ == "__main__":
    main()
