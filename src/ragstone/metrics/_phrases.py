"""The phrases of `phrases.txt`, each section compiled when it is first asked for."""

import re
from functools import lru_cache
from importlib.resources import files

__all__ = ["phrases"]

_SECTION = re.compile(r"\[([a-z]+(?:\.[a-z]+)+)\]")
_PART = re.compile(r"([A-Z_]+) = (.+)")
_USE = re.compile(r"\{([A-Z_]+)\}")


@lru_cache(maxsize=64)
def phrases(section: str) -> re.Pattern[str]:
    """The regular expression that any phrase of this section matches, for a folded text. KeyError if there is none."""
    return re.compile("|".join(_sections()[section]))


@lru_cache(maxsize=1)
def _sections() -> dict[str, list[str]]:
    parts: dict[str, str] = {}
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in files("ragstone.metrics").joinpath("phrases.txt").read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        whole = _USE.sub(lambda use: parts[use[1]], line)
        if heading := _SECTION.fullmatch(line):
            lines = sections[heading[1]] = []
        elif part := _PART.fullmatch(line):
            parts[part[1]] = _PART.fullmatch(whole)[2]  # type: ignore[index]
        else:
            lines.append(whole)
    return sections
