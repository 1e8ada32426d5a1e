"""The page of a trend in Chromium: the verdict and the change on the first screen, nothing clipped."""

from pathlib import Path

import pytest
from tests.comparison.trends import night, nights, records, trend
from tests.report.conftest import Open

from ragstone.comparison.trend import TrendResult


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_verdict_and_the_change_are_on_the_first_screen(
    opened: Open, tmp_path: Path, language: str, width: int
) -> None:
    sides = [*nights(9, at=5, fall=0.4, questions=20), night(9, records([1.0] * 20, first=10))]
    path = TrendResult(trend(sides), language).write_report(tmp_path / "trend.html")
    seen = opened(path.read_text(encoding="utf-8"), width=width, scheme="dark")
    page = seen.page
    mark = page.locator("svg.chart text", has_text="▼").first.bounding_box()
    assert mark["y"] + mark["height"] < 844
    assert page.locator("#verdict b").first.bounding_box()["y"] < mark["y"]
    for text in page.locator("svg.chart").first.locator("text").all():
        box = text.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.quiet(), (seen.console, seen.requests)
