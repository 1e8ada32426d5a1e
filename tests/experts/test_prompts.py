"""`ragstone prompts`: what a user sees when showing, copying, editing and checking what a judge is told."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.tools import Told, one_line

from ragstone.metrics.judge.prompts import LANGUAGES, NAMES, Prompts, prompt_text

Ragstone = Callable[..., Told]
OURS = Prompts.load()


def test_show_lists_every_prompt_with_its_hash_and_cost(ragstone: Ragstone) -> None:
    told = ragstone("prompts", "show")
    assert told.code == 0
    lines = told.out.splitlines()
    assert [line.split()[0] for line in lines] == [f"{name}/{language}" for name in NAMES for language in LANGUAGES]
    for line, key in zip(lines, (line.split()[0] for line in lines), strict=True):
        prompt = OURS.get(*key.split("/"))
        assert prompt.hash[:12] in line
        assert f"{prompt.tokens:,} tokens" in line


def test_show_of_one_prints_the_file_as_it_is(ragstone: Ragstone) -> None:
    told = ragstone("prompts", "show", "verify", "--language", "zh")
    assert (told.code, told.out) == (0, prompt_text("verify", "zh"))
    both = ragstone("prompts", "show", "verify").out
    assert both == prompt_text("verify", "en") + "\n" + prompt_text("verify", "zh")


def test_show_as_json_is_one_document(ragstone: Ragstone) -> None:
    (shown,) = ragstone("prompts", "show", "decompose", "--language", "en", "--json").document
    prompt = OURS.get("decompose", "en")
    assert shown["instruction"] == prompt.instruction
    assert shown["hash"] == prompt.hash
    assert shown["tokens"] == prompt.tokens
    assert len(shown["examples"]) == len(prompt.examples)
    assert len(ragstone("prompts", "show", "--json").document) == len(NAMES) * len(LANGUAGES)


def test_a_copy_is_the_file_to_edit_and_says_what_ours_says(ragstone: Ragstone, tmp_path: Path) -> None:
    told = ragstone("prompts", "copy", "mine")
    assert told.code == 0
    assert len(told.out.splitlines()) == len(NAMES) * len(LANGUAGES)
    assert "ragstone prompts check mine" in told.err
    assert (tmp_path / "mine" / "zh" / "verify.toml").read_text(encoding="utf-8") == prompt_text("verify", "zh")
    assert Prompts.load(Path("mine")) == OURS
    checked = ragstone("prompts", "check", "mine")
    assert checked.code == 0
    assert all("as in ragstone" in line for line in checked.out.splitlines())
    assert f"{len(NAMES) * len(LANGUAGES)} files: 0 changed, 0 wrong." in checked.err


def test_a_copy_of_some_has_only_these(ragstone: Ragstone, tmp_path: Path) -> None:
    told = ragstone("prompts", "copy", "mine", "--name", "verify", "--name", "rubric", "--language", "en")
    assert told.code == 0
    found = sorted(path.relative_to(tmp_path / "mine").as_posix() for path in (tmp_path / "mine").rglob("*.toml"))
    assert found == ["en/rubric.toml", "en/verify.toml"]


def test_a_copy_never_overwrites_what_was_edited(ragstone: Ragstone, tmp_path: Path) -> None:
    ragstone("prompts", "copy", "mine", "--name", "verify", "--language", "en")
    edited = tmp_path / "mine" / "en" / "verify.toml"
    edited.write_text('instruction = "Mine."', encoding="utf-8")
    one_line(ragstone("prompts", "copy", "mine"), "verify.toml", "already", "--force")
    assert edited.read_text(encoding="utf-8") == 'instruction = "Mine."'
    assert not (tmp_path / "mine" / "en" / "decompose.toml").exists()
    assert ragstone("prompts", "copy", "mine", "--force").code == 0
    assert edited.read_text(encoding="utf-8") == prompt_text("verify", "en")


def test_check_says_which_prompts_are_changed_in_what_and_at_which_cost(ragstone: Ragstone, tmp_path: Path) -> None:
    ragstone("prompts", "copy", "mine", "--name", "verify")
    english, chinese = (tmp_path / "mine" / language / "verify.toml" for language in LANGUAGES)
    english.write_text('instruction = "Mine."\nexamples = []', encoding="utf-8")
    chinese.write_text("examples = []", encoding="utf-8")
    told = ragstone("prompts", "check", "mine")
    assert told.code == 0
    first, second = told.out.splitlines()
    assert first.endswith("changed: instruction, examples")
    assert f"{OURS.get('verify', 'en').tokens:,} -> 2 tokens" in first
    assert second.endswith("changed: examples")
    listed = ragstone("prompts", "check", "mine", "--json").document
    assert [item["changed"] for item in listed] == [["instruction", "examples"], ["examples"]]


def test_check_names_every_file_that_is_wrong(ragstone: Ragstone, tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "en"
    folder.mkdir(parents=True)
    (folder / "verify.toml").write_text('again = "Once more."', encoding="utf-8")
    (folder / "rubric.toml").write_text("[", encoding="utf-8")
    (folder / "decompose.toml").write_text('instruction = "Mine."', encoding="utf-8")
    told = ragstone("prompts", "check", "mine")
    assert told.code == 2
    fine, *wrong = told.out.splitlines()
    assert fine.startswith("decompose/en")
    assert "rubric.toml" in wrong[0]
    assert "verify.toml" in wrong[1]
    assert "{problem}" in wrong[1]
    assert "3 files: 1 changed, 2 wrong." in told.err


WRONG = [
    (("show", "verfy"), ("Did you mean 'verify'?",)),
    (("show", "--language", "fr"), ("'fr'", "en, zh")),
    (("copy", "mine", "--name", "x"), ("ragstone prompts show",)),
    (("copy", "mine", "--language", "cn"), ("'cn'",)),
    (("copy", "file"), ("file",)),
    (("check", "none"), ("none", "ragstone prompts copy DIR")),
    (("check", "empty"), ("holds no prompt",)),
    (("shw",), ("shw",)),
]


@pytest.mark.parametrize(("arguments", "told"), WRONG)
def test_what_is_wrong_is_one_line(
    arguments: tuple[str, ...], told: tuple[str, ...], ragstone: Ragstone, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    one_line(ragstone("prompts", *arguments), *told)


def test_what_show_prints_is_a_file_that_can_be_used(ragstone: Ragstone, tmp_path: Path) -> None:
    (tmp_path / "zh").mkdir()
    shown = ragstone("prompts", "show", "rubric", "--language", "zh").out
    (tmp_path / "zh" / "rubric.toml").write_text(shown, encoding="utf-8")
    assert tomllib.loads(shown)["version"] == 1
    assert Prompts.load(tmp_path) == OURS
