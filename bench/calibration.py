"""How often the interval of a calibrated mean covers the truth, for judges from perfect to reversed.

    python bench/calibration.py [--draws 2000]

Prints, by judge and number of labels, the coverage with its own interval, the width against that of labels alone, and
λ. Goals: coverage from 93 to 97%, never wider than labels alone by more than 5%.
"""

import argparse

import numpy as np

from ragstone.analysis.calibration import calibrated_mean
from ragstone.stats import wilson

JUDGES = {"perfect": 1.0, "good": 0.8, "weak": 0.4, "useless": 0.0, "reversed": -0.8}


def draw(rng: np.random.Generator, quality: float, labels: int, others: int, share: float) -> tuple[bool, float, float]:
    """Whether one interval covers the true share; its width against that of labels alone; λ."""
    truth = (rng.random(labels + others) < share).astype(float)
    noise = (rng.random(len(truth)) < share).astype(float)
    follows = rng.random(len(truth)) < abs(quality)
    judge = np.where(follows, truth if quality >= 0 else 1 - truth, noise) * 0.9 + 0.05
    found = calibrated_mean(truth[:labels], judge[:labels], judge[labels:])
    alone = found.labels_only[2] - found.labels_only[1]
    width = (found.high - found.low) / alone if alone else 1.0
    return found.low <= share <= found.high, width, found.weight


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    print(f"{'judge':<10}{'labels':>7}{'right':>7}{'coverage':>10}  95%            {'width':>7}{'λ':>6}")
    for name, quality in JUDGES.items():
        for labels, share in ((50, 0.5), (50, 0.8), (200, 0.5), (200, 0.8)):
            rng = np.random.default_rng(len(name) * 1000 + labels)
            found = [draw(rng, quality, labels, 1000, share) for _ in range(draws)]
            covered = sum(cover for cover, _, _ in found)
            low, high = wilson(covered, draws)
            width, weight = (float(np.mean([one[n] for one in found])) for n in (1, 2))
            print(f"{name:<10}{labels:>7}{share:>7.1f}{covered / draws:>10.3f}  [{low:.3f}, {high:.3f}]"
                  f"{width:>7.3f}{weight:>6.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
