"""The heat maps (lengths from left to right, depths from top to bottom) and the curves of needles found by length.

Maps that differ in their template only are steps of one figure. Two models stand beside each other in one figure, with
a third map of their differences.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from msgspec import structs

from ragstone.benchmarks.niah.aggregate import (
    ANYWHERE,
    CellScores,
    NeedleKey,
    NeedleTally,
    needle_name,
    setting_name,
    tally_needles,
)
from ragstone.benchmarks.niah.suite_tables import suite_charts
from ragstone.benchmarks.niah.tables import name_of_length
from ragstone.display import Chart, Point, Series, Tick
from ragstone.messages import messages
from ragstone.stats import Estimate
from ragstone.types import Run

_MOST = 24  # maps per report
_LEADING = 2  # figures beside the verdict
_NUMBERED = 12  # most columns for which the cells show their values from the start
_NAMED_X, _NAMED_Y = 12, 20  # most columns and rows that all have their own names
_MOST_LABELS = 8  # labels of an axis


def charts(run: Run, *, language: str = "en") -> list[Chart]:
    """The maps, and one chart of curves."""
    texts = messages(__name__, language)
    groups = tally_needles(run)
    tallies = {key: group for key, group in groups.items() if group.main.values}
    suites = suite_charts(groups, language)
    maps = suites + _maps(tallies, list(dict.fromkeys(key.system for key in tallies)), texts, _MOST - len(suites))
    curves = [_curve(key, group, needle_name(key.needle, texts)) for key, group in tallies.items()]
    curves = [curve for curve in curves if len(curve.points) > 1]
    if not curves:
        return maps
    alt = "; ".join(f"{curve.name}: " + ", ".join(f"{p.x:g}: {p.y:.0%}" for p in curve.points) for curve in curves[:12])
    lengths = Chart(
        "niah-lengths", texts["by_length_chart"], "lines", tuple(curves[:12]), texts["tokens"], texts["share_found"],
        alt=alt,
    )  # fmt: skip
    return [*maps, lengths]


def compare_charts(a: tuple[Run, str, str], b: tuple[Run, str, str], *, language: str = "en") -> list[Chart]:
    """The maps of two systems side by side, each (its run, its id, its display name), with their differences; only of
    what both were asked."""
    names = (a[2], b[2]) if a[2] != b[2] else (f"{a[2]} (1)", f"{b[2]} (2)")
    first, second = (
        {replace(key, system=""): group for key, group in tally_needles(run).items()
         if key.system == system and group.main.values}
        for run, system, _ in (a, b)
    )  # fmt: skip
    tallies = {
        replace(key, system=name): groups[key]
        for key in first if key in second
        for name, groups in zip(names, (first, second), strict=True)
    }  # fmt: skip
    return _maps(tallies, names, messages(__name__, language))


@dataclass(frozen=True)
class _View:
    """What a map shows: its key without system and template, what of it, and by whom."""

    key: NeedleKey
    what: str
    by: str


def _maps(
    tallies: Mapping[NeedleKey, NeedleTally], systems: Sequence[str], texts: Mapping[str, str], most: int = _MOST
) -> list[Chart]:
    """The maps in their figures, fewer than `most`, but one figure at least."""
    pair = len(systems) == 2
    figures: dict[tuple[str, _View], dict[str, dict[str, CellScores]]] = {}
    for key, group in tallies.items():
        for cells, what, by in _shown(group, key):
            figure = ("" if pair else key.system, _View(replace(key, system="", template=""), what, by))
            figures.setdefault(figure, {}).setdefault(key.template, {})[key.system] = cells
    maps: list[Chart] = []
    for number, ((_, view), steps) in enumerate(figures.items()):
        made = [
            chart for template, panels in steps.items()
            for chart in _step(view, template, panels, systems if pair else (), texts)
        ]  # fmt: skip
        names = [name for name in systems if any(name in panels for panels in steps.values())]
        title = _title(view, " · ".join(names), "" if len(steps) > 1 else next(iter(steps)), texts)
        if maps and len(maps) + len(made) >= most:
            break
        leading = number < (1 if pair else _LEADING)
        maps += [
            structs.replace(chart, id=f"niah-map-{place}", leading=leading, figure=title if len(made) > 1 else "")
            for place, chart in enumerate(made, len(maps))
        ]
    return maps


def _step(
    view: _View, template: str, panels: Mapping[str, CellScores], pair: Sequence[str], texts: Mapping[str, str]
) -> Iterator[Chart]:
    """The map of each system, and of two that of their differences on the same axes."""
    both = len(pair) == 2 and len(panels) == 2
    lengths = sorted({length for cells in panels.values() for length in cells.lengths})
    depths = sorted({depth for cells in panels.values() for depth in cells.depths})
    for system, cells in sorted(panels.items(), key=lambda item: pair.index(item[0]) if both else 0):
        title = _title(view, system, template, texts)
        chart = _map(title, cells, lengths, depths, texts)
        yield structs.replace(chart, step=template, panel=system if both else "")
    if both:
        first, second = (panels[name].means() for name in pair)
        differences = {cell: second[cell] - first[cell] for cell in first if cell in second}
        title = _title(view, f"{pair[1]} − {pair[0]}", template, texts)
        points = {cell: Point(0, value) for cell, value in differences.items()}
        worse, better = (sum(sign * value > 0 for value in differences.values()) for sign in (-1, 1))
        alt = texts["alt_difference"].format(
            name=title, a=pair[0], b=pair[1], better=better, worse=worse, n=len(differences)
        )
        chart = _chart(title, points, lengths, depths, texts, alt)
        yield structs.replace(chart, step=template, panel=texts["difference_of"], signed=True)


def _title(view: _View, system: str, template: str, texts: Mapping[str, str]) -> str:
    needle = needle_name(view.key.needle, texts)
    parts = (
        texts.get(view.what, ""),
        needle,
        setting_name("template", template, texts),
        view.key.retriever,
        texts.get(view.by, ""),
    )
    title = texts["map"].format(system=system, what=texts["comma"].join(part for part in parts if part))
    language = view.key.language
    return texts["map_in"].format(name=title, language=texts.get(language, language)) if language else title


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


def _map(
    title: str, cells: CellScores, lengths: Sequence[int], depths: Sequence[float], texts: Mapping[str, str]
) -> Chart:
    """The map of one system on these axes; a cell with repeats has an interval."""
    means = cells.means()
    points = {
        cell: Point(0, means[cell], *(Estimate.of_mean(values).known or (0, None, None))[1:])
        for cell, values in cells.values.items()
    }
    mean = cells.mean().value
    by_length = {length: cells.mean(lengths=[length]).value for length in cells.lengths}
    worst = min(by_length, key=lambda length: 1.0 if (value := by_length[length]) is None else value)
    alt = texts["alt_map"].format(
        name=title, mean="–" if mean is None else f"{mean:.0%}", n=len(means),
        low=sum(value < 0.5 for value in means.values()), length=name_of_length(worst),
    )  # fmt: skip
    return _chart(title, points, lengths, depths, texts, alt)


def _chart(
    title: str, points: Mapping[tuple[int, float], Point], lengths: Sequence[int], depths: Sequence[float],
    texts: Mapping[str, str], alt: str,
) -> Chart:  # fmt: skip
    """A map of these cells."""
    rows = tuple(
        Series(
            texts["anywhere"] if depth == ANYWHERE else _percent(depth),
            tuple(
                structs.replace(points[length, depth], x=column)
                for column, length in enumerate(lengths)
                if (length, depth) in points
            ),
        )
        for depth in depths
    )
    return Chart(
        "", title, "heatmap", rows, texts["tokens"], texts["percent_depth"], tuple(map(name_of_length, lengths)),
        alt=alt, numbers=len(lengths) <= _NUMBERED,
        ticks_x=round_ticks(lengths, lambda length: name_of_length(round(length)), most=_NAMED_X),
        ticks_y=round_ticks(depths, _percent, most=_NAMED_Y),
    )  # fmt: skip


def _percent(depth: float) -> str:
    return f"{depth:g}%"


def _curve(key: NeedleKey, group: NeedleTally, needle: str) -> Series:
    points = []
    for length in group.main.lengths:
        points += group.main.mean(lengths=[length]).points(length)
    parts = [key.system, key.language, needle, key.template, key.retriever]
    # Imported results are not drawn as published figures, which are measured on the same data as ours.
    return Series(", ".join(part for part in parts if part), tuple(points))


def round_ticks(values: Sequence[float], name: Callable[[float], str], *, most: int) -> tuple[Tick, ...]:
    """Round numbers along cells of these rising values, either evenly spaced ones or 1, 2, 5, 10, 20…, whichever
    spreads over the cells better; () for at most `most` cells, which all have their own names."""
    if len(values) <= most:
        return ()
    candidates = (_even(values[0], values[-1]), _decades(values[0], values[-1]))
    spread = min((_thinned(values, numbers) for numbers in candidates), key=lambda ticks: _widest(ticks, len(values)))
    return tuple(Tick(at, name(value)) for at, value in spread)


def _even(first: float, last: float) -> list[float]:
    rough = (last - first) / _MOST_LABELS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough * (1 - 1e-9))
    return [step * number for number in range(math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9) + 1)]


def _decades(first: float, last: float) -> list[float]:
    if first <= 0:
        return []
    powers = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    return [digit * 10.0**power for power in powers for digit in (1, 2, 5) if first <= digit * 10.0**power <= last]


def _thinned(values: Sequence[float], numbers: Sequence[float]) -> list[tuple[float, float]]:
    """(place, number), far enough apart to be read."""
    kept: list[tuple[float, float]] = []
    for number in numbers:
        at = _place(values, number)
        if not kept or at - kept[-1][0] >= len(values) / (1.5 * _MOST_LABELS):
            kept.append((at, number))
    return kept


def _place(values: Sequence[float], number: float) -> float:
    """Where a number is on the axis of these cells, in cells."""
    after = min(len(values) - 1, max(1, bisect_left(values, number)))
    low, high = values[after - 1], values[after]
    return after - 0.5 + (number - low) / (high - low)


def _widest(ticks: Sequence[tuple[float, float]], cells: int) -> float:
    """The longest stretch of the axis without a label."""
    places = [0.0, *(at for at, _ in ticks), float(cells)]
    return max(after - before for before, after in pairwise(places))
