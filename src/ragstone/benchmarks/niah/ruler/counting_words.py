"""RULER's lists of words: common words in a numbered list, and frequent words of a code."""

import math
import string
from collections.abc import Sequence
from functools import cache, partial
from itertools import islice
from random import Random

from ragstone.benchmarks.niah.needles import NeedleQuestion
from ragstone.benchmarks.niah.ruler.texts import example, other_keys, prompts, words
from ragstone.benchmarks.niah.word_lists import ListSource
from ragstone.datasets.fictional.parts import pick, sample, seeded, shuffled

_COMMON, _FREQUENT = 10, 3  # words that are asked for
_FULL = 4096  # in shorter contexts words occur less often, and the example is shorter, as in RULER
_SINGLE = 8192  # in longer contexts there are not enough words: pairs of words take their place
_MANY = 200_000
_PAIRS, _MANY_PAIRS = 12_000, 60_000
_CODED = 1000


@cache
def _single_words(language: str) -> tuple[str, ...]:
    return tuple(word for part in words(language) for word in part)


@cache
def _pairs(count: int, language: str) -> tuple[str, ...]:
    return tuple(islice(other_keys(language, seeded("ragstone", "pairs", language)), count))


@cache
def _coded_words(language: str) -> tuple[str, ...]:
    """Words of six random letters, in Chinese of three characters."""
    rng = seeded("ragstone", "coded", language)
    chinese = language == "zh"
    letters = sorted(set("".join(_single_words(language)))) if chinese else string.ascii_lowercase
    made: dict[str, None] = {}
    while len(made) < _CODED:
        made["".join(pick(rng, letters) for _ in range(3 if chinese else 6))] = None
    return tuple(made)


def _common_counts(often: int, seldom: int, size: int) -> list[int]:
    """How often each of `size` words occurs."""
    return [often] * min(size, _COMMON) + [seldom] * (size - _COMMON)


def _zeta_counts(size: int) -> list[int]:
    """The word of rank k occurs size / (k² ζ(2)) times, rounded down: a zeta distribution with α = 2."""
    counts: list[int] = []
    while count := int(size / ((len(counts) + 1) ** 2 * math.pi**2 / 6)):
        counts.append(count)
    return counts


COMMON_SOURCES = (
    (0, ListSource("common-few", _single_words, partial(_common_counts, 6, 1), {}, numbered=True)),
    (_FULL, ListSource("common", _single_words, partial(_common_counts, 30, 3), {}, numbered=True)),
    (
        _SINGLE + 1,
        ListSource("common-pairs", partial(_pairs, _PAIRS), partial(_common_counts, 30, 3), {}, numbered=True),
    ),
    (_MANY, ListSource("common-many", partial(_pairs, _MANY_PAIRS), partial(_common_counts, 30, 3), {}, numbered=True)),
)
"""(shortest length, lists): what is asked for is said 30 times, everything else 3 times."""
FREQUENT_SOURCE = ListSource(
    "frequent", _coded_words, _zeta_counts, {language: texts.noise for language, texts in prompts().fwe.items()}
)


def common_words(language: str, rng: Random, excluded: frozenset[str], length: int) -> NeedleQuestion:
    """Ten words that occur more often than any other of the list. Before it, an example."""
    del excluded
    texts = prompts().cwe[language]
    pool = _single_words(language) if length <= _SINGLE else _pairs(_PAIRS, language)
    size, often, seldom = (20, 3, 1) if length < _FULL else (40, 10, 3)
    drawn = sample(rng, pool, _COMMON + size)
    asked, shown = drawn[:_COMMON], drawn[_COMMON:]
    counts = _common_counts(often, seldom, size)
    entries = shuffled(rng, [word for word, count in zip(shown, counts, strict=True) for _ in range(count)])
    first = example(texts, _numbered(entries), _numbered(shown[:_COMMON]))
    return NeedleQuestion(
        texts.question, tuple(asked), tuple((word,) for word in asked), before=f"{first}\n{texts.before}",
        reply=texts.reply, form="list",
    )  # fmt: skip


def _numbered(entries: Sequence[str]) -> str:
    return " ".join(f"{number}. {word}" for number, word in enumerate(entries, start=1))


def frequent_words(language: str, rng: Random, excluded: frozenset[str], length: int) -> NeedleQuestion:
    """The three most frequent coded words, most frequent first; only the noise is more frequent."""
    del excluded, length
    texts = prompts().fwe[language]
    asked = tuple(sample(rng, _coded_words(language), _FREQUENT))
    slots = tuple((word,) for word in asked)
    return NeedleQuestion(texts.question, asked, slots, before=texts.before, reply=texts.reply, form="list")
