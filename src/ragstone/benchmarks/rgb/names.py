"""Names and order of RGB's rows, languages and figures."""

from collections.abc import Mapping

from ragstone.benchmarks.rgb.aggregate import ABILITIES, RgbKey
from ragstone.stats import Estimate

__all__ = ["by_language", "data_name", "language_name", "ratio_text", "share_text"]

_ORDER = ("en", "zh")


def ratio_text(ratio: float) -> str:
    """A noise ratio as the paper writes it: 0, 0.2 … 1."""
    return f"{ratio:.4g}"


def share_text(share: Estimate) -> str:
    """A share as text: 94.7%."""
    return "–" if share.value is None else f"{100 * share.value:.1f}%"


def language_name(language: str, words: Mapping[str, str]) -> str:
    """The name of the questions' language, in the language of the report."""
    return words[language] if language in _ORDER else language


def data_name(language: str, dataset: str, words: Mapping[str, str]) -> str:
    """The name of a row's questions: the language, and the data set if it has a name."""
    return words["separator"].join(part for part in (language_name(language, words), dataset) if part)


def by_language(key: RgbKey) -> tuple[str | int | float, ...]:
    """A sort key for conditions: system, English before Chinese before others, then the order of the paper's tables."""
    place = _ORDER.index(key.language) if key.language in _ORDER else len(_ORDER)
    ability = ABILITIES.index(key.ability) if key.ability in ABILITIES else len(ABILITIES)
    return (
        key.system, place, key.language, ability, key.dataset, not key.closed_book, key.correct_rate, key.noise_ratio
    )  # fmt: skip
