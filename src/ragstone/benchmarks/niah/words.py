"""The words of tables, charts and findings, in `words_en.toml` and `words_zh.toml`."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

__all__ = ["words"]


@cache
def words(language: str) -> Mapping[str, str]:
    """The words of a language, the English ones where there are none in it."""
    name = f"words_{'zh' if language == 'zh' else 'en'}.toml"
    return tomllib.loads((files("ragstone.benchmarks.niah") / name).read_text(encoding="utf-8"))
