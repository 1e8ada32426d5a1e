"""The words of a text that carry content.

Chinese is compared by character pairs instead of segmented words, because a segmenter may split the same invented name
differently in the answer and in the passage.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from ragstone.text.folding import fold

_HAN = "\u3400-\u9fff\uf900-\ufaff"
_OTHER = rf"[^\W_{_HAN}]+(?:[.,]\d+)*"
_RUNS = re.compile(rf"(?P<han>[{_HAN}]+)|{_OTHER}")
_OTHERS = re.compile(_OTHER)


@cache
def _common() -> frozenset[str]:
    """Function words, which carry no content."""
    return frozenset((files("ragstone.text") / "common_words.txt").read_text(encoding="utf-8").split())


def places(text: str, language: str) -> Iterator[tuple[str, int, int]]:
    """The folded content words of a text with their positions: (word, start, end).

    A run of Chinese characters yields its pairs, except those that contain a function word; a single character yields
    itself."""
    folded = fold(text, language)
    common = _common()
    for run in _RUNS.finditer(folded.text):
        word, start = run[0], run.start()
        if not run["han"]:
            if word not in common:
                yield word, *folded.span(start, run.end())
        elif len(word) == 1:
            if word not in common:
                yield word, *folded.span(start, start + 1)
        else:
            for at in range(len(word) - 1):
                pair = word[at : at + 2]
                if pair not in common and pair[0] not in common and pair[1] not in common:
                    yield pair, *folded.span(start + at, start + at + 2)


def content_words(text: str, language: str) -> frozenset[str]:
    """The content words of a text."""
    return frozenset(word for word, _, _ in places(text, language))


def words_in(text: str, words: frozenset[str], language: str) -> frozenset[str]:
    """Which of these content words a text contains: Chinese pairs anywhere, other words only as whole words."""
    folded = fold(text, language).text
    whole_words = set(_OTHERS.findall(folded))
    return frozenset(word for word in words if word in whole_words or (word[0] >= "\u3400" and word in folded))
