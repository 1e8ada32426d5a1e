"""A capability is a folder: what it brings is found through the list of capabilities, and nobody below names one."""

import importlib
import re
from pathlib import Path

import pytest

import ragstone
from ragstone.capabilities import CAPABILITIES, commands_brought
from ragstone.cli.main import COMMANDS

SOURCE = Path(ragstone.__file__).parent
BELOW = (
    "analysis", "benchmarks", "commands", "datasets", "engine", "evaluation", "labels", "metrics", "models", "report",
    "responses", "retrieval", "runs", "stats", "storage", "systems", "text", "user_code", "web",
)  # fmt: skip


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_the_commands_of_a_capability_are_in_its_folder_and_listed(capability: str) -> None:
    commands = importlib.import_module(f"ragstone.{capability}").COMMANDS
    assert commands
    for name, (module, _) in commands.items():
        assert module.startswith(f"ragstone.{capability}.")
        assert COMMANDS[name] == commands[name]


def test_every_command_of_a_capability_is_brought() -> None:
    modules = {module for _, (module, _) in commands_brought()}
    listed = {module for module, _ in COMMANDS.values() if module.split(".")[1] in CAPABILITIES}
    assert modules == listed


@pytest.mark.parametrize("package", BELOW)
def test_no_package_below_names_a_capability(package: str) -> None:
    named = re.compile(rf"\bragstone\.(?:{'|'.join(CAPABILITIES)})\b")
    files = sorted((SOURCE / package).rglob("*.py"))
    assert files
    assert [str(file) for file in files if named.search(file.read_text("utf-8"))] == []
