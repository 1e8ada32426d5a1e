"""Finds what a chunk boundary should not split in Markdown: code blocks, tables, a heading and its text."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

_FENCE = re.compile(r"^[^\S\n]{0,3}(`{3,}+|~{3,}+)[`~]*+([^\n]*)$", re.M)
_TABLE = re.compile(
    r"^(?P<header>[^\n|]*\|[^\n]*\n[^\S\n]*\|?[^\S\n]*:?-+:?[^\S\n]*(?:\|[^\S\n]*:?-+:?[^\S\n]*)*\|?[^\S\n]*)"
    r"(?P<rows>(?:\n[^\n|]*\|[^\n]*)*)$",
    re.M,
)
_HEADING = re.compile(
    r"^(?:#{1,6}[^\S\n]+\S[^\n]*|第[一二三四五六七八九十百千0-9０-９]+[章节節篇][^\n。！？]{0,40})$", re.M
)
_NEXT = re.compile(r"\S")


class TableRange(NamedTuple):
    """Start and end of a table, and the end of its header, in characters."""

    start: int
    end: int
    header: int


class Structure:
    """Code blocks, tables and headings of a text. `fits`: whether a range fits into a chunk; `short`: whether a header
    is short enough to repeat."""

    def __init__(self, text: str, fits: Callable[[int, int], bool], short: Callable[[int, int], bool]) -> None:
        self._text = text
        # Ranges that must not be cut, sorted by start. A heading's range includes the start of the text after it.
        kept, outside = _code(text)
        tables = _tables(outside)
        kept += [(table.start, table.end) for table in tables]
        kept += [(start, following + 1) for start, following in _headings(outside)]
        self._kept = sorted(block for block in kept if fits(*block))
        # Tables that do not fit into a chunk.
        self._long = [
            table for table in tables if not fits(table.start, table.end) and short(table.start, table.header)
        ]

    def together(self, end: int, start: int) -> bool:
        """True if a part that ends at `end` and the next, which starts at `start`, must stay in one chunk."""
        at = bisect_left(self._kept, (end, 0)) - 1
        return at >= 0 and start < self._kept[at][1]

    def header(self, start: int) -> str:
        """The header to repeat for a chunk that starts inside a long table; "" elsewhere."""
        at = bisect_right(self._long, start, key=lambda table: table.header) - 1
        if at < 0 or start >= self._long[at].end:
            return ""
        return self._text[self._long[at].start : self._long[at].header]


def blocks_of(text: str) -> list[tuple[int, int]]:
    """The ranges of code blocks, tables and headings."""
    code, outside = _code(text)
    tables = [(table.start, table.end) for table in _tables(outside)]
    return [*code, *tables, *(match.span() for match in _HEADING.finditer(outside))]


def tables_of(text: str) -> list[TableRange]:
    """The tables outside of code."""
    return _tables(_code(text)[1])


def headings_of(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, level (1 is the highest) and text of each heading outside of code."""
    for match in _HEADING.finditer(_code(text)[1]):
        marks = len(match[0]) - len(match[0].lstrip("#"))
        chapter = 1 if re.search("[章篇]", match[0]) else 2
        yield match.start(), marks or chapter, match[0][marks:].strip().rstrip("#").rstrip()


def _code(text: str) -> tuple[list[tuple[int, int]], str]:
    """The ranges of code blocks, and the text with something else in their place."""
    fences = list(_FENCE.finditer(text)) if "```" in text or "~~~" in text else []
    longest = {"`": 0, "~": 0}  # of the fences that may close a block, from here to the end
    closing = list[bool]()
    for fence in reversed(fences):
        closing.append(longest[fence[1][0]] >= len(fence[1]))
        if not fence[2].strip():
            longest[fence[1][0]] = max(longest[fence[1][0]], len(fence[1]))
    found, outside, done = list[tuple[int, int]](), list[str](), 0
    opening: re.Match[str] | None = None
    for fence, closed in zip(fences, reversed(closing), strict=True):
        if opening is None:
            opening = fence if closed else None
        elif not fence[2].strip() and fence[1].startswith(opening[1]):
            found.append((opening.start(), fence.end()))
            outside += (text[done : opening.start()], "x" * (fence.end() - opening.start()))
            opening, done = None, fence.end()
    return found, "".join((*outside, text[done:]))


def _tables(text: str) -> list[TableRange]:
    return [TableRange(*match.span(), match.end("header")) for match in _TABLE.finditer(text)] if "|" in text else []


def _headings(text: str) -> Iterator[tuple[int, int]]:
    """Start of each heading (`# …`, 第三章 …), and start of the text after it."""
    for match in _HEADING.finditer(text):
        if (following := _NEXT.search(text, match.end())) is not None:
            yield match.start(), following.start()
