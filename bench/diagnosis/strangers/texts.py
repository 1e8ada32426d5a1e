"""The documents, facts and questions.

In `texts/LANGUAGE/FILE.md`, `{{key:value|old value|other notation}}` marks a fact. Documents are written out with the
values, and old editions with the old values.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent / "texts"
_MARK = re.compile(r"\{\{(\w+):([^|}]+)\|([^|}]+)\|([^|}]+)\}\}")
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|(?<=[。！？])")


@dataclass(frozen=True)
class Fact:
    """A value that a document states, and the words around it by which a reader finds it."""

    key: str
    value: str
    old: str
    other: str
    document: str
    pattern: re.Pattern[str]
    heading: str


@dataclass(frozen=True)
class Question:
    """A question, the facts that answer it (none: unanswerable) and the document."""

    text: str
    keys: tuple[str, ...]
    document: str
    second: str
    language: str

    def facts(self) -> list[Fact]:
        """The facts that answer it."""
        return [facts(self.language)[key] for key in self.keys]

    def reference(self) -> str:
        """The reference; an unanswerable question has a sentence that says so."""
        if not self.keys:
            return "The documents do not say." if self.language == "en" else "文档中没有说明。"
        return join([fact.value for fact in self.facts()], self.language)


def join(values: list[str], language: str) -> str:
    """Several values in one phrase."""
    return (" and " if language == "en" else "和").join(values)


def names(language: str) -> list[str]:
    """The documents' file names."""
    return sorted(path.name for path in (HERE / language).glob("*.md"))


@functools.cache
def document(language: str, name: str, edition: str = "now") -> str:
    """The text of a document: as it holds now, or in its `old` edition."""
    group = {"now": 2, "old": 3}[edition]
    return _MARK.sub(lambda found: found[group], (HERE / language / name).read_text(encoding="utf-8"))


@functools.cache
def true_documents(language: str) -> dict[str, str]:
    """All documents that hold, by file name; with the page of teasers that the web site generates."""
    texts = {name: document(language, name) for name in names(language)}
    texts["teasers.md"] = teasers(language)
    return texts


def teasers(language: str) -> str:
    """A page that repeats questions and answers none."""
    title, line = ("# Questions we are often asked", "Many ask: {0} Please look it up in the chapter {1}.")
    if language == "zh":
        title, line = ("# 经常被问到的问题", "很多人问：{0}请查阅相关章节{1}。")
    picked = [question for question in questions(language) if question.keys][::2]
    lines = [line.format(question.text, question.document.removesuffix(".md")) for question in picked]
    return title + "\n\n" + "\n\n".join(lines) + "\n"


def _loose(text: str) -> str:
    """A pattern of a text in which blanks may be of any kind, and other facts may have any value."""
    parts = _MARK.split(text)
    # split gives text, key, value, old, other, text, …
    return r"[^|\n。]{1,40}?".join(re.sub(r"(\\ |\\\n|\s)+", r"\\s+", re.escape(part)) for part in parts[::5])


def _pattern(line: str, found: re.Match[str], language: str) -> re.Pattern[str]:
    """How a reader finds a fact: by the sentence around it, or by the row and column of a table."""
    if line.startswith("|"):
        return re.compile(_loose(line[: found.start()]) + r"([^|\n]{1,40}?)\s*\|")
    left, right = line[: found.start()], line[found.end() :]
    sentence = [part for part in _ENDS.split(left) if part]
    left = sentence[-1] if sentence and not _ENDS.search(left[-2:] + "A") else left
    reach, after = (45, 12) if language == "en" else (14, 4)
    if "{{" not in left[-reach:] and "}}" not in left[-reach:]:
        left = left[-reach:]
    right = _MARK.split(_ENDS.split(right)[0])[0][:after]
    return re.compile(_loose(left.lstrip()) + r"([^|\n。]{1,40}?)" + _loose(right.rstrip()))


@functools.cache
def facts(language: str) -> dict[str, Fact]:
    """All facts of a language by key."""
    known: dict[str, Fact] = {}
    for name in names(language):
        heading = ""
        for line in (HERE / language / name).read_text(encoding="utf-8").splitlines():
            heading = line.lstrip("# ") if line.startswith("#") else heading
            for found in _MARK.finditer(line):
                key, value, old, other = found.groups()
                known[key] = Fact(key, value, old, other, name, _pattern(line, found, language), heading)
    return known


@functools.cache
def questions(language: str, which: str = "questions") -> tuple[Question, ...]:
    """The questions, or a fresh set of them (`which` = fresh)."""
    lines = (HERE / f"{language}.{which}.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split(";") for line in lines if line.strip()]
    return tuple(Question(row[2], tuple(filter(None, row[0].split(","))), row[1], row[3], language) for row in rows)
