"""Reads the user's documents as passages: a file or folder of text, Markdown, HTML, PDF, Word, PowerPoint, RSS, WARC,
JSONL, CSV or TSV.

A passage is a file, a page of a PDF, a slide, an entry of a feed, an archived web page, or a row. Its id is its path
within the folder (`faq/returns.md`, `manual.pdf#page=3`), its address, or the row's own id. Formats other than plain
text and tables need the extra `documents`.
"""

import contextlib
import csv
import dataclasses
import functools
import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from ragstone.errors import DataError, UsageError
from ragstone.messages import messages, preferred_language
from ragstone.optional import load
from ragstone.retrieval.corpus_rows import LARGEST, read_lines, read_table, text_of
from ragstone.retrieval.markdown import headings_of
from ragstone.storage import ReaderFailed, leads_out, read_bounded
from ragstone.types import Passage

Heading: TypeAlias = tuple[int, int, str]
"""The start of a heading in the text of a passage, its level (1 is the highest), and its words."""

_LARGEST_PAGE = 5_000_000  # bytes of an archived web page
_HEADINGS = "headings"
_NAMED = 5  # files that a warning names


@dataclass(frozen=True)
class Corpus:
    """Documents as passages. `warnings`: one line per file or page that was left out. `sha256`: hash of ids, titles and
    texts, independent of the files' formats and order. `headings`: of Markdown, HTML, Word and the outline of a PDF, by
    the id of the passage; those that go on from an earlier page start at -1."""

    name: str
    passages: tuple[Passage, ...]
    sha256: str
    warnings: tuple[str, ...] = ()
    headings: Mapping[str, tuple[Heading, ...]] = dataclasses.field(default_factory=dict)


NO_CORPUS = Corpus("", (), hashlib.sha256().hexdigest())
"""For a retriever that brings its own documents."""


def read_corpus(path: str | Path | Corpus) -> Corpus:
    """Reads a file, or all files of a folder and its subfolders except hidden ones and links that lead out of it.

    Raises UsageError if there is no document, DataError for a file that does not match its extension, MissingExtra."""
    if isinstance(path, Corpus):
        return path
    documents = Documents(path)
    passages: dict[str, Passage] = {}
    headings: dict[str, tuple[Heading, ...]] = {}
    for file, passage, its in documents:
        if passage.id in passages:
            raise DataError(file, f"two documents have the id {passage.id!r}. Give each its own.")
        passages[passage.id], headings[passage.id] = passage, its
    digest = hashlib.sha256()
    for key in sorted(passages):
        digest.update(json.dumps([key, passages[key].title, passages[key].text]).encode("ascii"))
    return Corpus(documents.name, tuple(passages.values()), digest.hexdigest(), documents.warnings, headings)


def _parted(passage: Passage) -> tuple[Passage, tuple[Heading, ...]]:
    """The passage, and the headings that its reader put into its `meta`."""
    headings = passage.meta.get(_HEADINGS)
    if headings is None:
        return passage, ()
    meta = {name: value for name, value in passage.meta.items() if name != _HEADINGS}
    return replace(passage, meta=meta), tuple(headings)


class Documents:
    """The documents of a file, or of all files of a folder and its subfolders except hidden ones, read one after the
    other each time. Raises UsageError if there is none, and what reading raises."""

    def __init__(self, path: str | Path) -> None:
        self._root = root = Path(path).expanduser()
        if not root.exists():
            raise UsageError(f"{root}: there is no such file or folder.")
        items = [] if root.is_file() else [item for item in sorted(root.rglob("*")) if not _is_hidden(item, root)]
        self._links = [
            self._name(item) for item in items if item.is_symlink() and (item.is_dir() or leads_out(item, root))
        ]
        files = [root] if root.is_file() else [item for item in items if item.is_file() and not leads_out(item, root)]
        self._files = [file for file in files if _kind(file) in _READERS]
        self._skipped = [self._name(file) for file in files if _kind(file) not in _READERS]
        self._empty: list[str] = []
        if root.is_file() and not self._files:
            raise UsageError(f"{root} is not a supported document. Supported: {', '.join(_READERS)}.")

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        return self._root.name or str(self._root)

    @property
    def warnings(self) -> tuple[str, ...]:
        """One line per kind of what was left out when the documents were last read."""
        return _warnings(self._links, self._skipped, self._empty)

    def __iter__(self) -> Iterator[tuple[Path, Passage, tuple[Heading, ...]]]:
        """Each document with its file and its headings."""
        some, self._empty = False, []
        for file in self._files:
            name, pages = self._name(file), 0
            for passage in _read(file, name):
                pages += 1
                if passage.text.strip():
                    some = True
                    yield file, *_parted(passage)
                else:
                    self._empty.append(passage.id)
            if not pages:
                self._empty.append(name)
        if not some:
            links = " Its links lead out of it: copy what they lead to." if self._links else ""
            raise UsageError(f"{self._root} has no document with text. Supported: {', '.join(_READERS)}.{links}")

    def _name(self, file: Path) -> str:
        return file.name if file == self._root else file.relative_to(self._root).as_posix()

    def sha256(self) -> str:
        """The hash of the files' names and content. Raises DataError for one that cannot be read."""
        digest = hashlib.sha256()
        for file in self._files:
            try:
                state = file.stat()
                content = _content_hash(file, state.st_size, state.st_mtime_ns)
            except OSError as error:
                raise DataError(file, f"it cannot be read ({error.strerror or error}).") from error
            digest.update(json.dumps([self._name(file), content]).encode("ascii"))
        return digest.hexdigest()


