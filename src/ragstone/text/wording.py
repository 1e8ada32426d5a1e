"""The words of a text, folded, for counting what two texts share."""

import re
from typing import Any

from ragstone.text.characters import HAN
from ragstone.text.folding import fold
from ragstone.text.language import detect

__all__ = ["words"]

_WORD = re.compile(r"(?:[^\W\d_]\.){2,}|\d+(?:[.,:]\d+)*%?|[^\W_]+(?:'[^\W_]+)*")
_HAN_RUN = re.compile(rf"[{HAN}]+")


def words(text: str, language: str = "") -> list[str]:
    """The words of `text` in order, folded (`fold`), without punctuation. Chinese is segmented by jieba's dictionary.

    `language` "" is detected. A possessive 's is dropped; a number is one word, its sign of percent included.
    """
    folded = fold(text, language).text
    if (language or detect(text)) == "zh" or _HAN_RUN.search(folded):
        return [word for word in _segment(folded) if word[0].isalnum() or word[-1].isalnum()]
    return [word.replace(".", "") if word[-1] == "." else word.removesuffix("'s") for word in _WORD.findall(folded)]


def _segment(text: str) -> list[str]:
    import rjieba  # noqa: PLC0415

    segmenter: Any = rjieba
    # A lone surrogate cannot be handed to the segmenter.
    return [str(word) for word in segmenter.cut(text.encode("utf-8", "replace").decode("utf-8"))]
