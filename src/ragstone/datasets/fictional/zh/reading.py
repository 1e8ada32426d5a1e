"""Reads the Chinese texts of the fictional data from plain files: sentence patterns and inventories of words."""

import functools
from importlib import resources

__all__ = ["patterns", "words"]


def patterns(file: str) -> list[str]:
    """The lines of a file of patterns, without blank ones and remarks."""
    folder = resources.files("ragstone.datasets.fictional.zh").joinpath("patterns")
    lines = map(str.strip, folder.joinpath(f"{file}.txt").read_text("utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@functools.cache
def inventories() -> dict[str, tuple[str, ...]]:
    """All inventories by name: in the file, each is a line of its name and its words."""
    return {name: tuple(rest.split()) for name, _, rest in (line.partition(" ") for line in patterns("words"))}


def words(name: str) -> tuple[str, ...]:
    """The inventory of that name. KeyError where there is none."""
    return inventories()[name]
