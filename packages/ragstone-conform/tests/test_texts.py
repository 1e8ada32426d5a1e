"""Every text of the package is there in both languages: messages, help and errors."""

import ast
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest
from tests.cli.tools import Told

import ragstone_conform
from ragstone.error_text import untranslated
from ragstone.messages import _error_texts
from ragstone_conform.command import command
from ragstone_conform.libraries import LIBRARIES

SOURCE = Path(ragstone_conform.__file__).parent


def catalogue(name: str) -> dict[str, dict[str, str]]:
    return tomllib.loads((SOURCE / name).read_text("utf-8"))


def raised() -> Iterator[str]:
    """The messages of `UsageError(…)` in the code, with a word for each place."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "UsageError":
                (text,) = node.args
                parts = text.values if isinstance(text, ast.JoinedStr) else [text]
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant)
                    else "'Q7'" if isinstance(part, ast.FormattedValue) and part.conversion == ord("r") else "Q7"
                    for part in parts
                )  # fmt: skip


def test_messages_have_the_same_keys_in_both_languages() -> None:
    english, chinese = catalogue("messages_en.toml"), catalogue("messages_zh.toml")
    assert english.keys() == {"command", "tables"}
    assert {name: list(texts) for name, texts in english.items()} == {
        name: list(texts) for name, texts in chinese.items()
    }


def test_every_option_has_a_help_text_in_chinese() -> None:
    texts = catalogue("help_zh.toml")
    own = {parameter.opts[0] for parameter in command.params if isinstance(parameter, click.Option)}
    shared = {"--quiet", "--language", "--json"}
    assert texts.keys() == {"ragstone-conform", *(f"ragstone-conform {flag}" for flag in own - shared)}


def test_errors_are_chinese_through_the_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("conform", "ragstone_conform", "ragstone.texts")
    monkeypatch.setattr("ragstone.messages.entry_points", lambda group: (entry,) if group == entry.group else ())
    texts, problems = _error_texts.__wrapped__("zh")
    assert problems == {}
    sentences = texts["sentences"]
    assert texts["words"][LIBRARIES.kind] == "库"
    assert catalogue("errors_zh.toml")["sentences"].items() <= sentences.items()
    pairs = sorted(sentences.items(), key=lambda pair: -len(pair[0]))
    monkeypatch.setattr("ragstone.error_text._sentences", lambda language: pairs)
    messages = [*raised()]
    assert len(messages) > 6
    assert {message: untranslated(message, "zh") for message in messages if untranslated(message, "zh")} == {}


def test_help_is_chinese(conform: Callable[..., Told], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGSTONE_LANGUAGE", "zh")
    out = conform("--help").out
    assert "用法： ragstone-conform" in out
    assert "要检验的库：" in out