@functools.lru_cache(maxsize=100_000)
def _content_hash(file: Path, size: int, changed: int) -> str:
    """The hash of a file of that size, last changed then."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _warnings(links: Sequence[str], skipped: Sequence[str], empty: Sequence[str]) -> tuple[str, ...]:
    """The left-out files, in the language of the session: the first names of each kind."""
    texts = messages(__name__, preferred_language())
    kinds = ", ".join(_READERS)
    return tuple(
        texts[key].format(count=len(names), names=texts["separator"].join(names[:_NAMED]), kinds=kinds)
        + (texts["more"].format(count=len(names) - _NAMED) if len(names) > _NAMED else "")
        for key, names in (("links", links), ("skipped", skipped), ("empty", empty))
        if names
    )


def _kind(path: Path) -> str:
    """The ending of a file's name, two endings for one that is compressed."""
    return "".join(path.suffixes[-2:]).lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def _is_hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _read(path: Path, name: str) -> Iterator[Passage]:
    kind = _kind(path)
    if path.stat().st_size > LARGEST and kind != ".jsonl":
        raise DataError(path, f"it has more than {LARGEST:,} bytes. Split it.")
    try:
        read = _READERS[kind]
        yield from read(path, name) if read in _OWN else read_bounded(read, path, name)
    except OSError as error:
        raise DataError(path, f"it cannot be read ({error.strerror or error}).") from error
    except (
        ReaderFailed,
        ValueError,
        RecursionError,
        csv.Error,
    ) as error:  # a library's error for a damaged file, or Python's
        raise DataError(path, f"it cannot be read as {kind.removeprefix('.').upper()} ({error}).") from error


def _plain(path: Path, name: str) -> Iterator[Passage]:
    text = text_of(path)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    heading = first.lstrip("#").strip() if first.startswith("#") else ""
    yield Passage(name, text, title=heading, meta={_HEADINGS: tuple(headings_of(text))})


_DECLARATION = re.compile(r"\s*<\?xml[^>]*>")


def _html(path: Path, name: str) -> Iterator[Passage]:
    title, text, headings = _page_of_html(text_of(path))
    yield Passage(name, text, title=title, meta={_HEADINGS: headings})


def text_of_html(source: str) -> tuple[str, str]:
    """The title and the text of a web page, a line for each block or row of a table (cells parted by "|"), without
    scripts, styles and navigation."""
    return _page_of_html(source)[:2]


_MARK = "\ufdd0"  # no character of any text: begins the line of a heading, before its level
_LONGEST_CELL = 300  # characters of a table's cell; longer ones lay out a page


def _page_of_html(source: str) -> tuple[str, str, tuple[Heading, ...]]:
    """The title, the text and the headings of a web page."""
    html = _library("lxml.html")
    source = _DECLARATION.sub("", source).replace(_MARK, "")
    page = html.document_fromstring(source + "<div></div>")  # also of an empty file
    title = page.findtext(".//title") or ""
    for element in page.xpath("//script|//style|//nav|//template|//noscript|//head"):
        element.drop_tree()
    for row in page.xpath("//tr[not(.//table)][count(td|th) > 1]"):
        cells = [" ".join(cell.text_content().split()) for cell in row.xpath("td|th")]
        if max(map(len, cells)) <= _LONGEST_CELL:
            row[:] = []
            row.text = " | ".join(cells)
    for element in page.xpath("//h1|//h2|//h3|//h4|//h5|//h6"):
        words = " ".join(element.text_content().split())
        element[:] = []
        element.text = f"\n{_MARK}{element.tag[1]}{words}" if words else ""
    blocks = "//p|//div|//li|//tr|//h1|//h2|//h3|//h4|//h5|//h6|//br|//section|//article|//pre|//blockquote"
    for element in page.xpath(blocks):
        element.tail = "\n" + (element.tail or "")
    lines, headings, length = list[str](), list[Heading](), 0
    for line in page.text_content().splitlines():
        if text := " ".join(line.split()):
            if text.startswith(_MARK):
                headings.append((length, int(text[1]), text[2:]))
                text = text[2:]
            lines.append(text)
            length += len(text) + 1
    return title.strip(), "\n".join(lines), tuple(headings)


def _pdf(path: Path, name: str) -> Iterator[Passage]:
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what is wrong with a file is told by its error
    reader = _library("pypdf").PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        raise DataError(path, "it is encrypted. Save it without a password.")
    outline, open_ones = _outline(reader), list[Heading]()
    for number, page in enumerate(reader.pages, 1):
        text = page.extract_text().strip()
        found = [(text.find(words), level, words) for level, words in outline.get(number, ())]
        headings = (*open_ones, *found)
        yield Passage(f"{name}#page={number}", text, meta={"page": number, _HEADINGS: headings})
        open_ones = [(-1, level, words) for level, words in path_of(headings)]


