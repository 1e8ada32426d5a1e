"""The heat maps (lengths from left to right, depths from top to bottom) and the curves of needles found by length."""

from collections.abc import Mapping

from ragstone.benchmarks.niah.aggregate import ANYWHERE, CellScores, NeedleKey, NeedleTally, needle_name, tally_needles
from ragstone.benchmarks.niah.suite_tables import suite_charts
from ragstone.benchmarks.niah.tables import name_of_length
from ragstone.display import Chart, Point, Series
from ragstone.messages import messages
from ragstone.types import Run

__all__ = ["charts"]

_MOST = 24  # maps per report
_LEADING = ("niah-map-0", "niah-map-1")  # beside the verdict
_NUMBERED = 12  # most columns for which the cells show their values


def charts(run: Run, *, language: str = "en") -> list[Chart]:
    """One map per system, needle and template (three with a retriever), and one chart of curves."""
    texts = messages(__name__, language)
    maps: list[Chart] = []
    series = []
    groups = tally_needles(run)
    for key, group in groups.items():
        if not group.main.values:
            continue
        needle = needle_name(key.needle, texts)
        for cells, first, last in _shown(group, key):
            parts = (texts.get(first, ""), needle, key.template, key.retriever, texts.get(last, ""))
            title = texts["map"].format(system=key.system, what=texts["comma"].join(part for part in parts if part))
            if key.language:
                title = texts["map_in"].format(name=title, language=texts.get(key.language, key.language))
            maps.append(_map(f"niah-map-{len(maps)}", title, cells, texts))
        series.append(_curve(key, group, needle))
    curves = [curve for curve in series if len(curve.points) > 1]
    if curves:
        alt = "; ".join(
            f"{curve.name}: " + ", ".join(f"{p.x:g}: {p.y:.0%}" for p in curve.points) for curve in curves[:12]
        )
        maps.append(
            Chart("niah-lengths", texts["by_length_chart"], "lines", tuple(curves[:12]), texts["tokens"],
                  texts["share_found"], alt=alt)
        )  # fmt: skip
    maps = suite_charts(groups, language) + maps
    return maps[-1:] + maps[: _MOST - 1] if len(maps) > _MOST else maps


def _shown(group: NeedleTally, key: NeedleKey) -> list[tuple[CellScores, str, str]]:
    """The scores to draw as maps, with the message keys of what they show and by whom. With a retriever: what was
    retrieved, what was answered, and both. Controls where each cell has one. For imported results: the imported score
    and the rule's."""
    controls = [(group.refused, "what_refused", "")] if len(group.refused.depths) > 1 else []
    if key.mode == "rag":
        views = (group.retrieved, "what_retrieved"), (group.found, "what_found"), (group.both, "what_both")
        return [(cells, label, "") for cells, label in views if cells.values] + controls
    if group.given.values and group.found.values:
        return [(group.given, "", "by_given"), (group.found, "", "by_rule")]
    if group.found.values:
        return [(group.found, "", ""), *controls]
    return [(group.main, "", "by_judge" if group.judged.values else "by_given")]


def _map(name: str, title: str, cells: CellScores, texts: Mapping[str, str]) -> Chart:
    lengths, depths, means = cells.lengths, cells.depths, cells.means()
    names = {depth: texts["anywhere"] if depth == ANYWHERE else f"{depth:g}%" for depth in depths}
    rows = tuple(
        Series(names[depth], tuple(Point(column, means[length, depth]) for column, length in enumerate(lengths)
                                   if (length, depth) in means))
        for depth in depths
    )  # fmt: skip
    mean = cells.mean().value
    by_length = {length: cells.mean(lengths=[length]).value for length in lengths}
    worst = min(lengths, key=lambda length: 1.0 if (value := by_length[length]) is None else value)
    alt = texts["alt_map"].format(
        name=title, mean="–" if mean is None else f"{mean:.0%}", n=len(means),
        low=sum(value < 0.5 for value in means.values()), length=name_of_length(worst),
    )  # fmt: skip
    return Chart(
        name, title, "heatmap", rows, texts["tokens"], texts["percent_depth"], tuple(map(name_of_length, lengths)),
        alt=alt, numbers=len(lengths) <= _NUMBERED, leading=name in _LEADING,
    )  # fmt: skip


def _curve(key: NeedleKey, group: NeedleTally, needle: str) -> Series:
    points = []
    for length in group.main.lengths:
        points += group.main.mean(lengths=[length]).points(length)
    parts = [key.system, key.language, needle, key.template, key.retriever]
    # Imported results are not drawn as published figures, which are measured on the same data as ours.
    return Series(", ".join(part for part in parts if part), tuple(points))
