"""The chart of a diagnosis: the waterfall, from the share right as is to what no intervention rights."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragstone.benchmarks.interventions.waterfall import Waterfall, waterfall
from ragstone.messages import messages
from ragstone.types import Chart, Point, Run, Series

if TYPE_CHECKING:
    from ragstone.benchmarks.interventions.benchmark import Interventions

__all__ = ["charts", "waterfall_chart"]


def charts(run: Run, benchmark: "Interventions", *, language: str = "en") -> list[Chart]:
    """A waterfall for each system."""
    found = []
    for number, system in enumerate(run.systems):
        items = benchmark.diagnosed(run, system, sure=False)
        if items:
            title = messages(__name__, language)["title"]
            name = "diagnosis-waterfall" + (f"-{number + 1}" if number else "")
            shown = f"{title}: {system}" if len(run.systems) > 1 else title
            found.append(waterfall_chart(waterfall(items), name, shown, language=language))
    return found


def waterfall_chart(fall: Waterfall, name: str, title: str, *, language: str = "en") -> Chart:
    """Stacked bars: what was right before, what a step adds or takes, what remains wrong."""
    words = messages(__name__, language)
    categories, base, gained, lost = [words["as_is"]], [fall.as_is.value or 0.0], [0.0], [0.0]
    level = base[0]
    for step in fall.steps:
        gain = step.gain.value or 0.0
        categories.append(words[f"step_{step.name}"])
        base.append(min(level, level + gain))
        gained.append(max(gain, 0.0))
        lost.append(max(-gain, 0.0))
        level += gain
    for cause, share in fall.remaining.items():
        categories.append(words[f"cause_{cause}"])
        base.append(level)
        gained.append(0.0)
        lost.append(share.value or 0.0)
        level += share.value or 0.0
    alt = "; ".join(
        f"{label} {100 * value:.0f}%" for label, value in zip(categories, _shown(base, gained, lost), strict=True)
    )
    series = [
        Series(words[key], _points(values)) for key, values in (("right", base), ("gained", gained), ("lost", lost))
    ]
    return Chart(name, title, "bars", tuple(series), "", words["share"], tuple(categories), alt=alt, stacked=True)


def _points(values: Sequence[float]) -> tuple[Point, ...]:
    return tuple(Point(float(number), value) for number, value in enumerate(values))


def _shown(base: Sequence[float], gained: Sequence[float], lost: Sequence[float]) -> list[float]:
    """The figure of each bar: the level for the first, the change for the others."""
    return [base[0], *(plus - minus for plus, minus in zip(gained[1:], lost[1:], strict=True))]
