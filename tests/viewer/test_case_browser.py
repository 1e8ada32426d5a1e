"""A comparison in a real Chromium: from a cell of the picture to both answers side by side, by mouse and keyboard."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.live import live

from ragstone.web.app import create_app
from ragstone.web.library import Library

pytestmark = pytest.mark.browser


@pytest.fixture
def page(chromium: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The run's page, with every problem of the console at the end."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    problems: list[str] = []
    with live(create_app(Library([folder]))) as address:
        context = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en")
        tab = context.new_page()
        tab.on("console", lambda message: problems.append(message.text))
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.goto(f"{address}/run?run=sub/a.run")
        yield tab
        context.close()
    assert problems == []


def test_a_click_on_a_cell_leads_to_its_cases_and_one_of_them_opens_side_by_side(page: Any) -> None:
    page.get_by_role("link", name="Compare the systems").click()
    cell = page.locator("table.flips td a").first
    cell.wait_for()
    count = int(cell.locator("b").inner_text().replace(",", ""))
    assert count > 0
    cell.click()
    page.wait_for_url(re.compile("cell="))
    rows = page.locator("li[data-row]")
    assert rows.count() == min(count, 25)
    question = rows.first.locator(".q").inner_text()
    rows.first.locator("a").click()
    page.wait_for_url(re.compile("/beside"))
    assert page.locator("section.side").count() == 2
    assert question in page.locator("article .q").inner_text()
    boxes = [side.bounding_box() for side in page.locator("section.side").all()]
    assert boxes[0]["y"] == boxes[1]["y"]


def test_the_keyboard_walks_from_case_to_case_and_back_to_the_list(page: Any) -> None:
    page.get_by_role("link", name="Wrong answers").click()
    page.locator("li[data-row]").first.wait_for()
    with page.expect_navigation():
        page.keyboard.press("j")
        page.keyboard.press("Enter")
    first = page.locator("article .who b").inner_text()
    here = page.url
    with page.expect_navigation():
        page.keyboard.press("n")
    assert page.url != here
    with page.expect_navigation():
        page.keyboard.press("p")
    assert page.url == here
    assert page.locator("article .who b").inner_text() == first
    with page.expect_navigation():
        page.keyboard.press("u")
    assert "/cases?" in page.url
    assert "status=wrong" in page.url


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_of_cases_and_comparisons_fit_the_screen(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    address = page.url.partition("/run?")[0]
    page.goto(f"{address}/cases?run=sub/a.run")
    case = page.locator("li[data-row] a").first.get_attribute("href")
    for path in (case, "/compare?run=sub/a.run", "/compare?run=sub/a.run&cell=both_wrong"):
        page.goto(address + path)
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
