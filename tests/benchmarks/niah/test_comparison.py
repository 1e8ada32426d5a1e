"""Two systems side by side: their effective lengths are taken from the cells that both have."""

from typing import TYPE_CHECKING

import pytest
from tests.benchmarks.niah.test_tables import SyntheticRun, grid, record

from ragstone.benchmarks.niah.benchmark import NIAH
from ragstone.benchmarks.niah.comparison import effective_of
from ragstone.display import Table

if TYPE_CHECKING:
    from ragstone.types import Run


def tables(first: SyntheticRun, second: SyntheticRun, language: str = "en") -> dict[str, Table]:
    one: tuple[Run, str, str] = (first, "m", "old")
    other: tuple[Run, str, str] = (second, "m", "new")
    return {table.id: table for table in NIAH().compare(one, other, language=language)}


def test_lengths_and_effective_lengths_of_both() -> None:
    weak = SyntheticRun(*grid((4000, 0.0), (4000, 50.0), (2000, 0.0), (2000, 50.0)))
    strong = SyntheticRun(*grid((4000, 0.0)))
    found = tables(weak, strong)
    rows = found["niah-compare-lengths"].rows
    assert [row.cells[1].text for row in rows] == ["1k", "2k", "4k"]
    assert [row.cells[4].value for row in rows] == pytest.approx([0, 2 / 3, 1 / 3])
    assert found["niah-compare-lengths"].columns[2:4] == ("old", "new")
    nolima, ruler = found["niah-compare-effective"].rows
    assert nolima.cells[1].text == "85% of the shortest length"
    assert nolima.cells[2].text.startswith("1k")
    assert ruler.cells[3].text.startswith("2k")
    assert ruler.cells[4].value is not None
    assert ruler.cells[4].value > 0.9
    assert "有效长度" in tables(weak, strong, "zh")["niah-compare-effective"].title


def test_cells_that_only_one_has_do_not_count() -> None:
    short = SyntheticRun(*[one for one in grid() if one.case.condition["length"] != 4000])
    long = SyntheticRun(*grid((4000, 0.0), (4000, 50.0)))
    found = tables(short, long)
    assert [row.cells[1].text for row in found["niah-compare-lengths"].rows] == ["1k", "2k"]
    assert [row.cells[3].text for row in found["niah-compare-effective"].rows] == ["≥ 2k [1k, –]", "≥ 2k [below 1k, –]"]


def test_what_shares_no_cell_is_not_compared() -> None:
    other = SyntheticRun(*[record(8000, 0.0, 1.0)])
    assert tables(SyntheticRun(*grid()), other) == {}
    assert tables(SyntheticRun(*grid()), SyntheticRun(*grid(template="anthropic-rev2"))) == {}


def test_each_has_its_own_bar_of_85_percent_and_both_that_of_ruler() -> None:
    cells = {1000: [(0.5, 1.0)] * 4, 2000: [(0.45, 0.9)] * 4, 4000: [(0.2, 0.86)] * 4}
    own = effective_of(cells, None)
    assert (own.a.reached, own.b.reached, own.a.ends, own.b.ends) == (2000, 4000, False, True)
    assert (own.longer, own.shorter) == (1.0, 0.0)
    ruler = effective_of(cells, 0.856)
    assert (ruler.a.reached, ruler.b.reached) == (0, 4000)


def test_which_is_longer_comes_from_the_cells_and_is_the_same_again() -> None:
    cells = {1000: [(1.0, 1.0)] * 10, 2000: [(1.0, 1.0)] * 9 + [(0.0, 1.0)], 4000: [(0.0, 0.0)] * 10}
    first = effective_of(cells, 0.856)
    assert first == effective_of(cells, 0.856)
    assert (first.a.reached, first.b.reached) == (2000, 2000)
    assert (first.a.low, first.b.low, first.a.high, first.b.high) == (0, 0, 2000, 2000)
    # In 10 draws of 10 cells of which one is missed, two or more misses come in about a quarter: 1 - 0.9^10 - 0.9^9.
    assert first.longer == pytest.approx(1 - 0.9**10 - 0.9**9, abs=0.03)
    assert first.shorter == 0.0


def test_nothing_found_has_no_effective_length() -> None:
    found = effective_of({1000: [(0.0, 1.0)], 2000: [(0.0, 1.0)]}, None)
    assert (found.a.reached, found.b.reached) == (0, 2000)
