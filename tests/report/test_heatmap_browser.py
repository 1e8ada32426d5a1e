"""The heat map in a real Chromium: figures by pointer, keyboard and switch; steps by arrow keys; no page too wide."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.benchmarks.niah.test_tables import SyntheticRun, record

from ragstone.benchmarks.niah.benchmark import NIAH
from ragstone.report import render

AXE = Path(__file__).parents[2] / ".venv" / "axe" / "axe.min.js"
LENGTHS, DEPTHS = range(1000, 36_000, 1000), range(0, 105, 3)


class TwoModels(SyntheticRun):
    """Two models on a grid of 35 × 35, and by a second template on a part of it."""

    def __init__(self, depths: range = DEPTHS) -> None:
        super().__init__(*(
            replace(record(length, float(depth), float(length * depth % wrong > 0), template=template), system_id=name)
            for name, wrong in (("m/one", 7), ("m/two", 3))
            for template, some in (("simple", depths[:5]), ("earlier", depths))
            for length in LENGTHS for depth in some
        ))  # fmt: skip
        self.meta, self.systems = {"benchmark": {"name": "niah"}}, {"m/one": {}, "m/two": {}}

    def records(self, *, system: str | None = None, cases: Any = None, texts: bool = True) -> Iterator[Any]:
        return (one for one in self._records if system in (None, one.system_id))


@pytest.fixture(scope="module")
def page(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("map") / "map.html"
    path.write_text(render(TwoModels(), NIAH(), cases_shown=0), "utf-8")
    page = chromium.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page.goto(path.as_uri())
    yield page
    page.close()


def shown(page: Any) -> int:
    """How many cells of the first map show their number."""
    return int(page.evaluate(
        "[...document.querySelector('.heat').querySelectorAll('b')]"
        ".filter(b => getComputedStyle(b).fontSize !== '0px').length"
    ))  # fmt: skip


def test_figures_by_pointer_by_keyboard_and_by_switch(page: Any) -> None:
    assert shown(page) == 0
    cell = page.locator(".heat td[data-at]").nth(3)
    cell.hover()
    assert page.evaluate("getComputedStyle(document.querySelectorAll('.heat td[data-at]')[3], '::after').content") == (
        '"4k · 0%: 0%"'
    )
    page.locator(".heat input").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "3%"
    assert shown(page) == 35
    page.locator(".tools .all").first.focus()
    page.keyboard.press("Space")
    assert shown(page) == 35 * 35
    page.keyboard.press("Space")


def test_steps_by_arrow_keys_and_the_figure_enlarged(page: Any) -> None:
    assert page.locator(".maps:visible h4").all_inner_texts() == ["m/one", "m/two", "Second minus first, in points"]
    first = page.locator(".maps:visible table").first.get_attribute("aria-label")
    page.locator(".deck > .step").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".maps:visible").count() == 1
    assert page.locator(".maps:visible table").first.get_attribute("aria-label") != first
    page.locator(".tools .large").first.focus()
    page.keyboard.press("Space")
    assert page.locator(".k-heatmap").first.bounding_box()["width"] >= 1260
    page.keyboard.press("Space")


def test_no_label_of_an_axis_is_cut_off(page: Any) -> None:
    outside = """[...document.querySelectorAll('.maps .axis span')].filter(label => {
      const inner = label.getBoundingClientRect(), outer = label.closest('.scroll').getBoundingClientRect();
      return inner.width && (inner.top < outer.top || inner.right > outer.right + 0.5);
    }).map(label => label.textContent)"""
    assert page.locator(".maps:visible .axis span").count() > 6
    assert page.evaluate(outside) == []


def test_a_phone_scrolls_the_figure_and_not_the_page(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("label[for$='-n']").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    map_box = page.locator(".maps:visible .scroll").first
    assert map_box.evaluate("box => box.scrollWidth > box.clientWidth")
    page.locator("label[for$='-n']").first.click()
    page.set_viewport_size({"width": 1280, "height": 800})


def test_axe_finds_nothing_in_a_map_with_its_numbers(chromium: Any, tmp_path: Path) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not here: sh scripts/axe.sh .venv/axe")
    path = tmp_path / "small.html"
    path.write_text(render(TwoModels(DEPTHS[:2]), NIAH(), cases_shown=0), "utf-8")
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    page.goto(path.as_uri())
    page.locator("label[for$='-n']").first.click()
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run('.k-heatmap', {resultTypes: ['violations']})")
    page.close()
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
