"""The phrase book: both languages say everything, with the same places, and no other language is taken for either."""

import re
import tomllib
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import ragstone
from ragstone import messages as catalogue
from ragstone.errors import UnknownName, UsageError
from ragstone.messages import LANGUAGES, checked_language, error_texts, messages, preferred_language

SOURCE = Path(ragstone.__file__).parent
FOLDERS = sorted({path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("messages_*.toml")})


def flat(texts: dict[str, Any], table: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, text in texts.items():
        found |= {f"{table}{key}": text} if isinstance(text, str) else flat(text, f"{table}{key}.")
    return found


def read(folder: str, language: str) -> dict[str, str]:
    return flat(tomllib.loads((SOURCE / folder / f"messages_{language}.toml").read_text(encoding="utf-8")))


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_there_are_texts_of_tables_pages_and_commands() -> None:
    assert {"benchmarks", "cli", "commands", "report", "report/sections"} <= set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_language_says_everything_with_the_same_places(folder: str) -> None:
    english, chinese = (read(folder, language) for language in LANGUAGES)
    assert list(english) == list(chinese)
    assert [key for key in english if places(english[key]) != places(chinese[key])] == []
    assert [key for key in english if not (english[key] and chinese[key])] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_table_of_texts_is_that_of_a_module_which_is_there(folder: str) -> None:
    texts = tomllib.loads((SOURCE / folder / "messages_en.toml").read_text(encoding="utf-8"))
    tables = [name for name, value in texts.items() if isinstance(value, dict)]
    there = [name for name in tables if (SOURCE / folder / f"{name}.py").exists() or (SOURCE / folder / name).is_dir()]
    assert tables == there


def test_a_module_has_its_own_texts_those_of_its_folder_and_those_of_the_folders_above() -> None:
    zh = messages("ragstone.benchmarks.rgb.tables", "zh")
    assert zh["system"] == read("benchmarks", "zh")["system"]
    assert zh["title_summary"] == read("benchmarks/rgb", "zh")["title_summary"]
    sections = read("report/sections", "en")
    assert messages("ragstone.report.sections.failures", "en")["cause"] == sections["failures.cause"]
    assert "intro" not in messages("ragstone.report.sections.reproduce", "en")
    assert messages("ragstone.report.sections.reproduce", "en")["contents"] == read("report", "en")["contents"]


@pytest.mark.parametrize(
    "module",
    ["ragstone.benchmarks.recorded.tables", "ragstone.benchmarks.niah.tables", "ragstone.report.text", "ragstone.x"],
)
def test_another_language_is_refused_wherever_it_is_asked_for(module: str) -> None:
    with pytest.raises(UnknownName, match=r"No language named 'zhh'. Did you mean 'zh'\?"):
        messages(module, "zhh")
    with pytest.raises(UsageError, match="There are: en, zh"):
        checked_language("fr")


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"), ({"LANG": "zh_CN.UTF-8"}, "zh"), ({"LANG": "de_DE"}, "en"),
        ({"LC_ALL": "C", "LANG": "zh_CN"}, "en"),
        ({"LANGUAGE": "zh:en", "LANG": "en_GB"}, "zh"), ({"LC_MESSAGES": "zh_TW"}, "zh"),
        ({"RAGSTONE_LANGUAGE": "zh", "LANG": "en_GB"}, "zh"), ({"RAGSTONE_LANGUAGE": "zh-CN"}, "zh"),
        ({"RAGSTONE_LANGUAGE": "EN", "LC_ALL": "zh_CN"}, "en"),
    ],
)  # fmt: skip
def test_the_environment_chooses_the_language(environ: dict[str, str], language: str) -> None:
    assert preferred_language(environ) == language


def test_a_language_of_ragstone_that_there_is_not_is_no_english() -> None:
    with pytest.raises(UnknownName, match="No language named 'fr'"):
        preferred_language({"RAGSTONE_LANGUAGE": "fr"})


def test_english_texts_say_right_passage_for_what_the_code_calls_gold() -> None:
    for path in SOURCE.rglob("messages_en.toml"):
        found = re.findall(r'(?i)^\w+ = ".*\bgold\b.*$', path.read_text("utf-8"), re.MULTILINE)
        assert found == [], path


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[sentences\n", "errors_zh.toml"),
        (b"\xff\xfe\x00", "errors_zh.toml"),
        (b'sentences = "x"\n', "errors_zh.toml"),
    ],
)
def test_texts_of_another_package_that_cannot_be_read_cost_only_themselves(
    content: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "__init__.py").write_text("raise SystemExit(7)\n")
    (tmp_path / "theirs" / "errors_zh.toml").write_bytes(content)
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ragstone.texts]\ntheirs = theirs\n")
    before = error_texts("zh")
    monkeypatch.syspath_prepend(tmp_path)
    catalogue._error_texts.cache_clear()
    try:
        assert error_texts("zh") == before
        assert error_texts("zh") == before
    finally:
        catalogue._error_texts.cache_clear()
        catalogue._TOLD.discard("theirs")
    (warned,) = [record.getMessage() for record in caplog.records]
    assert "The texts of theirs cannot be read" in warned
    assert reason in warned
