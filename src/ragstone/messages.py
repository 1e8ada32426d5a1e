"""The one phrase book: what ragstone says in English and in Chinese.

Texts are in `messages_en.toml` and `messages_zh.toml` beside the code that says them, with the same keys and {places}.
A key of a folder is known in the folders below it too, and a table (`[charts]`) has the texts of one module. A package
of yours brings its own in the same way.
"""

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from ragstone.errors import UnknownName

__all__ = ["LANGUAGES", "checked_language", "help_texts", "messages", "preferred_language"]

LANGUAGES = ("en", "zh")


def checked_language(language: str) -> str:
    """The language. `UnknownName` where ragstone does not speak it."""
    if language not in LANGUAGES:
        raise UnknownName("language", language, LANGUAGES)
    return language


def preferred_language(environ: Mapping[str, str] = os.environ) -> str:
    """The language that the environment asks for: RAGSTONE_LANGUAGE (`UnknownName` for another than ours), else what
    gettext looks at (LANGUAGE, LC_ALL, LC_MESSAGES, LANG), of which any that is not Chinese means English."""
    if own := environ.get("RAGSTONE_LANGUAGE", "").strip():
        return checked_language(own.lower().replace("-", "_").partition("_")[0])
    names = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((value for name in names if (value := environ.get(name, ""))), "")
    return "zh" if locale.lower().startswith("zh") else "en"


@cache
def messages(module: str, language: str) -> Mapping[str, str]:
    """The texts that a module (its `__name__`) may say in a language, by key. `UnknownName` for another language than
    ours, also where the module has no texts."""
    checked_language(language)
    found: dict[str, str] = {}
    names = module.split(".")
    for depth in range(1, len(names)):
        texts = _file(".".join(names[:depth]), language)
        found |= {key: text for key, text in texts.items() if isinstance(text, str)}
        found |= texts.get(names[depth], {}) if isinstance(texts.get(names[depth]), dict) else {}
    return MappingProxyType(found)


@cache
def help_texts(module: str, language: str) -> Mapping[str, str]:
    """Help of commands and options in a language other than English, whose help is in the code: `help_LANGUAGE.toml` of
    the module's package, by command and flag; empty where there is none."""
    package = module.rpartition(".")[0]
    return MappingProxyType(_file(package, language, "help") if package else {})


@cache
def _file(package: str, language: str, kind: str = "messages") -> dict[str, Any]:
    path = files(package) / f"{kind}_{language}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
