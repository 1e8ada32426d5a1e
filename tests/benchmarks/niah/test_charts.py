"""The maps of a needle run: their axes, their steps by template, and two models beside each other."""

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from tests.benchmarks.niah.test_tables import DEPTHS, LENGTHS, SyntheticRun, grid, record

from ragstone.benchmarks.niah.benchmark import NIAH
from ragstone.benchmarks.niah.charts import charts, round_ticks
from ragstone.benchmarks.niah.tables import name_of_length
from ragstone.display import Chart
from ragstone.types import Record

if TYPE_CHECKING:
    from ragstone.types import Run


def of(system: str, *missed: tuple[int, float], template: str = "simple") -> list[Record]:
    return [replace(one, system_id=system) for one in grid(*missed, template=template)]


def maps(*records: Record) -> list[Chart]:
    return [chart for chart in charts(SyntheticRun(*records)) if chart.kind == "heatmap"]


def test_few_cells_have_their_own_names() -> None:
    assert round_ticks([1000.0 * n for n in range(1, 13)], str, most=12) == ()


def test_ticks_of_even_cells_are_round_numbers_between_them() -> None:
    lengths = [1000 + 31_000 * n / 34 for n in range(35)]
    found = round_ticks(lengths, lambda value: name_of_length(round(value)), most=12)
    assert [tick.label for tick in found] == ["5k", "10k", "15k", "20k", "25k", "30k"]
    # 5k is (5 - 1) / (31 / 34) = 4.39 cells beyond the middle of the first one.
    assert found[0].at == pytest.approx(0.5 + 4 * 34 / 31)


def test_ticks_of_cells_that_double_are_1_2_5_and_apart() -> None:
    lengths = [1000 * 2 ** (n / 5) for n in range(36)]
    found = round_ticks(lengths, lambda value: name_of_length(round(value)), most=12)
    assert [tick.label for tick in found] == ["1k", "2k", "5k", "10k", "20k", "50k", "100k"]
    places = [tick.at for tick in found]
    assert min(after - before for before, after in pairwise(places)) >= 3


def test_maps_that_differ_in_their_template_are_steps_of_one_figure() -> None:
    first, second = maps(*of("m"), *of("m", (4000, 0.0), template="earlier"))
    assert (first.figure, first.step, second.step) == ("m: a random number (English)", "earlier", "simple")
    assert second.figure == first.figure
    assert first.title == "m: a random number, prompt earlier (English)"
    (alone,) = maps(*of("m"))
    assert alone.figure == ""


def test_two_models_stand_beside_each_other_with_their_differences() -> None:
    a, b, difference = maps(*of("a", (4000, 0.0), (4000, 50.0)), *of("b", (4000, 0.0), (1000, 50.0)))
    assert a.figure == b.figure == difference.figure == "a · b: a random number, prompt simple (English)"
    assert [chart.panel for chart in (a, b)] == ["a", "b"]
    assert a.categories == b.categories == difference.categories == ("1k", "2k", "4k")
    assert difference.signed
    values = {(row.name, point.x): point.y for row in difference.series for point in row.points}
    assert {cell: value for cell, value in values.items() if value} == {("50%", 2): 1.0, ("50%", 0): -1.0}
    assert len(values) == len(LENGTHS) * len(DEPTHS)
    assert "better than a in 1 of 9 cells and worse in 1" in difference.alt


def test_axes_are_shared_and_a_cell_of_one_model_only_has_no_difference() -> None:
    a, b, difference = maps(*of("a"), *[one for one in of("b") if one.case.condition["length"] != 1000])
    assert a.categories == b.categories == difference.categories
    assert [sum(len(row.points) for row in chart.series) for chart in (a, b, difference)] == [9, 6, 6]


def test_of_three_models_each_has_a_figure() -> None:
    assert [chart.figure for chart in maps(*of("a"), *of("b"), *of("c"))] == [""] * 3


def test_repeated_cells_have_intervals() -> None:
    (chart,) = maps(*[record(1000, 0.0, 1.0, repeat=n) for n in range(3)], record(2000, 0.0, 1.0))
    first, second = chart.series[0].points
    assert first.low == pytest.approx(0.035 ** (1 / 3))
    assert second.low is None


def test_a_comparison_has_the_figure_of_both_runs() -> None:
    old: tuple[Run, str, str] = (SyntheticRun(*grid((4000, 0.0))), "m", "old")
    new: tuple[Run, str, str] = (SyntheticRun(*grid()), "m", "new")
    first, second, difference = NIAH().compare_charts(old, new)
    assert [first.panel, second.panel] == ["old", "new"]
    assert sum(point.y for row in difference.series for point in row.points) == 1.0
    other: tuple[Run, str, str] = (SyntheticRun(*grid(template="earlier")), "m", "other")
    assert NIAH().compare_charts(old, other) == []
    same = NIAH().compare_charts(old, (new[0], "m", "old"))
    assert [chart.panel for chart in same[:2]] == ["old (1)", "old (2)"]
