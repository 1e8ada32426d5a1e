"""The heat maps: lengths from left to right, depths from top to bottom; and what is found by length as a curve."""

from collections.abc import Mapping

from ragstone.benchmarks.niah.aggregate import Cells, Group, Key, count
from ragstone.benchmarks.niah.tables import name_of_length
from ragstone.messages import messages
from ragstone.stats import Estimate
from ragstone.types import Chart, Point, Run, Series

__all__ = ["charts"]

_MOST = 24  # maps of one report
_NUMBERED = 12  # columns up to which the cells say their values


def charts(run: Run, *, language: str = "en") -> list[Chart]:
    """A map a system, needle and template (three where a retriever stood before the model), and one chart of curves."""
    told = messages(__name__, language)
    made: list[Chart] = []
    series = []
    for key, group in count(run).items():
        if not group.main.values:
            continue
        needle = told.get(key.needle, key.needle)
        for cells, first, last in _shown(group, key):
            parts = (told.get(first, ""), needle, key.template, key.retriever, told.get(last, ""))
            title = told["map"].format(system=key.system, what=told["comma"].join(part for part in parts if part))
            if key.language:
                title = told["map_in"].format(name=title, language=told.get(key.language, key.language))
            made.append(_map(f"niah-map-{len(made)}", title, cells, told))
        series.append(_curve(key, group, needle))
    curves = [one for one in series if len(one.points) > 1]
    if curves:
        alt = "; ".join(f"{one.name}: " + ", ".join(f"{p.x:g}: {p.y:.0%}" for p in one.points) for one in curves[:12])
        made.append(
            Chart("niah-lengths", told["by_length_chart"], "lines", tuple(curves[:12]), told["tokens"],
                  told["share_found"], alt=alt)
        )  # fmt: skip
    return made[-1:] + made[: _MOST - 1] if len(made) > _MOST else made


def _shown(group: Group, key: Key) -> list[tuple[Cells, str, str]]:
    """What has a map of its own, with the words that tell what it is and by whom: through a retriever what it found,
    what was answered, and both; of others' results what was given beside what the rule finds."""
    if key.mode == "rag":
        several = (group.retrieved, "what_retrieved"), (group.found, "what_found"), (group.both, "what_both")
        return [(cells, what, "") for cells, what in several if cells.values]
    if group.given.values and group.found.values:
        return [(group.given, "", "by_given"), (group.found, "", "by_rule")]
    if group.found.values:
        return [(group.found, "", "")]
    return [(group.main, "", "by_judge" if group.judged.values else "by_given")]


def _map(name: str, title: str, cells: Cells, told: Mapping[str, str]) -> Chart:
    lengths, depths, means = cells.lengths, cells.depths, cells.means()
    rows = tuple(
        Series(f"{depth:g}%", tuple(Point(at, means[length, depth]) for at, length in enumerate(lengths)
                                    if (length, depth) in means))
        for depth in depths
    )  # fmt: skip
    mean = cells.mean().value
    by_length = {length: Estimate.of_mean(cells.at_length(length)).value for length in lengths}
    worst = min(lengths, key=lambda length: 1.0 if (value := by_length[length]) is None else value)
    alt = told["alt_map"].format(
        name=title, mean="–" if mean is None else f"{mean:.0%}", n=len(means),
        low=sum(value < 0.5 for value in means.values()), length=name_of_length(worst),
    )  # fmt: skip
    return Chart(
        name, title, "heatmap", rows, told["tokens"], told["percent_depth"], tuple(map(name_of_length, lengths)),
        alt=alt, numbers=len(lengths) <= _NUMBERED,
    )  # fmt: skip


def _curve(key: Key, group: Group, needle: str) -> Series:
    points = []
    for length in group.main.lengths:
        points += Estimate.of_mean(group.main.at_length(length)).points(length)
    parts = [key.system, key.language, needle, key.template, key.retriever]
    # Not drawn as published figures are, which were measured on the same data as ours.
    return Series(", ".join(part for part in parts if part), tuple(points))
