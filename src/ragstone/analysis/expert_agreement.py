"""What labels of experts tell: how far they agree, how far a judge agrees with them, and calibrated means."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

import numpy as np

from ragstone.analysis.calibration import LEAST_LABELS, Calibrated, calibrated_mean
from ragstone.analysis.next_labels import score_strata
from ragstone.analysis.raters import alpha, bootstrap, complete, fleiss_kappa, pearson, spearman, weighted_kappa
from ragstone.stats import Array, Estimate

Statistic = tuple[float, float | None, float | None] | None
"""A value with its interval; None where it is undefined."""
_HALF = 0.5


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


@dataclass(frozen=True)
class Agreed:
    """Agreement on one task: `items` with two labels or more, by `experts`. `equal`: the share of pairs of labels that
    are equal. Each statistic is (value, low, high), or None if it is undefined. `disputed`: the furthest apart first.
    `by_expert`: each expert against the others; `confusions`: of every two experts."""

    task: str
    items: int
    experts: tuple[str, ...]
    equal: float
    statistics: Mapping[str, Statistic]
    disputed: tuple[str, ...]
    by_expert: tuple[OneExpert, ...] = ()
    confusions: tuple[Confusion, ...] = ()


@dataclass(frozen=True)
class JudgeAgreement:
    """A metric against the experts' mean labels, over `n` questions; `part` is "", or a language, a length or an
    expert ("expert NAME"). `equal`: the share on which both find the same, right or wrong at one half, and `kappa` of
    it; `bias`: judge minus experts; `precision` and `recall` of what the judge finds wrong. `differ`: where they do not
    find the same, the furthest apart first."""

    task: str
    metric: str
    part: str
    n: int
    equal: Estimate
    kappa: Statistic
    bias: Estimate
    precision: Estimate
    recall: Estimate
    correlation: float | None
    rank_correlation: float | None
    confusion: tuple[int, int, int, int]
    differ: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """Why there is no calibrated mean: `few` labels (`n`), labels that were `picked` as the most doubtful, or a
    `stratum` (`name`) with fewer than two labels."""

    kind: Literal["few", "picked", "stratum"]
    n: int = 0
    name: str = ""


@dataclass(frozen=True)
class ExpertFindings:
    """What the labels tell. `calibrated`: (task, metric) → the calibrated mean, or the reason why there is none.
    `system`: whose answers the judge scored."""

    agreed: tuple[Agreed, ...]
    judged: tuple[JudgeAgreement, ...] = ()
    calibrated: Mapping[tuple[str, str], Calibrated | Refused] = field(default_factory=dict)
    system: str = ""


@dataclass
class Scored:
    """The scores of a metric: question → value, and its stratum; language and length of the labelled questions."""

    values: dict[str, float] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    strata: dict[str, str] = field(default_factory=dict)


def agreed(task: str, items: Mapping[str, Mapping[str, float]]) -> Agreed:
    """The agreement of the experts on a task: question → expert → label."""
    experts = sorted({expert for values in items.values() for expert in values})
    several = {item: values for item, values in items.items() if len(values) > 1}
    ratings = np.array([[values.get(expert, math.nan) for expert in experts] for values in several.values()])
    ratings = ratings.reshape(len(several), len(experts))
    pairs = [(a, b) for values in several.values() for n, a in enumerate(values.values())
             for b in list(values.values())[n + 1 :]]  # fmt: skip
    two = len(experts) == 2
    statistics: dict[str, Any] = {
        "kappa": _with_interval(lambda rows: weighted_kappa(*_two(rows), "none"), ratings)
        if two
        else _with_interval(fleiss_kappa, ratings),
        "weighted_kappa": _with_interval(lambda rows: weighted_kappa(*_two(rows)), ratings) if two else None,
        "alpha_nominal": _with_interval(lambda rows: alpha(rows, "nominal"), ratings),
        "alpha_ordinal": _with_interval(lambda rows: alpha(rows, "ordinal"), ratings),
        "alpha_interval": _with_interval(lambda rows: alpha(rows, "interval"), ratings),
        "pearson": _with_interval(lambda rows: pearson(*_two(rows)), ratings) if two else None,
        "spearman": _with_interval(lambda rows: spearman(*_two(rows)), ratings) if two else None,
    }
    disputed = sorted(several, key=lambda item: -float(np.ptp([*several[item].values()])))
    return Agreed(
        task, len(several), tuple(experts), sum(a == b for a, b in pairs) / len(pairs) if pairs else math.nan,
        statistics,
        tuple(item for item in disputed if len({*several[item].values()}) > 1),
        one_by_one(several), confusions(several),
    )  # fmt: skip


def _two(rows: Array) -> tuple[Array, Array]:
    rated = complete(rows)
    return rated[:, 0], rated[:, 1]


def _with_interval(statistic: Any, rows: Array) -> Statistic:
    value = statistic(rows) if len(rows) else None
    if value is None:
        return None
    interval = bootstrap(statistic, rows)
    return (value, None, None) if interval is None else (value, *interval)


def judged(
    task: str, metric: str, items: Mapping[str, Mapping[str, float]], means: Mapping[str, float], scored: Scored
) -> list[JudgeAgreement]:
    """The agreement of the judge with the experts' mean labels (`means`) in all questions, by language, of shorter and
    longer answers, and with each expert (`items`: question → expert → label)."""
    both = [item for item in means if item in scored.values]
    if not both:
        return []
    middle = float(np.median([scored.lengths[item] for item in both]))
    parts = {"": both}
    for language in sorted({scored.languages[item] for item in both}):
        parts[language] = [item for item in both if scored.languages[item] == language]
    parts["short"] = [item for item in both if scored.lengths[item] <= middle]
    parts["long"] = [item for item in both if scored.lengths[item] > middle]
    found = [_one_judged(task, metric, part, some, means, scored) for part, some in parts.items()
             if some and (not part or len(some) < len(both))]  # fmt: skip
    experts = sorted({expert for item in both for expert in items[item]})
    for expert in experts if len(experts) > 1 else ():
        own = {item: items[item][expert] for item in both if expert in items[item]}
        found.append(_one_judged(task, metric, f"expert {expert}", list(own), own, scored))
    return found


def _one_judged(
    task: str, metric: str, part: str, items: Sequence[str], means: Mapping[str, float], scored: Scored
) -> JudgeAgreement:
    people = np.array([means[item] for item in items])
    judge = np.array([scored.values[item] for item in items])
    both = np.stack([people >= _HALF, judge >= _HALF], axis=1).astype(float)
    called, is_wrong = judge < _HALF, people < _HALF
    hits = int((called & is_wrong).sum())
    differ = sorted(items, key=lambda item: -abs(means[item] - scored.values[item]))
    return JudgeAgreement(
        task, metric, part, len(items), Estimate.of_count(int((called == is_wrong).sum()), len(items)),
        _with_interval(lambda rows: weighted_kappa(*_two(rows), "none"), both),
        Estimate.of_difference([float(value) for value in judge - people]),
        Estimate.of_count(hits, int(called.sum())), Estimate.of_count(hits, int(is_wrong.sum())),
        pearson(people, judge), spearman(people, judge),
        (hits, int((called & ~is_wrong).sum()), int((~called & is_wrong).sum()), int((~called & ~is_wrong).sum())),
        tuple(item for item in differ if (means[item] >= _HALF) != (scored.values[item] >= _HALF)),
    )  # fmt: skip


def strata_of(scored: Scored) -> dict[str, str]:
    """The stratum of each question: a column of the data where one was named, else by the judge's score."""
    return scored.strata or score_strata(scored.values)


