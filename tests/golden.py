"""Whole renderings kept in files, number by number: `golden("report/small", document)`.

What is compared are figures and structure. Words are the business of those who write them: each run of words is one
"w", so that a sentence may be worded anew, and a number, a count, an order or a mark may not change unseen. After a
wanted change, `GOLDEN=write pytest …` writes the files anew; read their difference before it is committed.
"""

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec

from ragstone.display import Cell, Table

__all__ = ["figures", "golden", "markup", "structure"]

FOLDER = Path(__file__).parent / "goldens"
_WORDS = re.compile(r"[^\W\d_]+(?:[^\w\d%/]*[^\W\d_]+)*")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")
_NAMES = {"id", "kind", "cause", "group"}
_VOID = {"meta", "link", "br", "hr", "img", "input", "path", "use", "rect", "circle", "line", "wbr"}


def golden(name: str, found: str) -> None:
    """Asserts that this is what the file of the name holds."""
    path = FOLDER / f"{name}.txt"
    found = found.rstrip("\n") + "\n"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found, encoding="utf-8")
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    if kept != found:
        lines = difflib.unified_diff(kept.splitlines(), found.splitlines(), str(path), "now", lineterm="", n=1)
        shown = "\n".join(list(lines)[:80])
        raise AssertionError(f"{shown}\nIf this is what you want: GOLDEN=write pytest …, and read the difference.")


def figures(text: str) -> str:
    """The text with each run of words as "w": its numbers, signs and lines stay."""
    return _DECIMALS.sub(_rounded, _WORDS.sub("w", text))


def _rounded(match: "re.Match[str]") -> str:
    """Six digits: the last ones of a floating-point number differ between machines."""
    return f"{float(match[0]):.6g}"


def structure(value: Any) -> str:
    """A table, with a line a row, or a chart, a finding…: what it holds, empty fields left out, texts as `figures`."""
    if isinstance(value, Table):
        head = f"{value.id}: {len(value.columns)} columns, {value.keys} keys, {figures(value.title)}"
        rows = [("† " if row.published else "") + " | ".join(map(_cell, row.cells)) for row in value.rows]
        return "\n".join([head, *rows, *map(figures, value.notes)])
    return _plain("", msgspec.to_builtins(value))


def _cell(cell: Cell) -> str:
    held = msgspec.to_builtins(cell)
    return " ".join(f"{name}={_plain('', one)}" for name, one in held.items() if one not in (None, ""))


def _plain(key: str, value: Any) -> str:
    if isinstance(value, Mapping):
        held = {name: one for name, one in value.items() if one not in (None, "", [], (), {}, False)}
        return "(" + " ".join(f"{name}={_plain(name, one)}" for name, one in held.items()) + ")"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "\n  ".join(["", *(_plain("", one) for one in value)])
    if isinstance(value, float):
        return f"{value:.6g}"
    return figures(value) if isinstance(value, str) and key not in _NAMES else str(value)


def markup(document: str) -> str:
    """HTML or SVG: a line an element, with its attributes but for looks, and the figures of its text."""
    parser = _Markup()
    parser.feed(document)
    return "\n".join(parser.lines)


class _Markup(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._style = tag == "style"
        told = [
            f"{name}={value if name == 'class' else _coordinates(value or '')}"
            for name, value in attrs
            if name != "style"
        ]
        self.lines.append(" ".join([tag, *told]))

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and not self._style:
            self.lines.append(f"  {figures(text)}")

    def handle_endtag(self, tag: str) -> None:
        self._style = False
        if tag not in _VOID:
            self.lines.append(f"/{tag}")


def _coordinates(text: str) -> str:
    """Whole units of a drawing: fonts and libraries differ by less. Names made of hashes are left out."""
    text = re.sub(r"[a-z]*[0-9a-f]{8,}", "#", text)
    return re.sub(r"-?\d+\.\d+", lambda match: f"{float(match[0]):.0f}", figures(text))
