"""Each expert against the others: how far their labels are equal, whether one is kinder, and which labels differ."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ragstone.analysis.raters import weighted_kappa
from ragstone.stats import Estimate


@dataclass(frozen=True)
class OneExpert:
    """One expert against the others, over `items` that others labelled too, in `pairs` of labels. `equal`: share of
    pairs that are equal; `kappa`: Cohen's, of these pairs, None where it is undefined; `bias`: the expert's labels
    minus the mean of the others'."""

    expert: str
    items: int
    pairs: int
    equal: float
    kappa: float | None
    bias: Estimate


@dataclass(frozen=True)
class Confusion:
    """How often the `first` expert gave one label and the `second` another, of the items that both labelled: (label of
    the first, label of the second, count)."""

    first: str
    second: str
    counts: tuple[tuple[float, float, int], ...]


def one_by_one(items: Mapping[str, Mapping[str, float]]) -> tuple[OneExpert, ...]:
    """Each expert against the others: question → expert → label. Experts without a common item are left out."""
    found = []
    for expert in sorted({name for values in items.values() for name in values}):
        own: list[float] = []
        others: list[float] = []
        differences: list[float] = []
        for values in items.values():
            rest = [value for name, value in values.items() if name != expert]
            if expert in values and rest:
                own += [values[expert]] * len(rest)
                others += rest
                differences.append(values[expert] - sum(rest) / len(rest))
        if own:
            equal = sum(a == b for a, b in zip(own, others, strict=True)) / len(own)
            kappa = weighted_kappa(np.array(own), np.array(others), "none")
            found.append(
                OneExpert(expert, len(differences), len(own), equal, kappa, Estimate.of_difference(differences))
            )
    return tuple(found)


def confusions(items: Mapping[str, Mapping[str, float]]) -> tuple[Confusion, ...]:
    """The confusion matrix of every two experts with a common item: question → expert → label."""
    counts: dict[tuple[str, str], Counter[tuple[float, float]]] = {}
    for values in items.values():
        for first, second in combinations(sorted(values), 2):
            counts.setdefault((first, second), Counter())[values[first], values[second]] += 1
    return tuple(
        Confusion(*pair, tuple((*both, count) for both, count in sorted(counter.items())))
        for pair, counter in sorted(counts.items())
    )
