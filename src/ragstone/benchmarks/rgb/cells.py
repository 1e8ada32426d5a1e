"""From counters to cells: proportions with their intervals, and how rows and languages are named."""

from collections.abc import Iterable, Mapping

from ragstone.benchmarks.rgb.counts import ABILITIES, Key, Tally
from ragstone.benchmarks.rgb.counts import Cell as Condition
from ragstone.stats import bootstrap_mean, wilson, wilson_clustered
from ragstone.types import Cell

__all__ = [
    "asked",
    "by_language",
    "data_name",
    "difference",
    "interval",
    "language_name",
    "proportion",
    "ratio_text",
    "share_text",
]

_ORDER = ("en", "zh")


def interval(pairs: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """The 95% interval of a proportion from (right, scored) of each question: Wilson's, clustered where a question
    was scored more than once."""
    counts = list(pairs)
    if all(tried <= 1 for _, tried in counts):
        return wilson(sum(won for won, _ in counts), sum(tried for _, tried in counts))
    return wilson_clustered(counts)


def proportion(tally: Tally | None, total: int, words: Mapping[str, str], *, empty: str = "not_scored") -> Cell:
    """A share with its interval and `scored` of `total`; a text where nothing was scored."""
    if tally is None or not tally.scored:
        return Cell(words[empty])
    low, high = interval(tally.samples.values())
    return Cell(value=tally.won / tally.scored, low=low, high=high, scored=tally.scored, total=total, unit="%")


def difference(tally: Tally | None, total: int, words: Mapping[str, str], *, empty: str) -> Cell:
    """The mean of differences between -1 and 1 with its bootstrap interval over questions; without an interval where
    all differences are equal, because then a bootstrap tells nothing of the spread."""
    if tally is None or not tally.scored:
        return Cell(words[empty])
    values: list[float] = []
    groups: list[str] = []
    for sample, (won, tried) in tally.samples.items():
        values += [won / tried] * tried
        groups += [sample] * tried
    mean = tally.won / tally.scored
    if len(set(values)) == 1:
        return Cell(value=mean, scored=tally.scored, total=total, unit="%")
    low, high = bootstrap_mean(values, groups=groups)
    return Cell(value=mean, low=low, high=high, scored=tally.scored, total=total, unit="%")


def ratio_text(ratio: float) -> str:
    """A noise ratio as the paper writes it: 0, 0.2 … 1."""
    return f"{ratio:.4g}"


def share_text(tally: Tally) -> str:
    """A share as words give it: 94.7%."""
    return f"{100 * tally.won / tally.scored:.1f}%" if tally.scored else "–"


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


def asked(condition: Condition | None) -> int:
    """How many answers were asked for under a condition."""
    return 0 if condition is None else condition.total
