"""`ragstone rubrics`: what a user sees when listing, copying, editing and checking criteria."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import ROOT, Told, one_line

from ragstone.metrics.rubric import READY, read_rubric, ready_rubric, rubric_text

Ragstone = Callable[..., Told]
EXAMPLES = ROOT / "examples" / "rubrics"


def test_the_list_names_each_ready_rubric_and_what_it_asks(ragstone: Ragstone) -> None:
    for language in ("en", "zh"):
        told = ragstone("rubrics", "list", "--language", language)
        assert told.code == 0
        heads = [line for line in told.out.splitlines() if not line.startswith(" ")]
        assert [line.split()[0] for line in heads] == list(READY)
        told_whole = "".join(told.out.split())
        for name, head in zip(READY, heads, strict=True):
            assert ready_rubric(name).title.to(language) in head
            assert "".join(ready_rubric(name).question.to(language).split()) in told_whole
        assert max(map(len, told.out.splitlines())) <= 120
        needs, lower = ("needs contexts", "lower is better") if language == "en" else ("需要 contexts", "越低越好")
        assert needs in told.out
        assert told.out.count(lower) == 2


def test_the_list_as_json_is_one_document(ragstone: Ragstone) -> None:
    listed = ragstone("rubrics", "list", "--json").document
    assert [one["name"] for one in listed] == list(READY)
    assert all(one["hash"] == ready_rubric(one["name"]).hash for one in listed)
    assert listed[0]["languages"] == ["en", "zh"]


def test_show_prints_the_file_as_it_is(ragstone: Ragstone) -> None:
    assert ragstone("rubrics", "show", "empathy").out == rubric_text("empathy")
    path = EXAMPLES / "expenses.toml"
    assert ragstone("rubrics", "show", path).out == path.read_text(encoding="utf-8")
    shown = ragstone("rubrics", "show", path, "--json").document
    assert [element["id"] for element in shown["elements"]] == ["link", "approval", "submit", "deadline"]


def test_a_copy_is_the_file_to_edit_and_is_never_overwritten_unasked(ragstone: Ragstone, tmp_path: Path) -> None:
    told = ragstone("rubrics", "copy", "empathy", "mine")
    assert (told.code, told.out.strip()) == (0, str(Path("mine") / "empathy.toml"))
    assert f"ragstone rubrics check {Path('mine') / 'empathy.toml'}" in told.err
    copied = tmp_path / "mine" / "empathy.toml"
    assert read_rubric(copied) == ready_rubric("empathy")
    copied.write_text("edited", encoding="utf-8")
    one_line(ragstone("rubrics", "copy", "empathy", "mine"), "empathy.toml", "already", "--force")
    assert copied.read_text(encoding="utf-8") == "edited"
    assert ragstone("rubrics", "copy", "empathy", "mine", "--force").code == 0
    assert read_rubric(copied) == ready_rubric("empathy")


def test_check_tells_what_a_good_file_is_made_of(ragstone: Ragstone) -> None:
    told = ragstone("rubrics", "check", EXAMPLES)
    assert told.code == 0
    assert "rubric.delayed_order" in told.out
    assert "5 elements, 1 if known; ordered; scale 1-5; en/zh" in told.out
    assert told.err == "2 files: 0 wrong.\n"
    assert ragstone("rubrics", "check", EXAMPLES / "expenses.toml").err == "1 file: 0 wrong.\n"


def test_check_gives_a_line_for_every_mistake(ragstone: Ragstone, tmp_path: Path) -> None:
    text = rubric_text("empathy")
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    (tmp_path / "b.toml").write_text(
        text.replace('"helps"]', '"help"]').replace("max = 5", "max = 7").replace("weight = 3", "wieght = 3")
    )
    (tmp_path / "c.toml").write_text(text, encoding="utf-8")
    told = ragstone("rubrics", "check", tmp_path)
    assert told.code == 2
    lines = [line.removeprefix(f"{tmp_path}/") for line in told.out.splitlines()]
    assert lines[0].startswith("a.toml: rubric.empathy")
    assert lines[1:] == [
        "b.toml: scale.wieght: there is no such key. Did you mean 'weight'?",
        "b.toml: scale.anchors: do not cover the scale: 7 has no text.",
        "b.toml: order: names 'help', but no element has this id. Did you mean 'helps'?",
        f"c.toml: name: 'empathy' is the name of {tmp_path}/a.toml already.",
    ]
    assert told.err == "3 files: 2 wrong.\n"
    listed = ragstone("rubrics", "check", tmp_path, "--json").document
    assert [len(one["mistakes"]) for one in listed] == [0, 3, 1]
    assert [one["rubric"] is None for one in listed] == [False, True, True]


WRONG = [
    (("show", "empathie"), ("Did you mean 'empathy'?", "ragstone rubrics list")),
    (("show", "none.toml"), ("none.toml", "cannot be read")),
    (("copy", "empty", "mine"), ("No rubric named 'empty'.",)),
    (("copy", "bias", "file"), ("file",)),
    (("check", "none"), ("none", "no such file or folder", "ragstone rubrics copy NAME DIR")),
    (("check", "folder"), ("holds no rubric",)),
    (("shw",), ("shw",)),
]


@pytest.mark.parametrize(("arguments", "told"), WRONG)
def test_what_is_wrong_is_one_line(
    arguments: tuple[str, ...], told: tuple[str, ...], ragstone: Ragstone, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    one_line(ragstone("rubrics", *arguments), *told)
