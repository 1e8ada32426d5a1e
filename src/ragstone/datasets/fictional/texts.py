"""Reads the text files of a language: TOML, and sections of lines."""

import tomllib
from importlib.resources import files
from typing import Any


def read_text(code: str, name: str) -> str:
    """A file of a language's folder."""
    return (files("ragstone.datasets.fictional") / code / name).read_text(encoding="utf-8")


def read_toml(code: str, name: str) -> dict[str, Any]:
    """A TOML file of a language's folder."""
    return tomllib.loads(read_text(code, f"{name}.toml"))


def read_sections(code: str, name: str) -> dict[str, list[str]]:
    """The lines under each `== section`, those before the first under "". Blank ones and remarks (`#`) are left out."""
    sections: dict[str, list[str]] = {}
    section = ""
    for line in map(str.strip, read_text(code, f"{name}.txt").splitlines()):
        if line.startswith("== "):
            section = line.removeprefix("== ")
            sections.setdefault(section, [])
        elif line and not line.startswith("#"):
            sections.setdefault(section, []).append(line)
    return sections
