"""Articles of a Wikipedia dump (`pages-articles.xml.bz2`), streamed: the whole dump is never in memory.

The text is that of the wikitext without templates, tables and links (the library `mwparserfromhell`)."""

import bz2
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

from ragstone.errors import DataError
from ragstone.optional import load
from ragstone.structs import Frozen
from ragstone.types import Passage

_LONGEST = 2_000_000  # characters of an article's source


class WikipediaPage(Frozen, frozen=True):
    """A page of the main namespace as the dump has it. `redirect`: the title that it leads to; `changed`: the time of
    its revision."""

    title: str
    source: str = ""
    redirect: str = ""
    changed: str = ""


def folded_title(title: str) -> str:
    """A title for comparison: Wikipedia's underscores are spaces, and the first letter's case does not count."""
    return " ".join(unicodedata.normalize("NFC", title).replace("_", " ").split()).casefold()


def read_pages(path: Path) -> Iterator[WikipediaPage]:
    """The pages of the main namespace, in the order of the dump (.xml or .xml.bz2). Raises DataError."""
    try:
        with _opened(path) as stream:
            yield from _pages(stream)
    except (ET.ParseError, OSError, EOFError) as error:
        raise DataError(path, f"it cannot be read as a Wikipedia dump ({error}).") from error


def _opened(path: Path) -> IO[bytes]:
    return bz2.open(path) if path.suffix == ".bz2" else path.open("rb")


def _pages(stream: IO[bytes]) -> Iterator[WikipediaPage]:
    root: ET.Element | None = None
    for event, element in ET.iterparse(stream, events=("start", "end")):
        if root is None:
            root = element
        if event == "start" or not element.tag.endswith("page"):
            continue
        found = {child.tag.rpartition("}")[2]: child for child in element.iter()}
        if _text(found.get("ns")) in ("", "0") and (title := _text(found.get("title"))):
            redirect = found["redirect"].get("title", "") if "redirect" in found else ""
            source = "" if redirect else _text(found.get("text"))[:_LONGEST]
            yield WikipediaPage(title, source, redirect, _text(found.get("timestamp")))
        root.clear()  # else every page would stay in memory


def _text(element: ET.Element | None) -> str:
    return "" if element is None else element.text or ""


def read_articles(path: Path, titles: Collection[str]) -> dict[str, Passage]:
    """Folded title → article, of those of these titles (folded) that the dump has, by way of redirects, too. Reads the
    dump once, and once more for the targets of redirects. Raises DataError and MissingExtra."""
    articles: dict[str, Passage] = {}
    redirects: dict[str, str] = {}
    for page in read_pages(path):
        name = folded_title(page.title)
        if name in titles:
            if page.redirect:
                redirects[name] = folded_title(page.redirect)
            else:
                articles[name] = _article(page)
    missing = {target for target in redirects.values() if target not in articles}
    if missing:
        for page in read_pages(path):
            if (name := folded_title(page.title)) in missing and not page.redirect:
                articles[name] = _article(page)
    return articles | {name: articles[target] for name, target in redirects.items() if target in articles}


def _article(page: WikipediaPage) -> Passage:
    mwparserfromhell = load("mwparserfromhell", extra="build", purpose="Reading Wikipedia dumps")
    wikicode = mwparserfromhell.parse(page.source)
    lines = (" ".join(line.split()) for line in wikicode.strip_code(normalize=True, collapse=True).splitlines())
    address = "https://en.wikipedia.org/wiki/" + page.title.replace(" ", "_")
    text = "\n".join(line for line in lines if line and not line.startswith(("Category:", "File:", "Image:")))
    return Passage(page.title, text, page.title, meta={"url": address, "changed": page.changed})
