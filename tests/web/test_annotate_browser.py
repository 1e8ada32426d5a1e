"""Labelling in a real Chromium: a whole round by keyboard alone, marks, and two experts at once."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report.labelled import secret_work, work
from tests.web.live import live
from tests.web.rounds import LABELLING, labels_file, standing

from ragstone.labels import Edit, Label, LabelStore, Marked
from ragstone.report.offline_form import offline_form
from ragstone.web.app import create_app
from ragstone.web.library import Library

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / ".venv" / "axe" / "axe.min.js"
Start = Callable[..., Any]


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return labels_file(tmp_path / "labels.sqlite")


@pytest.fixture
def tab(chromium: Any, labels: Path, tmp_path: Path) -> Iterator[Start]:
    """Opens pages of a running viewer, each in a browser of its own: tab(path, language="en", width=1280)."""
    problems: list[str] = []
    contexts: list[Any] = []
    with live(create_app(Library([tmp_path], labels))) as address:

        def start(path: str = "/annotate", *, language: str = "en", width: int = 1280) -> Any:
            context = chromium.new_context(viewport={"width": width, "height": 900}, locale=language)
            contexts.append(context)
            page = context.new_page()
            page.on("console", lambda message: problems.append(message.text))
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(address + path)
            return page

        yield start
        for context in contexts:
            context.close()
    assert [
        problem for problem in problems if "net::ERR_INTERNET_DISCONNECTED" not in problem
    ] == []  # a test went offline


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def moved(page: Any, key: str, url: str) -> None:
    """Presses a key that leads to another page."""
    with page.expect_navigation(url=url):
        page.keyboard.press(key)


@pytest.mark.parametrize(("language", "name", "end"), [
    ("en", "Ida", "Nothing else is left for you in this task."), ("zh", "小艾", "此任务中没有其他条目需要您标注了。"),
])  # fmt: skip
def test_a_round_by_keyboard_alone(tab: Start, labels: Path, language: str, name: str, end: str) -> None:
    page = tab(language=language)
    while page.evaluate("document.activeElement.name") != "expert":
        press(page, "Tab")
    page.keyboard.type(name)
    moved(page, "Enter", "**expert=*")
    moved(page, "j", "**/item?*")
    press(page, "2", "m", "ArrowRight", "m", "c")
    page.keyboard.type("No: “25”\n<b>")
    press(page, "Escape")
    moved(page, "j", "**done=1*")
    assert page.locator("[role=status]").inner_text() == end
    for keys in (("1",), ("4",), ("3",)):
        moved(page, "j", "**/item?*")
        press(page, *keys)
        moved(page, "j", "**done=1*")
    assert standing(labels) == {
        (name, "correct", "i-1"): "no", (name, "faithful", "i-1"): "yes", (name, "better", "i-2"): "cannot_tell",
        (name, "relevant", "i-3"): "cannot_tell",
    }  # fmt: skip
    with LabelStore.open(labels, write=False) as store:
        label = store.labels("correct")[0]
        assert ([span.text for span in label.spans], label.comment) == (["Twenty"], "No: “25”\n<b>")
        assert label.seconds is not None
        assert 0 < label.seconds < 60
        assert len(store.history("i-1")) == 4  # chosen, marked, commented; and the other task


def test_undo_takes_back_one_step_after_the_other(tab: Start, labels: Path) -> None:
    page = tab("/annotate/item?expert=Ida&task=correct&item=i-1")
    press(page, "1", "m", "ArrowRight", "m", "2")
    for value, marks in (("yes", ["Twenty"]), ("yes", []), ("", [])):
        moved(page, "u", "**undone=1*")
        assert page.evaluate("document.querySelector('form.item').elements.value.value") == value
        assert page.locator("mark").all_inner_texts() == marks
    assert standing(labels) == {}


def test_two_experts_at_once_do_not_meet(tab: Start, labels: Path) -> None:
    pages = {name: tab(f"/annotate?expert={name}") for name in ("Ida", "Bo")}
    for page in pages.values():
        moved(page, "j", "**/item?*")
    for name, key in (("Ida", "1"), ("Bo", "2")):
        press(pages[name], key)
    for name, page in pages.items():
        moved(page, "j", f"**expert={name}*")
    assert standing(labels) == {("Ida", "correct", "i-1"): "yes", ("Bo", "correct", "i-1"): "no"}


def test_what_cannot_be_kept_is_said_and_the_page_stays(tab: Start, labels: Path) -> None:
    page = tab("/annotate/item?expert=Ida&task=correct&item=i-1")
    page.context.set_offline(True)
    with page.expect_event("requestfailed"):
        press(page, "1")
    page.locator("#said", has_text="not saved").wait_for()
    page.context.set_offline(False)
    press(page, "2")
    page.locator("#said", has_text="Saved.").wait_for()
    assert standing(labels) == {("Ida", "correct", "i-1"): "no"}


def test_hostile_items_run_nothing_and_fit_a_phone(chromium: Any, tmp_path: Path) -> None:
    items = secret_work()
    labels = labels_file(tmp_path / "l.sqlite", items)
    context = chromium.new_context(viewport={"width": 390, "height": 844}, locale="en")
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with live(create_app(Library([tmp_path], labels))) as address:
        for item, task in items[::3]:
            page.goto(f"{address}/annotate/item?expert=Ida&task={task.name}&item={item.id}")
            press(page, "m", "ArrowRight", "m")
            assert page.evaluate("[window.owned, document.documentElement.scrollWidth <= 390]") == [None, True]
        assert [url for url in asked if not url.startswith(address) and not url.startswith("data:")] == []
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_axe_finds_nothing_serious(chromium: Any, tmp_path: Path, labels: Path, language: str, scheme: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not here: sh scripts/axe.sh .venv/axe")
    spans = (Marked(0, 6),)
    with LabelStore.open(labels) as store:
        store.put(Label("i-1", "correct", "Ida", "yes", spans, "as in § 2"))
        store.put(Label("i-1", "correct", "Bo", "no", spans))
        store.edit(Edit("q1", "Ida", "so", "How many days of paid leave?"))
    form = tmp_path / "form.html"
    form.write_text(offline_form(work(language), language=language), encoding="utf-8")
    context = chromium.new_context(locale=language, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    with live(create_app(Library([tmp_path], labels))) as address:
        for url in (*(f"{address}{path}" for path in LABELLING), form.as_uri()):
            page.goto(url)
            page.evaluate(AXE.read_text(encoding="utf-8"))
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
            assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == [], url
    context.close()
