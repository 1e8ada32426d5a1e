"""The viewer in a real Chromium: by keyboard alone, without a word in the console, and checked by axe."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.live import live

from ragstone.web.app import create_app
from ragstone.web.library import Library

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / ".venv" / "axe" / "axe.min.js"
RUN = "run=sub%2Fa.run"
CASE = "system=local%2Fextractive&id=counterfactual%2Fen_fact%2F0%2F0000"
PAGES = (
    "/", f"/run?{RUN}", f"/cases?{RUN}&status=wrong", "/run?run=none", f"/case?{RUN}&{CASE}", f"/compare?{RUN}&{RUN}",
    f"/compare?{RUN}", f"/compare?{RUN}&cell=both_wrong", f"/beside?{RUN}&{CASE}&{RUN}&{CASE}", f"/trend?{RUN}",
)  # fmt: skip
Tab = Callable[..., Any]


@pytest.fixture
def viewer(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a viewer of the folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with live(create_app(Library([folder]))) as address:
        yield address


@pytest.fixture
def tab(chromium: Any, viewer: str) -> Iterator[Tab]:
    """Opens a page: tab("/", language="en", scheme="light", width=1280). Whatever the console says is a failure."""
    said: list[str] = []
    contexts: list[Any] = []

    def start(path: str, *, language: str = "en", scheme: str = "light", width: int = 1280) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, locale=language, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(viewer + path)
        return page

    yield start
    for context in contexts:
        context.close()
    assert [line for line in said if "the server responded with a status of 40" not in line] == []


def focused(page: Any) -> str:
    """The address that the focus is on."""
    return str(page.evaluate("document.activeElement.getAttribute('href') || ''"))


def test_a_case_is_found_by_keyboard_alone(tab: Tab) -> None:
    page = tab("/")
    page.keyboard.press("j")
    assert focused(page) == f"/run?{RUN}"
    with page.expect_navigation(url=f"**/run?{RUN}"):
        page.keyboard.press("Enter")
    page.keyboard.press("c")
    page.wait_for_url(f"**/cases?{RUN}")
    for key in "jjjk":
        page.keyboard.press(key)
    rows = page.locator("[data-row] a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert focused(page) == rows[1]
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("report says?jk")
    assert page.input_value("#q") == "report says?jk"
    for _ in "?jk":
        page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=report+says*")
    page.wait_for_selector("[data-row] a[href*='q=report']")
    page.keyboard.press("j")
    first = page.locator("[data-row] a").first.get_attribute("href")
    assert focused(page) == first
    assert "q=report+says" in first


def test_keys_are_shown_and_hidden_and_leave_fields_alone(tab: Tab) -> None:
    page = tab(f"/cases?{RUN}")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    assert page.get_attribute("#keys-button", "aria-expanded") == "true"
    page.keyboard.press("?")
    assert not page.locator("#keys").is_visible()
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement === document.body")


def test_chips_change_the_list_the_address_and_come_back(tab: Tab) -> None:
    page = tab(f"/cases?{RUN}")
    page.evaluate("window.same = true")  # a page that is loaded anew does not have it
    before = page.locator("[data-row]").count()
    page.locator(".facet a", has_text="wrong").first.press("Enter")
    page.wait_for_url("**status=wrong")
    page.wait_for_selector(".filter .on")
    wrong = page.locator("[data-row]").count()
    assert 0 < wrong < before
    assert page.evaluate("window.same") is True
    page.go_back()
    page.wait_for_selector(f"[data-row] >> nth={before - 1}")
    page.keyboard.press("u")
    page.wait_for_url(f"**/run?{RUN}")


def test_pages_of_cases_turn_by_keys(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.viewer.pages.cases._SIZE", 5)
    page = tab(f"/cases?{RUN}")
    page.keyboard.press("n")
    page.wait_for_url("**page=2")
    page.wait_for_selector("ol.cases[start='6']")
    page.keyboard.press("p")
    page.wait_for_selector("ol.cases[start='1']")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_wider_than_the_window(tab: Tab, path: str, width: int) -> None:
    assert tab(path, width=width).evaluate("document.documentElement.scrollWidth") <= width


def test_rows_fill_in_by_themselves(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.viewer.pages.runs._BUDGET_SECONDS", 0.0)
    page = tab("/")
    page.wait_for_selector(".sys b")
    assert "extractive" in page.inner_text("table.rows")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(tab: Tab, language: str, scheme: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not here: sh scripts/axe.sh .venv/axe")
    for path in PAGES:
        page = tab(path, language=language, scheme=scheme)
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        page.keyboard.press("?")
        page.evaluate(AXE.read_text("utf-8"))
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [
            (path, each["id"], [node["html"][:160] for node in each["nodes"][:4]])
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        assert serious == []


def test_a_viewer_can_be_read_without_scripts(chromium: Any, viewer: str) -> None:
    context = chromium.new_context(java_script_enabled=False, locale="en")
    page = context.new_page()
    page.goto(f"{viewer}/cases?{RUN}")
    page.fill("#q", "report says")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=report+says*")
    assert page.locator("[data-row]").count() > 0
    context.close()
