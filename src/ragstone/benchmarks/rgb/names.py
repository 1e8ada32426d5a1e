"""How rows, languages and figures of RGB are named and ordered."""

from collections.abc import Mapping

from ragstone.benchmarks.rgb.aggregate import ABILITIES, Key
from ragstone.stats import Estimate

__all__ = ["by_language", "data_name", "language_name", "ratio_text", "share_text"]

_ORDER = ("en", "zh")


def ratio_text(ratio: float) -> str:
    """A noise ratio as the paper writes it: 0, 0.2 … 1."""
    return f"{ratio:.4g}"


def share_text(share: Estimate) -> str:
    """A share as words give it: 94.7%."""
    return "–" if share.value is None else f"{100 * share.value:.1f}%"


def language_name(language: str, words: Mapping[str, str]) -> str:
    """The name of a language of the questions, as the report's language calls it."""
    return words[language] if language in _ORDER else language


def data_name(language: str, dataset: str, words: Mapping[str, str]) -> str:
    """What a row's questions are called: the language, and the data set where it has a name."""
    return words["separator"].join(part for part in (language_name(language, words), dataset) if part)


def by_language(key: Key) -> tuple[str | int | float, ...]:
    """Sorts conditions by system, then English before Chinese before any other, then as the paper has its tables."""
    place = _ORDER.index(key.language) if key.language in _ORDER else len(_ORDER)
    ability = ABILITIES.index(key.ability) if key.ability in ABILITIES else len(ABILITIES)
    return (
        key.system, place, key.language, ability, key.dataset, not key.closed_book, key.correct_rate, key.noise_ratio
    )  # fmt: skip
