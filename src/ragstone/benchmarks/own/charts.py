"""How the scores of each metric are distributed: ten bins from 0 to 1, as shares of the samples."""

from itertools import pairwise

from ragstone.benchmarks.own.tally import Scores, tally
from ragstone.benchmarks.own.words import words
from ragstone.types import Chart, Point, Run, Series

__all__ = ["charts"]

_BINS = 10
_MOST = 24  # charts


def charts(run: Run, *, language: str = "en") -> list[Chart]:
    """One chart a metric, a series a system. A metric whose values leave [0, 1] has bins over its own range."""
    told = words(language)
    tallies = tally(run)
    names = list(dict.fromkeys(name for one in tallies.values() for name in one.names))
    made = []
    for name in names[:_MOST]:
        scores = {system: one.metrics[name] for system, one in tallies.items() if name in one.metrics}
        scores = {system: each for system, each in scores.items() if each.values}
        if not scores:
            continue
        low, high = _range(list(scores.values()))
        edges = [low + (high - low) * at / _BINS for at in range(_BINS + 1)]
        categories = tuple(f"{a:.3g}–{b:.3g}" for a, b in pairwise(edges))
        series, alts = [], []
        for system, each in scores.items():
            shares = _shares(each.values, low, high)
            series.append(Series(system, tuple(Point(at, share) for at, share in enumerate(shares))))
            mean = each.mean().value
            mode = categories[max(range(_BINS), key=shares.__getitem__)]
            alts.append(
                told["alt"].format(metric=f"{system}, {name}", n=len(each.values), mean=f"{mean:.2f}", mode=mode)
            )
        made.append(
            Chart(
                f"eval-distribution-{name}", told["distribution"].format(metric=name), "bars", tuple(series),
                x_label=told["value"], y_label=told["share_of_samples"], categories=categories, alt=" ".join(alts),
            )
        )  # fmt: skip
    return made


def _range(scores: list[Scores]) -> tuple[float, float]:
    values = [value for one in scores for value in one.values]
    low, high = min(values), max(values)
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high if high > low else low + 1)


def _shares(values: list[float], low: float, high: float) -> list[float]:
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int((value - low) / (high - low) * _BINS))] += 1
    return [count / len(values) for count in counts]
