"""A form for a colleague: written by the command, filled in without a server, mailed back and read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.tools import Told

from ragstone.labels import LabelStore

SECRET = "Zyx0Secret"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Answers of a system whose name nobody may see."""
    rows = [
        {"id": f"q{n}", "question": f"What is number {n}?", "answer": f"It is {n}.", "reference": str(n),
         "model": SECRET, "contexts": [{"id": f"{SECRET}-{n}", "text": f"Number {n} is {n}."}]}
        for n in range(3)
    ]  # fmt: skip
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_form_that_was_mailed_back_is_what_was_entered(
    chromium: Any, ragstone: Callable[..., Told], data: Path, tmp_path: Path, language: str
) -> None:
    labels, form, answers = (tmp_path / name for name in ("labels.sqlite", "form.html", "answers.json"))
    round_ = ("annotate", "--labels", labels, "--task", "faithful")
    made = ragstone(*round_, data, "--export", form, "--as", "Ida", "--language", language)
    assert made.code == 0, made.err
    assert SECRET not in form.read_text(encoding="utf-8")
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto(form.as_uri())
    for key in ("1", "j", "2", "m", "ArrowRight", "m", "c"):
        page.keyboard.press(key)
    page.keyboard.type("why “不”")
    for key in ("Escape", "j", "3"):
        page.keyboard.press(key)
    with page.expect_download() as waiting:
        page.keyboard.press("s")
    assert waiting.value.suggested_filename == "labels-Ida.json"
    waiting.value.save_as(answers)
    context.close()
    for added in ("3 labels added", "0 labels added"):  # the second time nothing is new
        read = ragstone(*round_, "--import", answers, "--language", "en")
        assert (read.code, added in read.out) == (0, True), read.out + read.err
    with LabelStore.open(labels, write=False) as store:
        found = [(one.expert, one.value, one.comment, [span.text for span in one.spans]) for one in store.labels()]
        assert all((one.seconds or 0) > 0 and one.source == "answers.json" for one in store.labels())
    assert found == [("Ida", "yes", "", []), ("Ida", "no", "why “不”", ["It"]), ("Ida", "cannot_tell", "", [])]
    again = ragstone(*round_, "--export", form, "--force", "--as", "Ida")
    assert (again.code, "There is nothing to label" in again.err) == (2, True), again.err