def _outline(reader: Any) -> dict[int, list[tuple[int, str]]]:
    """Page → level and words of each entry of a PDF's outline; nothing where the outline is damaged."""
    found: dict[int, list[tuple[int, str]]] = {}

    def walk(entries: Sequence[Any], level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                walk(entry, level + 1)
            elif (page := reader.get_destination_page_number(entry)) is not None:
                words = " ".join(str(entry.title or "").split())
                found.setdefault(page + 1, []).append((level, words))

    with contextlib.suppress(Exception):  # each kind of damage has its own error, and the text can be read without it
        walk(reader.outline, 1)
    return found


def path_of(headings: Sequence[Heading]) -> list[tuple[int, str]]:
    """Level and words of the headings that the last one stands under, itself included, the highest first."""
    path: list[tuple[int, str]] = []
    for _, level, words in headings:
        path = [*(above for above in path if above[0] < level), (level, words)]
    return path


_WORD_HEADING = re.compile(r"(?:Heading|标题)\s*([1-9])|Title|标题", re.I)


def _word(path: Path, name: str) -> Iterator[Passage]:
    document = _library("docx").Document(str(path))
    lines, headings, length = list[str](), list[Heading](), 0
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):  # a table: one line per row
            rows = [" | ".join(cell.text.strip() for cell in row.cells) for row in block.rows]
            lines += rows
            length += sum(map(len, rows)) + len(rows)
            continue
        style = _WORD_HEADING.fullmatch(str(block.style.name if block.style is not None else ""))
        if style and block.text.strip():
            headings.append((length, int(style[1] or 0), " ".join(block.text.split())))
        lines.append(block.text)
        length += len(block.text) + 1
    title = str(document.core_properties.title or "")
    yield Passage(name, "\n".join(lines), title=title, meta={_HEADINGS: tuple(headings)})


def _slides(path: Path, name: str) -> Iterator[Passage]:
    """A slide with its title, texts, tables and notes."""
    for number, slide in enumerate(_library("pptx").Presentation(str(path)).slides, 1):
        lines = []
        for shape in slide.shapes:
            if shape.has_text_frame:
                lines.append(shape.text_frame.text)
            if shape.has_table:
                lines += [" | ".join(cell.text.strip() for cell in row.cells) for row in shape.table.rows]
        if slide.has_notes_slide:
            lines.append(slide.notes_slide.notes_text_frame.text)
        title = slide.shapes.title.text_frame.text if slide.shapes.title is not None else ""
        text = "\n".join(line for line in lines if line.strip())
        yield Passage(f"{name}#slide={number}", text, title=title, meta={"page": number})


def _feed(path: Path, name: str) -> Iterator[Passage]:
    """An entry of an RSS or Atom feed: its whole text if the feed has it, else its summary."""
    feed = _library("feedparser").parse(path.read_bytes())
    if not feed.entries and feed.bozo:
        raise DataError(path, f"it is no RSS or Atom feed ({feed.bozo_exception}).")
    for number, entry in enumerate(feed.entries, 1):
        source = entry.content[0].value if entry.get("content") else entry.get("summary", "")
        _, text = text_of_html(source) if source.strip() else ("", "")
        date = {"date": entry.published} if entry.get("published") else {}
        yield Passage(entry.get("link") or f"{name}#{number}", text, title=entry.get("title", ""), meta=date)


def _archive(path: Path, name: str) -> Iterator[Passage]:
    """The web pages of a WARC file, such as those of CC-NEWS."""
    with path.open("rb") as stream:
        for record in _library("warcio.archiveiterator").ArchiveIterator(stream):
            kind = record.http_headers.get_header("Content-Type", "") if record.http_headers else ""
            is_page = record.rec_type == "response" and "html" in kind
            if not is_page or record.http_headers.get_statuscode() != "200":
                continue
            source = record.content_stream().read(_LARGEST_PAGE).decode("utf-8", "replace")
            title, text = text_of_html(source) if source.strip() else ("", "")
            date = record.rec_headers.get_header("WARC-Date") or ""
            address = record.rec_headers.get_header("WARC-Target-URI")
            yield Passage(address, text, title=title, meta={"date": date} if date else {})


def _library(name: str) -> Any:
    purpose = "Reading PDF, Word, PowerPoint, HTML, RSS and WARC documents"
    return load(name, extra="documents", purpose=purpose)


_READERS: Mapping[str, Callable[[Path, str], Iterator[Passage]]] = {
    ".txt": _plain, ".md": _plain, ".markdown": _plain, ".rst": _plain, ".html": _html, ".htm": _html, ".pdf": _pdf,
    ".docx": _word, ".pptx": _slides, ".rss": _feed, ".atom": _feed, ".xml": _feed, ".warc": _archive,
    ".warc.gz": _archive, ".jsonl": read_lines, ".csv": read_table, ".tsv": read_table,
}  # fmt: skip
_OWN = (_plain, read_lines, read_table)  # the others are libraries', which may unpack a small file to gigabytes
