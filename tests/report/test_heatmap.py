"""Heat maps: a table of coloured cells, brighter for more, hatched where nothing was measured, harmless names."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

import ragstone.report
from ragstone.display import Chart, Point, Series, Tick
from ragstone.report.heat import heat_html
from ragstone.report.html import figures_html
from ragstone.report.section import Canvas

CSS = (Path(ragstone.report.__file__).parent / "report.css").read_text("utf-8")


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


def drawn(*charts: Chart) -> str:
    return str(heat_html(Canvas("en"), charts, 0))


def cells(html: str) -> list[tuple[str, str, str]]:
    """(class, place and figure, number) of each cell."""
    return re.findall(r'<td class="([vd]\d+)" data-at="([^"]*)"><b>([^<]*)</b></td>', html)


def colour(name: str) -> tuple[int, ...]:
    found = re.search(rf"\.{name}\{{background:#(\w\w)(\w\w)(\w\w)\}}", CSS)
    assert found
    return tuple(int(part, 16) for part in found.groups())


def brightness(red: int, green: int, blue: int) -> float:
    """Relative luminance (WCAG 2.1)."""
    parts = [part / 255 for part in (red, green, blue)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_more_is_brighter_in_even_steps() -> None:
    first = [name for name, *_ in cells(drawn(heat(rows=1, columns=5)))]
    assert first == ["v0", "v5", "v10", "v15", "v20"]
    levels = [brightness(*colour(f"v{step}")) ** (1 / 2.4) for step in range(21)]
    steps = [after - before for before, after in pairwise(levels)]
    assert min(steps) > 0.3 * max(steps) > 0


def test_numbers_can_be_read_on_every_colour() -> None:
    white = re.search(r"\.heat td:is\(([^)]*)\) \{ color: #fff; \}", CSS)
    assert white
    for kind in "vd":
        for step in range(21):
            light = brightness(*colour(f"{kind}{step}"))
            on_white = f".{kind}{step}," in white[1] + ","
            assert (1.05 / (light + 0.05) if on_white else (light + 0.05) / 0.05) >= 4.5


def test_a_cell_that_was_not_measured_is_an_empty_frame() -> None:
    html = drawn(heat())
    assert len(cells(html)) == 11
    assert html.count('<td class="none"></td>') == 1


def test_a_cell_says_its_place_its_figure_and_its_interval() -> None:
    chart = replace(heat(rows=0, columns=2), series=(Series("40%", (Point(0, 2 / 3, 0.2077, 0.9385), Point(1, 1.0))),))
    assert cells(drawn(chart)) == [("v13", "1k · 40%: 67% [21, 94]", "67"), ("v20", "2k · 40%: 100%", "100")]


def test_differences_have_signs_and_colours_of_their_own() -> None:
    points = (Point(0, -1.0), Point(1, 0.0), Point(2, 0.25))
    chart = replace(heat(rows=0, columns=3), series=(Series("0%", points),), signed=True)
    html = drawn(chart)
    assert cells(html) == [("d0", "1k · 0%: -100", "-100"), ("d10", "2k · 0%: 0", "0"), ("d12", "4k · 0%: +25", "+25")]
    assert "worse" in html
    assert "0% <i" not in html


@pytest.mark.parametrize("numbers", [True, False])
def test_numbers_are_shown_from_the_start_on_request(numbers: bool) -> None:
    assert ('id="h0-n" checked' in drawn(heat(numbers=numbers))) is numbers


def test_a_large_map_has_ticks_in_place_of_names_that_would_collide() -> None:
    large = replace(
        heat(rows=35, columns=35), ticks_x=(Tick(17.5, "5k"),), ticks_y=(Tick(0.5, "0%"), Tick(34.5, "100%"))
    )
    html = drawn(large)
    assert len(cells(html)) == 35 * 35 - 1
    assert re.findall(r'<span class="p(\d+)">([^<]*)</span>', html) == [("1", "0%"), ("99", "100%"), ("50", "5k")]
    assert html.count('class="hidden"') == 2  # still there for those who hear the table
    assert 'class="map many"' in html


def test_maps_of_one_figure_are_its_steps_and_panels() -> None:
    charts = [
        replace(heat(), figure="Both", step=step, panel=panel) for step in ("simple", "earlier") for panel in ("A", "B")
    ]
    first, alone = map(str, figures_html(Canvas("en"), enumerate([*charts, heat()])))
    assert re.findall(r'type="radio" class="unseen step"[^>]*>', first)[0].endswith(" checked>")
    assert re.findall(r'<label class="button" for="h0-\d"><bdi>(\w+)</bdi>', first) == ["simple", "earlier"]
    assert re.findall(r"<h4><bdi>(\w)</bdi></h4>", first) == ["A", "B", "A", "B"]
    assert len(set(re.findall(r'id="([^"]+)"', first + alone))) == len(re.findall(r'id="', first + alone))
    assert "step" not in re.findall(r'class="([^"]*)"', alone)


def test_the_same_map_gives_the_same_bytes_and_has_a_text_alternative() -> None:
    assert drawn(heat()) == drawn(heat())
    assert "<bdi>what it shows</bdi>" in drawn(heat())


def test_names_are_text_and_nothing_else() -> None:
    hostile = heat(name='"><script>$x_1$')
    html = drawn(
        replace(hostile, title="<script>", panel="<script>", figure="<script>", categories=('"><script>',) * 4)
    )
    assert "<script" not in html
    assert 'data-at="&#34;&gt;' in html
    assert "<table" in drawn(heat(rows=0, columns=0))
