"""`ragstone doctor`: what is there, what is only optional, and what to do next."""

import importlib.util
import shlex
import tomllib
from collections.abc import Callable
from importlib.machinery import ModuleSpec

import pytest
from tests.cli.tools import ROOT, Told
from tests.test_docs import parse

from ragstone.cli.doctor import EXTRAS
from ragstone.models import PROVIDERS, Provider

Ragstone = Callable[..., Told]


def next_steps(told: Told) -> list[str]:
    """The commands at the end: the lines with two spaces; what each does has more."""
    lines = told.out.partition("\nNext\n")[2].splitlines()
    return [line.strip() for line in lines if not line.startswith("   ")]


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """As if these modules were not installed."""
    find = importlib.util.find_spec

    def found(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in modules else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", found)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_extra_is_listed(ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = {*document["project"]["optional-dependencies"]} - {"dev"}
    assert {*EXTRAS} == extras
    monkeypatch.setenv("RAGSTONE_LANGUAGE", language)
    without(monkeypatch, *(module for modules in EXTRAS.values() for module in modules))
    out = ragstone("doctor").out
    for extra in extras - {"local"}:
        assert f"pip install 'ragstone[{extra}]'" in out
    assert "ragstone setup local" in out


def test_keys_are_told_and_never_shown(ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-doctor")
    told = ragstone("doctor")
    assert "yes  openai/… (key in OPENAI_API_KEY)" in told.out
    assert "no   deepseek/…" in told.out
    assert "sk-secret" not in told.out + told.err


def test_an_optional_key_is_not_called_missing(ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch) -> None:
    optional = {name for name, source in PROVIDERS if isinstance(source, Provider) and source.key_optional}
    assert {"ollama", "vllm", "compat"} <= optional
    for name in optional:
        monkeypatch.delenv(f"{name.upper()}_API_KEY", raising=False)
    lines = {line.split()[1]: line for line in ragstone("doctor").out.splitlines() if "(key in " in line}
    for name in optional:
        assert lines[f"{name}/…"].split()[0] != "no"
        assert "works without one" in lines[f"{name}/…"]
    assert lines["openai/…"].split()[0] == "no"
    assert "works without" not in lines["openai/…"]


def test_it_ends_with_commands_that_can_be_run_next(ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = next_steps(ragstone("doctor"))
    assert steps[0].startswith("ragstone bench rgb --model local/extractive")
    assert steps[1].startswith("ragstone report first.run")
    assert steps[-1].startswith("export OPENAI_API_KEY=")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-1")
    assert "--model deepseek/deepseek-chat" in next_steps(ragstone("doctor"))[-1]
    without(monkeypatch, "matplotlib", "xllamacpp")
    steps = next_steps(ragstone("doctor"))
    assert "pip install 'ragstone[report]'" in steps
    assert "ragstone setup local" in steps
    for step in steps:
        if step.startswith("ragstone "):
            parse(shlex.split(step)[1:])


def test_a_cache_folder_that_cannot_be_written_is_told_with_the_remedy(
    ragstone: Ragstone, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "cannot be written" not in ragstone("doctor").out
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    told = ragstone("doctor")
    assert told.code == 0
    assert "it cannot be written (Not a directory). Set XDG_CACHE_HOME" in told.out