def calibrate(means: Mapping[str, float], scored: Scored, *, picked: bool = False) -> Calibrated | Refused:
    """The calibrated mean, or the reason why there is none. `picked`: the labels were not drawn at random."""
    both = [item for item in means if item in scored.values]
    if picked:
        return Refused("picked")
    if len(both) < LEAST_LABELS:
        return Refused("few", len(both))
    strata = strata_of(scored)
    if not scored.strata:
        strata = _joined(strata, both)
    counts = {name: sum(strata[item] == name for item in both) for name in {*strata.values()}}
    if few := sorted(name for name, count in counts.items() if count < 2):
        return Refused("stratum", counts[few[0]], few[0])
    rest = [item for item in scored.values if item not in means]
    return calibrated_mean(
        [means[item] for item in both], [scored.values[item] for item in both], [scored.values[item] for item in rest],
        strata=([strata[item] for item in both], [strata[item] for item in rest]),
    )  # fmt: skip


def _joined(strata: Mapping[str, str], labelled: Sequence[str]) -> dict[str, str]:
    """The strata of scores, those with fewer than two labels joined to the next: few labels drawn at random may leave
    out one."""
    names = sorted({*strata.values()})
    full = [place for place, name in enumerate(names) if sum(strata[item] == name for item in labelled) >= 2]
    nearest = {
        name: names[min(full, key=lambda other: abs(other - place))] if full else name
        for place, name in enumerate(names)
    }
    return {item: nearest[name] for item, name in strata.items()}
