"""Regular expressions in text files next to the code that uses them, one per line.

`[section]` starts a section; `NAME = …` defines a part that later lines insert as `{NAME}`; `#` starts a comment line.
"""

import re
from functools import lru_cache
from importlib.resources import files

_SECTION = re.compile(r"\[([a-z]+(?:\.[a-z]+)+)\]")
_PART = re.compile(r"([A-Z_]+) = (.+)")
_USE = re.compile(r"\{([A-Z_]+)\}")


@lru_cache(maxsize=8)
def pattern_lines(package: str, name: str) -> dict[str, tuple[str, ...]]:
    """Section → lines of the file `name` in `package`, with parts inserted. Raises KeyError for an undefined part."""
    parts: dict[str, str] = {}
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in files(package).joinpath(name).read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if heading := _SECTION.fullmatch(line):
            lines = sections[heading[1]] = []
            continue
        whole = _USE.sub(lambda use: parts[use[1]], line)
        if part := _PART.fullmatch(whole):
            parts[part[1]] = part[2]
        else:
            lines.append(whole)
    return {section: tuple(lines) for section, lines in sections.items()}
