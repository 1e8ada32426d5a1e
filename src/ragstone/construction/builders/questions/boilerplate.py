"""Lines that many documents repeat at their top or bottom: headers, footers, cookie lines and page numbers.

A line is dropped where it stands near the top or bottom of a document and in at least three documents. Headings, table
rows, code and lines of a few words stay. So does every document that is mostly made of repeated lines: it is a copy, or
another version of a text, and its lines are what it says."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from ragstone.construction.builders.questions.places import CUT, HEADINGS
from ragstone.retrieval.markdown import blocks_of
from ragstone.text.characters import HAN
from ragstone.types import Passage

_LEAST = 3  # documents that have the line
_GAP = 3  # lines without a repeated one that end the top or bottom of a document
_MOST = 0.7  # of a document's characters; with more in repeated lines it is a copy or a version
_FEW_WORDS, _FEW_CHARACTERS = 3, 8  # what may be a heading, in English and in Chinese
_NUMBERED = (
    r"(?<!\w)(?:page|p[.])\s*\d{1,4}(?:\s*(?:/|of)\s*\d{1,4})?(?!\w)"
    r"|第\s*\d{1,4}\s*页(?:[\s,，/]*共\s*\d{1,4}\s*页)?"
)
_IN_LINE = re.compile(_NUMBERED, re.I)
_PAGE = re.compile(rf"[-–—]?\s*(?:{_NUMBERED}|\d{{1,4}}(?:\s*/\s*\d{{1,4}})?)\s*[-–—]?", re.I)
_LINE = re.compile(r"^[^\S\n]*+\S[^\n]*\n?", re.M)
_CODE = re.compile(r"(?: {4}|\t)\s*\S")
_NO_HEADING = re.compile(r"\d|©|@|://|www\.", re.I)
_WORD = re.compile(rf"[{HAN}]|[^\W{HAN}]+")


@dataclass(frozen=True)
class Cleaned:
    """Documents without boilerplate. `lines`: each line that was dropped → the number of documents that lost it.
    `total`: the lines with text that there were."""

    passages: tuple[Passage, ...]
    lines: Mapping[str, int]
    total: int


class _Line(NamedTuple):
    start: int
    end: int
    key: str


def drop_boilerplate(passages: Sequence[Passage]) -> Cleaned:
    """The documents without their repeated lines."""
    lines = [list(_lines(passage)) for passage in passages]
    of_file = _repeated_in_files(passages, lines)
    found = _repeated(lines)
    # Copies and versions lose no lines, nor do they make others lose theirs.
    mostly = [_is_mostly(own, found - pages) for own, pages in zip(lines, of_file, strict=True)]
    found = _repeated([own for own, copied in zip(lines, mostly, strict=True) if not copied])
    kept, dropped, names = [], Counter[str](), dict[str, str]()
    for passage, own, copied, pages in zip(passages, lines, mostly, of_file, strict=True):
        keys = pages if copied else pages | found
        out = sorted({*_outer(own, keys), *_outer(own[::-1], keys)})
        for line in out:
            dropped[names.setdefault(line.key, passage.text[line.start : line.end].strip())] += 1
        kept.append(_without(passage, out) if out else passage)
    return Cleaned(tuple(kept), dict(dropped.most_common()), sum(map(len, lines)))


def _rows(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of two or more rows of a table that is no Markdown: lines with "|" or a tab between two texts."""
    start, rows, at = 0, 0, 0
    for line in (*text.split("\n"), ""):
        inner = line.strip()[1:-1]
        if "|" in inner or "\t" in inner:
            start, rows = (start, rows + 1) if rows else (at, 1)
        else:
            if rows > 1:
                yield start, at
            rows = 0
        at += len(line) + 1


def _lines(passage: Passage) -> Iterator[_Line]:
    """The lines with text. Those that always stay have the key ""."""
    text, page = passage.text, passage.meta.get("page")
    protected = [*blocks_of(text), *_rows(text)]
    headings = {(start, words) for start, _, words in passage.meta.get(HEADINGS, ())}
    for match in _LINE.finditer(text):
        line = match[0].strip()
        stays = (match.start(), " ".join(line.split())) in headings or any(
            start <= match.start() < end for start, end in protected
        )
        stays = stays or (page is None and _CODE.match(match[0]) is not None)
        yield _Line(*match.span(), "" if stays else _key(line, page))


def _key(line: str, page: object) -> str:
    """What is equal for lines that say the same; "" for one that may be a heading."""
    if _PAGE.fullmatch(line):
        return "0" if page is not None or _IN_LINE.search(line) else ""
    if page is not None:
        line = re.sub(rf"^{page}\b|\b{page}$", "0", line)
    few = len(_WORD.findall(line)) <= (_FEW_CHARACTERS if re.search(f"[{HAN}]", line) else _FEW_WORDS)
    if few and not _NO_HEADING.search(line):
        return ""
    return " ".join(_IN_LINE.sub("0", line).casefold().split())


def _repeated(documents: Sequence[Sequence[_Line]]) -> set[str]:
    """The keys that stand in enough documents."""
    counts = Counter(key for own in documents for key in {line.key for line in own})
    return {key for key, count in counts.items() if count >= _LEAST} - {""}


def _repeated_in_files(passages: Sequence[Passage], lines: Sequence[Sequence[_Line]]) -> list[set[str]]:
    """For each passage the keys that enough pages or slides of its file have. Pages of one file are no versions of each
    other, so it does not matter how much of them is repeated."""
    files: dict[str, list[Sequence[_Line]]] = {}
    names = [passage.id.rpartition("#")[0] if "page" in passage.meta else "" for passage in passages]
    for name, own in zip(names, lines, strict=True):
        if name:
            files.setdefault(name, []).append(own)
    repeated = {name: _repeated(pages) for name, pages in files.items()}
    return [repeated.get(name, set()) for name in names]


def _is_mostly(lines: Sequence[_Line], found: set[str]) -> bool:
    """Whether most of a document's characters stand in repeated lines."""
    repeated = sum(line.end - line.start for line in lines if line.key in found)
    return repeated > _MOST * sum(line.end - line.start for line in lines)


def _outer(lines: Sequence[_Line], found: set[str]) -> Iterator[_Line]:
    """The repeated lines from one end of a document, up to the first few lines without one."""
    last = -1
    for number, line in enumerate(lines):
        if number - last > _GAP:
            return
        if line.key in found:
            last = number
            yield line


def _without(passage: Passage, lines: Sequence[_Line]) -> Passage:
    """The passage without these lines."""
    pieces, cut, at, length = [], [], 0, 0
    for line in lines:
        pieces.append(passage.text[at : line.start])
        length += line.start - at
        cut.append((length, line.end - line.start))
        at = line.end
    return replace(passage, text="".join([*pieces, passage.text[at:]]), meta={**passage.meta, CUT: tuple(cut)})
