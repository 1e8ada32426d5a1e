"""Charts: SVG that is text, has its alternative, takes any name, and is the same bytes every time."""

import re
import subprocess
import sys
import unicodedata
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from tests.report.hostile import PAYLOADS

from ragstone import optional as extras
from ragstone.display import Chart, Point, Series
from ragstone.errors import MissingExtra
from ragstone.report.charts import chart_svg, style_of

POINTS = tuple(Point(x / 5, 0.9 - x / 10, 0.85 - x / 10, 0.95 - x / 10) for x in range(5))


def chart(*names: str, kind: str = "lines", published: str = "ChatGPT", title: str = "Noise") -> Chart:
    points = POINTS if kind == "lines" else tuple(Point(float(x), 0.5, 0.4, 0.6) for x in range(2))
    series = (*(Series(name, points) for name in names), Series(published, points, published=True))
    return Chart(
        "c",
        title,
        "bars" if kind == "bars" else "lines",
        series,
        "噪声比例",
        "",
        ("拒答", "Rejection"),
        alt="It falls.",
    )


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("text")]


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_a_chart_has_a_role_a_title_and_a_text_alternative(kind: str) -> None:
    root = ElementTree.fromstring(chart_svg(chart("a", kind=kind), prefix="c7"))
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == "c7-t c7-d"
    assert [(child.tag, child.text) for child in root[:2]] == [("title", "Noise"), ("desc", "It falls.")]


def test_text_stays_text_so_that_the_readers_fonts_draw_chinese() -> None:
    assert "噪声比例" in texts(chart_svg(chart("a")))
    assert {"拒答", "Rejection"} <= set(texts(chart_svg(chart("模型", kind="bars"))))


def test_published_curves_are_thin_dashed_grey_and_labelled() -> None:
    svg = chart_svg(chart("a", published="ChatGLM2-6B"))
    assert "ChatGLM2-6B" in texts(svg)
    dashed = [
        e
        for e in ElementTree.fromstring(svg).iter("path")
        if e.get("stroke-dasharray") and "grey" in e.get("stroke", "")
    ]
    assert len(dashed) == 1


def test_labels_of_published_curves_do_not_cover_each_other() -> None:
    series = tuple(Series(f"paper {i}", (Point(0, 0.9), Point(1, 0.5 + i / 1000)), published=True) for i in range(6))
    root = ElementTree.fromstring(chart_svg(Chart("c", "t", "lines", series)))
    heights = sorted(float(e.get("y", 0)) for e in root.iter("text") if (e.text or "").startswith("paper"))
    assert len(heights) == 6
    assert min(high - low for low, high in pairwise(heights)) >= 11


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_the_same_chart_is_the_same_bytes(kind: str) -> None:
    assert chart_svg(chart("a", "b", kind=kind)) == chart_svg(chart("a", "b", kind=kind))


@pytest.mark.parametrize("kind", ["lines", "bars"])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_any_name_makes_a_well_formed_picture_that_holds_no_code(payload: str, kind: str) -> None:
    svg = chart_svg(chart(payload, kind=kind, published=payload, title=payload))
    root = ElementTree.fromstring(svg)
    allowed = {"svg", "g", "path", "text", "title", "desc", "defs", "use", "clipPath", "rect", "line"}
    assert {element.tag for element in root.iter()} <= allowed
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert all(e.attrib["href"].startswith("#") for e in root.iter() if "href" in e.attrib)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\ud800-\udfff]", svg)


def test_many_systems_each_look_different() -> None:
    assert len({str(style_of(index)) for index in range(28)}) == 28


def test_empty_charts_and_single_points_are_drawn() -> None:
    for kind in ("lines", "bars"):
        assert "<svg" in chart_svg(Chart("c", "t", kind, ()))
        assert "<svg" in chart_svg(Chart("c", "t", kind, (Series("s", ()),)))
    assert "<svg" in chart_svg(Chart("c", "t", "lines", (Series("s", (Point(3, 7, 6, 8),)),), percent=False))
    assert unicodedata.normalize("NFC", "é") in chart_svg(Chart("c", "é", "bars", (Series("s", (Point(0, 1),)),)))


def test_a_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.nothing_here", None)
    with pytest.raises(MissingExtra, match=r"A chart needs matplotlib, .* pip install 'ragstone\[report\]'"):
        extras.load("matplotlib.nothing_here", extra="report", purpose="A chart")


def test_the_report_package_loads_nothing_heavy() -> None:
    heavy = {"matplotlib", "jinja2", "numpy", "rich", "openpyxl", "pyarrow"}
    code = f"import sys, ragstone.report; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_stacked_bars_are_drawn_end_to_end_with_their_values() -> None:
    parts = [Series(name, (Point(0, share), Point(1, 1 - share))) for name, share in (("a", 0.25), ("b", 0.75))]
    stacked = Chart("c", "Shares", "bars", tuple(parts), categories=("one", "two"), stacked=True)
    assert {"25% · 75%", "75% · 25%", "one", "two"} <= set(texts(chart_svg(stacked)))


def test_costs_that_are_close_together_have_round_ticks() -> None:
    costs = [100.1, 100.3, 250.7, 251.2, 900.9]
    one = Chart("c", "Cost", "lines", (Series("s", tuple(Point(x, 0.5) for x in costs)),))
    shown = set(texts(chart_svg(one)))
    assert not {"100.1", "100.3", "250.7"} & shown
    assert {"300", "600", "900"} <= shown
