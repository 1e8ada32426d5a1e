"""The file that a colleague fills in: all of it by keyboard, without a server, and nothing lost on the way back."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import Open
from tests.report.labelled import ANSWER, SECRET, secret_work, work

from ragstone.errors import UsageError
from ragstone.labels import Label, Task
from ragstone.metrics.rubric import Text
from ragstone.report.offline_form import FORMAT, offline_form
from ragstone.structs import from_json, to_json


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def saved(page: Any, tmp_path: Path) -> dict[str, Any]:
    """What "Save answers" downloads."""
    with page.expect_download() as waiting:
        press(page, "s")
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def test_the_clock_of_an_item_counts_every_movement_and_stops_when_nobody_is_there(opened: Open) -> None:
    page = opened(offline_form(work(), expert="Ida")).page
    page.clock.install(time=0)
    page.reload()
    page.clock.pause_at(3_600_000)
    seconds = "Number(document.querySelector('form.item:not([hidden])').elements.seconds.value)"
    page.evaluate("dispatchEvent(new Event('pointermove'))")
    start = page.evaluate(seconds)
    for _ in range(100):  # of 20 ms each
        page.clock.run_for(20)
        page.evaluate("dispatchEvent(new Event('pointermove'))")
    assert page.evaluate(seconds) - start == pytest.approx(2.0, abs=0.05)
    page.clock.run_for(600_000)
    assert page.evaluate(seconds) - start == pytest.approx(62.0, abs=0.05)
    press(page, "j")
    assert page.evaluate(seconds) == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_round_by_keyboard_alone_comes_back_as_it_was_entered(opened: Open, tmp_path: Path, language: str) -> None:
    seen = opened(offline_form(work(language), language=language, expert="Ida", file="leave"))
    page = seen.page
    press(page, "2", "m", "ArrowRight", "m", "c")
    page.keyboard.type("Wrong year: <b>1</b>\n“否”")
    press(page, "Escape", "j", "1", "j", "3", "m", "m", "ArrowRight", "Shift+ArrowRight", "m", "j", "3")
    answers = saved(page, tmp_path)
    assert (answers["format"], answers["version"], answers["expert"]) == (FORMAT, 1, "Ida")
    labels = [from_json(to_json({**entry, "expert": "Ida"}), Label) for entry in answers["labels"]]
    assert [(label.item, label.task, label.value, label.comment) for label in labels] == [
        ("i-1", "correct", "no", "Wrong year: <b>1</b>\n“否”"),
        ("i-1", "faithful", "yes", ""),
        ("i-2", "better", "tie", ""),
        ("i-3", "relevant", "cannot_tell", ""),
    ]
    assert [span.text for span in labels[0].checked(work()[0][0]).spans] == ["Twenty"]
    assert [(span.answer, span.text) for span in labels[2].checked(work()[2][0]).spans] == [(1, "年假有")]
    assert all(label.seconds is not None and label.when > 1.7e9 for label in labels)
    assert seen.quiet()


def test_a_mark_is_counted_in_characters_of_the_text_as_it_was_written(opened: Open, tmp_path: Path) -> None:
    page = opened(offline_form(work()[:1], expert="Ida")).page
    for first, last in (("two", "two"), ("twenty", "five"), ("it", "says")):
        page.evaluate(
            """([first, last]) => {
                const text = document.querySelector(".subject"), range = document.createRange();
                const leaves = [], walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
                while (walker.nextNode()) leaves.push(walker.currentNode);
                const place = (word, end) => {
                    const leaf = leaves.find((leaf) => leaf.data.toLowerCase().includes(word));
                    return [leaf, leaf.data.toLowerCase().indexOf(word) + (end ? word.length : 0)];
                };
                range.setStart(...place(first, false));
                range.setEnd(...place(last, true));
                getSelection().removeAllRanges();
                getSelection().addRange(range);
            }""",
            [first, last],
        )
        press(page, "m")
    whole = "document.querySelector('.subject').textContent"
    assert page.evaluate(whole) == "Twenty-five days. ⟨U+202E⟩Two\n😀 days␀ more,⟨U+D800⟩ it says."
    assert page.locator(".subject mark").all_text_contents() == ["Twenty-five", "Two", "it says"]
    press(page, "1")
    (entry,) = saved(page, tmp_path)["labels"]
    assert [ANSWER[span["start"] : span["end"]] for span in entry["spans"]] == ["Twenty-five", "Two", "it says"]
    page.locator(".marks button").nth(1).click()
    page.locator(".subject").press("ArrowRight")  # the first word again: a mark inside a mark takes it away
    press(page, "m")
    assert page.locator(".subject mark").all_text_contents() == ["it says"]


def test_undo_goes_back_step_by_step_over_items_and_what_was_entered_survives_the_page(opened: Open) -> None:
    page = opened(offline_form(work(), expert="Ida")).page

    def state() -> list[Any]:
        chosen = "[...document.querySelectorAll('form.item')].map(form => form.elements.value.value)"
        where = "[...document.querySelectorAll('form.item')].findIndex(form => !form.hidden)"
        return [page.evaluate(chosen), page.evaluate(where), page.locator("#done").inner_text()]

    press(page, "1", "2", "j", "1", "j", "4")
    assert state() == [["no", "yes", "cannot_tell", ""], 2, "3 of 4 judged"]
    page.reload()
    assert state() == [["no", "yes", "cannot_tell", ""], 2, "3 of 4 judged"]
    assert page.locator("#said").inner_text() == "Continued where you stopped."
    press(page, "u", "u")
    assert state() == [["no", "", "", ""], 1, "1 of 4 judged"]
    press(page, "u")
    assert state() == [["yes", "", "", ""], 0, "1 of 4 judged"]
    press(page, "u", "u")
    assert state() == [["", "", "", ""], 0, "0 of 4 judged"]
    assert page.locator("#undo").is_disabled()
    press(page, "j", "1", "n")
    assert state() == [["", "yes", "", ""], 0, "1 of 4 judged"]


def test_nobody_saves_without_a_name_and_an_undecided_item_is_said(opened: Open, tmp_path: Path) -> None:
    page = opened(offline_form(work())).page
    press(page, "1", "j", "m", "ArrowRight", "m", "s")
    assert page.evaluate("document.activeElement.id") == "expert"
    assert "Enter your name first" in page.locator("#said").inner_text()
    page.keyboard.type("A/b:c s")
    press(page, "Escape")
    found = saved(page, tmp_path)
    assert (found["expert"], [entry["item"] for entry in found["labels"]]) == ("A/b:c s", ["i-1"])
    said = page.locator("#said").inner_text()
    assert "labels-A-b-c-s.json" in said
    assert "1 items have a mark or a comment but no judgement" in said


def test_a_scale_has_its_own_digits_as_keys(opened: Open) -> None:
    item, task = work()[0]
    choice = type(task.choices[0])
    steps = tuple(choice(str(step), str(step), float(step), Text("", "")) for step in range(4))
    scale = Task("rubric.tone", "answer", Text("How is the tone?"), Text("One.\nTwo."), (*steps, task.choices[-1]), ())
    page = opened(offline_form([(item, scale)])).page
    press(page, "0")
    assert page.evaluate("document.querySelector('form.item').elements.value.value") == "0"
    press(page, "4")
    assert page.evaluate("document.querySelector('form.item').elements.value.value") == "cannot_tell"
    assert page.locator(".references, .given").count() == 0
    assert page.locator(".guide p").all_inner_texts() == ["One.", "Two."]


@pytest.mark.parametrize("policy", [True, False])
def test_no_hostile_text_runs_or_fetches_anything(opened: Open, *, policy: bool) -> None:
    html = offline_form(secret_work(), expert="\"'><script>x</script>", title="</title><script>window.owned=1</script>")
    seen = opened(html, policy=policy)
    for _ in range(3):
        press(seen.page, "1", "m", "ArrowRight", "Shift+ArrowRight", "m", "j")
    assert seen.page.evaluate("window.owned") is None
    assert seen.quiet()
    assert seen.page.evaluate("document.querySelectorAll('script').length") == 2


def test_nothing_in_the_file_tells_the_system_the_judge_or_the_label_of_a_passage() -> None:
    html = offline_form(secret_work())
    assert len(re.findall('<form class="item"', html)) > 100
    assert SECRET not in html
    assert "31337" not in html


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_form_fits_a_phone(opened: Open, scheme: str) -> None:
    page = opened(offline_form(secret_work()[:40]), width=390, scheme=scheme).page
    for _ in range(40):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        press(page, "j")


def test_a_form_without_items_is_refused() -> None:
    with pytest.raises(UsageError, match="There is nothing to label"):
        offline_form([])
