"""Help in Chinese: of every command and option, and in lines that fit."""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from tests.cli.test_language import chinese
from tests.cli.tools import Told, commands, process

import ragstone as package
from ragstone.cli.main import app
from ragstone.commands.translation import translated

Ragstone = Callable[..., Told]
SOURCE = Path(package.__file__).parent
CATALOGUES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("help_zh.toml"))


def texts() -> Iterator[tuple[str, str]]:
    """Each help text by its place, in the language of the environment."""
    for name, command in commands(translated(app, "")):
        yield name, command.help or ""
        if command.epilog:
            yield f"{name} epilog", command.epilog
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                yield f"{name} {parameter.opts[0]}", parameter.help or ""


def test_every_command_and_option_has_help_in_both_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    english = dict(texts())
    assert [place for place, text in english.items() if not text or chinese(text)] == []
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    translations = dict(texts())
    assert list(translations) == list(english)
    assert [place for place, text in translations.items() if not chinese(text)] == []


def test_lists_of_commands_are_chinese_too(ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    for name, command in commands(translated(app, "")):
        if isinstance(command, click.Group):
            told = ragstone(*name.split(), "--help")
            listed = told.out.partition("命令：")[2].strip()
            assert listed
            terms = re.split(r"^  (?=\S)", listed, flags=re.MULTILINE)
            assert [term for term in terms if not chinese(term)] == [], name


@pytest.mark.parametrize("catalogue", [name for name in CATALOGUES if not name.startswith("metrics/")])
def test_no_help_is_of_an_option_that_there_is_not(catalogue: str) -> None:
    keys = tomllib.loads((SOURCE / catalogue).read_text(encoding="utf-8")).keys()
    there = {"epilog", "cases NAME", "summary", "score summary"}
    for name, command in commands(app):
        flags = [parameter.opts[0] for parameter in command.params if isinstance(parameter, click.Option)]
        group = name.split(" ")[0]
        there |= {name, group, *flags, *(f"{name} {flag}" for flag in flags), *(f"{group} {flag}" for flag in flags)}
    assert keys - there == set()


def columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line)


def test_lines_fit_the_terminal_and_break_where_chinese_may(
    ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line for name in ("rgb", "mirage", "niah") for line in ragstone("bench", name, "-h").out.splitlines()]
    assert max(map(columns, lines)) <= 80
    assert [line for line in lines if line.strip()[:1] in tuple("，。；：、）") or line[-1:] in tuple("（[")] == []
    assert "  --fictional-seed INTEGER" in "\n".join(lines)
    assert "[默认：0]" in "\n".join(lines)


def test_the_locale_is_enough_and_english_comes_back(tmp_path: Path) -> None:
    assert "用法" in process("show", "--help", folder=tmp_path, RAGSTONE_LANGUAGE="", LC_ALL="zh_CN.UTF-8").out
    assert "Usage" in process("show", "--help", folder=tmp_path).out


def test_a_language_that_there_is_not_is_one_line(ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "fr")
    told = ragstone("--help")
    assert (told.code, told.out) == (2, "")
    assert "No language named 'fr'" in told.err
