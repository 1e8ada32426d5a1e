"""The means of all metrics as a bar chart."""

from ragstone.benchmarks.recorded.aggregate import display_order, tally_scores
from ragstone.messages import messages
from ragstone.types import Chart, Run, Series

__all__ = ["charts"]

_MOST = 24  # metrics


def charts(run: Run, *, language: str = "en") -> list[Chart]:
    """One bar chart with a category per metric and a series per system. Metrics with values outside [0, 1] appear only
    in the table."""
    texts = messages(__name__, language)
    tallies = tally_scores(run)
    names = sorted(
        {
            name
            for tally in tallies.values()
            for name, scores in tally.metrics.items()
            if scores.values and min(scores.values) >= 0 and max(scores.values) <= 1
        },
        key=display_order,
    )[:_MOST]
    series, alts = [], []
    for system, tally in tallies.items():
        points = []
        for index, name in enumerate(names):
            mean = tally.metrics[name].mean() if name in tally.metrics else None
            if mean is not None and mean.value is not None:
                points += mean.points(index)
                alts.append(f"{system}, {name}: {mean.value:.2f} ({mean.n}/{mean.total})")
        series.append(Series(system, tuple(points)))
    if not names:
        return []
    title = texts["means"]
    return [Chart("eval-means", title, "bars", tuple(series), categories=tuple(names), alt="; ".join(alts))]
