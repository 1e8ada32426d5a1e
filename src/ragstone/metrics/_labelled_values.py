"""Values that stand apart from the words that say what they are: in a row of a table ("Annual leave | 25", below the
header "Days"), after a label ("Room: 214"), or alone, where the question has said the rest.

A value states a reference if the whole cell is a part of it, and each other word of the reference stands in what labels
the cell: its header, the first cell of its row, the cell beside it. The question may say the rest where the cell has no
header, and its label has no word that is not the question's: "Sick leave | 25 days" is not about annual leave.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ragstone.text import find_answer, words
from ragstone.text.folding import fold_characters

_RULE = re.compile(r"[\s|:\-–—=]*-[\s|:\-–—=]*")
_HEAD = re.compile(r"[^,;(\[，；（【、]+")  # what follows explains the value
_EDGES = re.compile(r"^[\s*_`>\"“]+(?:[-•]\s+)?|[\s*_`\"”.。]+$")
_LABEL = re.compile(r"^\s*(?:[-*•]\s+)?([^:：|]{0,59}[^:：|\s\d])\s*[:：](?!//)\s*(\S.*)$")  # 9:40 has no label
_PART = re.compile(r"[;；\n]|[,，](?=[^,，:：;；]{1,40}[:：])")
_SIGNS = re.compile(r"[$€£¥%‰°]")
_SMALL = frozenset(("the", "a", "an", "of", "in", "per", "for", "at", "on", "to", "is", "are", "was", "were", "be",
                    "it", "by", "as", "的", "为", "是", "在", "每", "有"))  # fmt: skip
_MARKED = re.compile(r"[|\t:：]")
_MOST_LINES = 400
_SLACK = 10  # characters by which a value may be longer than what states it


class _Value(NamedTuple):
    """A value: text[start:end], the text that labels it, and its header ("" without one)."""

    start: int
    end: int
    label: str
    header: str = ""


def labelled_values(alias: str, answer: str, question: str) -> list[tuple[int, int]]:
    """Where a value and its labels state `alias` together."""
    if len(answer) > len(alias) + 2 * _SLACK and not _MARKED.search(answer):
        return []
    return [(value.start, value.end) for value in _values(answer) if _states(alias, answer, value, question)]


def _states(alias: str, answer: str, value: _Value, question: str) -> bool:
    text = answer[value.start : value.end].replace("/", " per ")
    if len(text) > len(alias) + _SLACK:
        return False
    spans = find_answer(text, alias)
    if not spans:
        return False
    start, end = spans[0]
    rest = f"{alias[:start]} {alias[end:]}"
    labels = f"{value.label} {value.header}"
    if set(_SIGNS.findall(fold_characters(rest).text)) - set(_SIGNS.findall(fold_characters(labels).text)):
        return False
    asked, known = _stems(question), _stems(labels)
    lacking = {word for word in _stems(rest) - known if word.isascii() or word not in labels}
    if not _stems(text) - asked or any(any(map(str.isdigit, word)) for word in lacking):
        return False
    if not lacking:
        return True
    return not value.header and lacking <= asked and _stems(value.label) <= asked | _stems(alias)


def _stems(text: str) -> set[str]:
    """The words of a text that are more than grammar, a plural as its singular."""
    return {word.removesuffix("s") if word.isascii() and len(word) > 3 else word for word in words(text)} - _SMALL


def _values(answer: str) -> Iterator[_Value]:
    """The cells of rows, what follows a label, and an answer that is nothing else."""
    at, header = 0, []
    lines = answer.splitlines(keepends=True)[:_MOST_LINES]
    for number, line in enumerate(lines):
        cells = _cells(line, at)
        if len(cells) > 1:
            ruled = number + 1 < len(lines) and _RULE.fullmatch(lines[number + 1].strip()) is not None
            if ruled:
                header = [answer[start:end] for start, end in cells]
            elif _RULE.fullmatch(line.strip()) is None:
                yield from _row(answer, cells, header)
        else:
            header = []
            yield from _labelled(answer, at, at + len(line))
        at += len(line)
    if 0 < len(answer.strip()) <= max(map(len, lines), default=0):
        yield from _value(answer, 0, len(answer), "")


def _cells(line: str, at: int) -> list[tuple[int, int]]:
    """Where the cells of a row stand; one where it is no row."""
    sign = "|" if "|" in line else "\t"
    spans, start = [], at
    for cell in line.rstrip("\n").split(sign):
        if cell.strip():
            spans.append((start, start + len(cell)))
        start += len(cell) + 1
    return spans


def _row(answer: str, cells: list[tuple[int, int]], header: list[str]) -> Iterator[_Value]:
    first = answer[slice(*cells[0])]
    headed = len(header) == len(cells)
    for number, (start, end) in enumerate(cells[1:], 1):
        beside = answer[slice(*cells[number + 1])] if number + 1 < len(cells) else ""
        if headed or len(cells) > 2:
            bare = not any(map(str.isalpha, answer[start:end]))  # the question may not say its unit: 25 | hours
            unit = beside if not headed and len(_stems(beside)) == 1 else ""
            yield from _value(answer, start, end, f"{first} {unit}", header[number] if headed else " " * bare)
        else:
            yield from _value(answer, start, end, first)


def _labelled(answer: str, start: int, end: int) -> Iterator[_Value]:
    """The values of "label: value; label: value"."""
    cuts = [start, *(start + match.end() for match in _PART.finditer(answer[start:end])), end]
    for first, last in pairwise(cuts):
        if match := _LABEL.match(answer[first:last].rstrip(";；,，\n ")):
            yield from _value(answer, first + match.start(2), first + match.end(2), match[1])


def _value(answer: str, start: int, end: int, label: str, header: str = "") -> Iterator[_Value]:
    """The value without marks around it and without what explains it."""
    text = answer[start:end]
    left = _EDGES.match(text)
    begin = start + (left.end() if left else 0)
    head = _HEAD.match(answer[begin:end])
    if head and (kept := _EDGES.sub("", head.group())):
        at = begin + head.group().index(kept)
        yield _Value(at, at + len(kept), label, header)
