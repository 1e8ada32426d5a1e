"""Heat maps: a rectangle a cell, brighter for more, an empty frame where nothing was measured, harmless names."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from ragstone.display import Chart, Point, Series
from ragstone.report.charts import chart_svg


def heat(*, numbers: bool = False, name: str = "0%", rows: int = 3, columns: int = 4) -> Chart:
    series = tuple(
        Series(
            name if row == 0 else f"{row}",
            tuple(Point(x, x / max(1, columns - 1)) for x in range(columns) if (row, x) != (1, 2)),
        )
        for row in range(rows)
    )
    categories = tuple(f"{2**x}k" for x in range(columns))
    return Chart("h", "A map", "heatmap", series, "length", "depth", categories, alt="what it shows", numbers=numbers)


def fills(svg: str) -> list[str]:
    return [element.get("fill", "") for element in ElementTree.fromstring(svg).iter("path") if element.get("fill")]


def brightness(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_more_is_brighter_in_even_steps() -> None:
    cells = [fill for fill in fills(chart_svg(heat(rows=1, columns=4))) if re.fullmatch("#[0-9a-f]{6}", fill)][:4]
    levels = [brightness(fill) for fill in cells]
    assert levels == sorted(levels)
    steps = [after - before for before, after in pairwise(levels)]
    assert min(steps) > 0.5 * max(steps)


def test_a_cell_that_was_not_measured_is_an_empty_frame() -> None:
    svg = chart_svg(heat())
    assert svg.count("<path") >= 12
    frames = [
        one for one in ElementTree.fromstring(svg).iter("path") if one.get("fill") == "none" and one.get("stroke")
    ]
    assert len(frames) == 1


@pytest.mark.parametrize("numbers", [True, False])
def test_cells_show_numbers_on_request(numbers: bool) -> None:
    texts = [element.text for element in ElementTree.fromstring(chart_svg(heat(numbers=numbers))).iter("text")]
    assert ("33" in texts) is numbers
    assert {"1k", "0%", "length", "depth", "100%"} <= set(texts)


def test_the_same_map_gives_the_same_bytes_and_has_a_text_alternative() -> None:
    assert chart_svg(heat()) == chart_svg(heat())
    root = ElementTree.fromstring(chart_svg(heat()))
    assert root.findtext("title") == "A map"
    assert root.findtext("desc") == "what it shows"


def test_a_large_map_is_drawn_and_labels_are_thinned_out() -> None:
    root = ElementTree.fromstring(chart_svg(heat(rows=35, columns=35)))
    texts = [element.text for element in root.iter("text")]
    assert sum(text is not None and text.endswith("k") for text in texts) <= 9
    assert len(list(root.iter("path"))) >= 35 * 35


def test_names_are_text_and_nothing_else() -> None:
    svg = chart_svg(heat(name="<script>$x_1$"))
    assert "<script" not in svg
    assert heat(rows=0, columns=0).series == ()
    assert "<svg" in chart_svg(heat(rows=0, columns=0))
