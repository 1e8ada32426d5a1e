"""The means of all metrics at a glance. How each is distributed stands with what the judge found."""

from ragstone.benchmarks.recorded.aggregate import display_order, tally
from ragstone.messages import messages
from ragstone.types import Chart, Run, Series

__all__ = ["charts"]

_MOST = 24  # metrics


def charts(run: Run, *, language: str = "en") -> list[Chart]:
    """One chart of bars: a category a metric, a series a system. Metrics whose values leave [0, 1] are in the table
    alone."""
    told = messages(__name__, language)
    tallies = tally(run)
    names = sorted(
        {
            name
            for one in tallies.values()
            for name, scores in one.metrics.items()
            if scores.values and min(scores.values) >= 0 and max(scores.values) <= 1
        },
        key=display_order,
    )[:_MOST]
    series, alts = [], []
    for system, one in tallies.items():
        points = []
        for at, name in enumerate(names):
            mean = one.metrics[name].mean() if name in one.metrics else None
            if mean is not None and mean.value is not None:
                points += mean.points(at)
                alts.append(f"{system}, {name}: {mean.value:.2f} ({mean.n}/{mean.total})")
        series.append(Series(system, tuple(points)))
    if not names:
        return []
    title = told["means"]
    return [Chart("eval-means", title, "bars", tuple(series), categories=tuple(names), alt="; ".join(alts))]
