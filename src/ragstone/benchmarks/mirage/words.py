"""What the tables, charts and findings of MIRAGE say, in `words_en.toml` and `words_zh.toml`."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from ragstone.errors import UnknownName

__all__ = ["LANGUAGES", "words"]

LANGUAGES = ("en", "zh")


@cache
def words(language: str) -> Mapping[str, str]:
    """The words of a language; `UnknownName` where there are none."""
    if language not in LANGUAGES:
        raise UnknownName("report language", language, LANGUAGES)
    text = (files("ragstone.benchmarks.mirage") / f"words_{language}.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))
