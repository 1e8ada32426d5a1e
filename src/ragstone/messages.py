"""The message catalogue: the texts of ragstone in English and Chinese.

Texts are in `messages_en.toml` and `messages_zh.toml` beside the code that uses them, with the same keys and
{placeholders}. The keys of a folder are also available in the folders below it, and a table (`[charts]`) has the texts
of one module. Other packages can bring theirs in the same way; their `errors_zh.toml` is found through an entry point
of the group `ragstone.texts` that names the package.
"""

import logging
import os
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ragstone.errors import check_name

_log = logging.getLogger(__name__)
_TOLD: set[str] = set()  # packages of which a warning said that their texts cannot be read
LANGUAGES = ("en", "zh")
# No line begins with a closing mark or ends with an opening one.
_TOKEN = re.compile(r"\s+|[（《「\[]*(?:[^\s\u2e80-\uffef]+|[\u2e80-\uffef])[，。；：、！？）」》…]*")


def checked_language(language: str) -> str:
    """The language itself; `UnknownName` if ragstone does not support it."""
    check_name("language", language, LANGUAGES)
    return language


def preferred_language(environ: Mapping[str, str] = os.environ) -> str:
    """The language set in the environment: RAGSTONE_LANGUAGE (`UnknownName` if unsupported), else the first of
    gettext's variables (LANGUAGE, LC_ALL, LC_MESSAGES, LANG), where anything but Chinese means English."""
    if requested := environ.get("RAGSTONE_LANGUAGE", "").strip():
        return checked_language(requested.lower().replace("-", "_").partition("_")[0])
    names = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((value for name in names if (value := environ.get(name, ""))), "")
    return "zh" if locale.lower().startswith("zh") else "en"


@cache
def messages(module: str, language: str) -> Mapping[str, str]:
    """The texts of a module (its `__name__`) in a language, by key. `UnknownName` for an unsupported language, even if
    the module has no texts."""
    checked_language(language)
    catalogue: dict[str, str] = {}
    names = module.split(".")
    for depth in range(1, len(names)):
        texts = _file(".".join(names[:depth]), language)
        catalogue |= {key: text for key, text in texts.items() if isinstance(text, str)}
        catalogue |= texts.get(names[depth], {}) if isinstance(texts.get(names[depth]), dict) else {}
    return MappingProxyType(catalogue)


@cache
def help_texts(module: str, language: str) -> Mapping[str, str]:
    """The help texts of commands and options in a language other than English, by command and flag, from
    `help_LANGUAGE.toml` in the module's package; empty if there is none. English help texts are in the code."""
    package = module.rpartition(".")[0]
    return MappingProxyType(_file(package, language, "help") if package else {})


def error_texts(language: str) -> Mapping[str, Mapping[str, str]]:
    """The tables of all `errors_LANGUAGE.toml`, joined: the kinds of `failures`, and, in a language other than English,
    `sentences` by the English ones, the `words` and `places` in them, and the `frame` around them. A package of others
    whose texts cannot be read is left out; a warning names it once."""
    tables, problems = _error_texts(language)
    for package, reason in problems.items():
        if package not in _TOLD:
            _TOLD.add(package)  # before the warning, which is told with these texts
            _log.warning("The texts of %s cannot be read (%s). Fix or uninstall the package.", package, reason)
    return tables


@cache
def _error_texts(language: str) -> tuple[Mapping[str, Mapping[str, str]], Mapping[str, str]]:
    """These tables, and why those of a package cannot be read."""
    tables: dict[str, dict[str, str]] = {}
    problems: dict[str, str] = {}
    for package, folder in [("", Path(__file__).parent), *_folders_of_others(problems)]:
        for path in sorted(folder.rglob(f"errors_{language}.toml")):
            try:
                read = tomllib.loads(path.read_text(encoding="utf-8"))
                found = {name: dict(texts) for name, texts in read.items()}
            except (OSError, TypeError, ValueError) as error:
                if not package:
                    raise
                problems[package] = f"{path.name}: {error}"
                continue
            for name, texts in found.items():
                tables.setdefault(name, {}).update(texts)
    return MappingProxyType(tables), problems


def _folders_of_others(problems: dict[str, str]) -> Iterator[tuple[str, Path]]:
    """The other packages with texts, and their folders; none of these packages is imported."""
    for entry in entry_points(group="ragstone.texts"):
        package = entry.value.partition(".")[0]
        try:
            spec = find_spec(package)
        except (ImportError, ValueError) as error:
            problems[package] = str(error)
            continue
        folders = () if spec is None else spec.submodule_search_locations or ()
        yield from ((package, Path(folder)) for folder in folders)


@cache
def _file(package: str, language: str, kind: str = "messages") -> dict[str, Any]:
    path = files(package) / f"{kind}_{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most so many columns, broken at spaces and between Chinese characters, which take two columns."""
    lines, line, used = [], "", 0
    for token in _TOKEN.findall(" ".join(text.split())):
        size = sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in token)
        if line and used + size > width:
            lines.append(line.rstrip())
            line, used = "", 0
        if line or not token.isspace():
            line, used = line + token, used + size
    return [*lines, line.rstrip()] if line else lines
