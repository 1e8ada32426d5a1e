"""Controls without a needle: for each length, for each cell, or none; shown where each cell has one."""

from collections import Counter
from typing import Any

import pytest
from tests.benchmarks.factory import make
from tests.benchmarks.niah.test_tables import SyntheticRun, by_id, record

from ragstone.benchmarks.niah.benchmark import expand_query
from ragstone.benchmarks.niah.charts import charts
from ragstone.errors import UsageError

GRID: dict[str, Any] = {"lengths": "600,1200", "depths": "0:100:5", "repeat": 2, "needles": ["number", "multi"]}


def of_ability(ability: str, **options: Any) -> dict[str, Any]:
    cases = make("niah", **GRID, **options).cases()
    return {case.id: case for case in cases if case.condition["ability"] == ability}


def test_each_cell_has_a_control_with_its_question_and_without_its_needle() -> None:
    made = make("niah", **GRID, control="cell")
    cells = {case.id: case for case in made.cases()}
    controls = [case for case in cells.values() if case.condition["ability"] == "control"]
    assert len(controls) == 2 * 2 * 5 * 2 == len(cells) / 2
    for control in controls:
        cell = cells[control.id.replace("control/", "needle/")]
        assert cell.query.question == control.query.question
        assert (cell.condition["length"], cell.condition["depth"]) == (
            control.condition["length"],
            control.condition["depth"],
        )
        text = (expand_query(control.query, made.haystacks).passages or ())[0].text
        assert not control.sample.references
        assert not any(value in text for slot in cell.sample.references for value in slot)
        assert not any(needle in text for needle in cell.query.passages[0].meta["recipe"]["needles"])


def test_controls_change_no_needle_and_are_one_for_each_length_unless_asked_otherwise() -> None:
    cells = {control: of_ability("needle", control=control) for control in ("length", "cell", "none")}
    assert list(cells["length"]) == list(cells["cell"]) == list(cells["none"])
    assert Counter(case.condition["length"] for case in of_ability("control").values()) == {600: 4, 1200: 4}
    assert not of_ability("control", control="none")


def test_a_suite_without_controls_has_none_for_each_cell_either() -> None:
    with pytest.raises(UsageError, match="--control cell: --suite ruler has no controls"):
        make("niah", suite="ruler", lengths="2000", depths="50", control="cell")


@pytest.mark.parametrize(("language", "share"), [("en", "controls refused"), ("zh", "对照组被拒答")])
def test_refusals_are_shown_cell_by_cell_in_a_table_and_a_map(language: str, share: str) -> None:
    answered = [(1000, 50.0), (2000, 100.0), (2000, 50.0)]
    places = [(length, depth) for length in (1000, 2000) for depth in (0.0, 50.0, 100.0)]
    controls = [record(*place, None, refused=float(place not in answered)) for place in places]
    run = SyntheticRun(*(record(*place, 1.0) for place in places), *controls)
    rows = by_id(run, language)["niah-controls"].rows
    assert [[cell.value for cell in row.cells[2:]] for row in rows] == [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    (chart,) = (chart for chart in charts(run, language=language) if share in chart.title)
    assert [[point.y for point in series.points] for series in chart.series] == [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]


def test_one_control_for_each_length_has_no_table_of_its_own() -> None:
    run = SyntheticRun(record(1000, 50.0, 1.0), record(1000, 100.0, None), record(2000, 100.0, None))
    assert "niah-controls" not in by_id(run)
