"""The ingestion job: documents are read, cut and given ids. The faults of an index are planted here."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bench.diagnosis.strangers import texts

if TYPE_CHECKING:
    from bench.diagnosis.strangers.settings import Settings

MISSING = ("gateway.md", "pumps.md", "travel.md")
OUTDATED = ("gateway.md", "leave.md", "tariffs.md", "travel.md")
DRAFTED = ("backup.md", "gateway.md", "leave.md", "sites.md", "travel.md")
DEPARTMENTS = {"leave.md": "hr", "travel.md": "hr", "sites.md": "hr", "tariffs.md": "sales", "pumps.md": "sales"}
_DATA_ROW = 10_400
POPULAR = ("newsletter.md", "teasers.md", "noise-2017.md")


@dataclass(frozen=True)
class Row:
    """One row of the index."""

    id: str
    text: str
    document: str
    title: str
    number: int
    department: str


def _sizes(language: str) -> tuple[int, int]:
    return (420, 140) if language == "en" else (170, 60)


def fixed(text: str, size: int, overlap: int) -> list[str]:
    """Pieces of a fixed number of characters, each of which repeats the end of the last one."""
    return [text[at : at + size] for at in range(0, max(1, len(text) - overlap), size - overlap)]


def sentences(text: str, title: str) -> list[str]:
    """Pairs of sentences below the title; tables by row."""
    parts: list[str] = []
    head = ""
    for line in text.splitlines():
        if line.startswith("#"):
            head = ""
        if line.startswith(("|--", "#")) or not line.strip():
            continue
        if line.startswith("|"):
            parts += [f"{head}\n{line}"] if head else []
            head = head or line
            continue
        head = ""
        found = [part for part in re.split(r"(?<=[.!?])\s+|(?<=[。！？])", line) if part]
        parts += [" ".join(found[at : at + 2]) for at in range(0, len(found), 2)]
    return [f"{title}: {part}" for part in parts]


def headings(text: str, title: str) -> list[str]:
    """A chunk for each heading of the second level; a page without such headings is cut every six lines."""
    first, *rest = re.split(r"\n(?=## )", text)
    pieces = [f"{title}\n{part.strip()}" for part in rest]
    lines = [line for line in first.splitlines()[1:] if line.strip()]
    if len(lines) > 6 and not rest:
        return [title + "\n" + "\n".join(lines[at : at + 6]) for at in range(0, len(lines), 6)]
    return ([f"{title}\n" + "\n".join(lines)] if lines else []) + pieces


def flatten(text: str) -> str:
    """A text whose tables were read column by column, as poor PDF converters do."""
    out: list[str] = []
    table: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            if not line.startswith("|--"):
                table.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        if table:
            out += [" ".join(row[at] for row in table) for at in range(len(table[0]))]
            table = []
        out.append(line)
    return "\n".join(out)


def _source(settings: Settings) -> list[tuple[str, str]]:
    """The documents that the job finds, with what is wrong about them."""
    language = settings.language
    if settings.has("wrong_language"):
        language = "zh" if language == "en" else "en"
    found = dict(texts.true_documents(language))
    if settings.has("missing_documents"):
        found = {name: text for name, text in found.items() if name not in MISSING}
    if settings.has("old_version"):
        found |= {name: texts.document(language, name, "old") for name in OUTDATED}
    if settings.has("draft_beside_final"):
        drafts = {name.replace(".md", "-v2.md"): texts.document(language, name, "old") for name in DRAFTED}
        found = drafts | found
    if settings.has("tables_flattened"):
        found = {name: flatten(text) for name, text in found.items()}
    if settings.has("first_page_only"):
        found = {name: text[: int(len(text) * 0.5)] for name, text in found.items()}
    return list(found.items())


def cut(text: str, settings: Settings) -> list[str]:
    """The chunks of a document."""
    title = text.splitlines()[0].lstrip("# ")
    if settings.has("chunks_cut"):
        return fixed(text, *((64, 0) if settings.language == "en" else (20, 0)))
    if settings.chunking == "fixed":
        return fixed(text, *_sizes(settings.language))
    if settings.chunking == "sentences":
        return sentences(text, title)
    return headings(text, title) if settings.chunking == "headings" else [text]


def rows(settings: Settings) -> list[Row]:
    """The rows of the index."""
    made: list[Row] = []
    for name, text in _source(settings):
        title = text.splitlines()[0].lstrip("# ")
        for number, piece in enumerate(cut(text, settings)):
            department = DEPARTMENTS.get(name.replace("-v2", ""), "technical")
            made.append(Row(_id(settings, name, number, len(made)), piece, name, title, number, department))
    if settings.has("duplicates"):
        again = [row for row in made if row.document in POPULAR]
        copies = [(row, copy) for copy in range(1, 9) for row in again]
        made += [
            replace(row, id=_id(settings, f"{copy}/{row.document}", row.number, len(made) + at))
            for at, (row, copy) in enumerate(copies)
        ]
    return made


def _id(settings: Settings, name: str, number: int, place: int) -> str:
    if settings.ids == "file":
        return f"{name}#{number}"
    if settings.ids == "uuid":
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://docs.halvern.example/{name}/{number}"))
    return str(_DATA_ROW + place)
