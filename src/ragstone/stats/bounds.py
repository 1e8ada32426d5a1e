"""How many items of a set can be bad, by a random sample of them: exact, also where the sample is much of the set."""

import math

from ragstone.stats.intervals import beta_quantile

_CONFIDENCE = 0.95
_ROUNDING = 1e-9


def bad_interval(bad: int, n: int, population: int | None = None) -> tuple[float, float]:
    """The 95% interval of the share of bad items, of which `bad` of `n` drawn ones are. It misses the share in at most
    2.5% on either side.

    `population`: the number of items that were drawn from, of which the sample is a part that matters: their bad ones
    have the hypergeometric distribution (Wright 1991). None: so many that it does not (Clopper and Pearson 1934).
    ValueError unless 0 ≤ bad ≤ n ≤ population."""
    _check(bad, n, population)
    outside = (1 - _CONFIDENCE) / 2
    return 1 - _upper(n - bad, n, population, outside), _upper(bad, n, population, outside)


def at_most(bad: int, n: int, population: int | None = None, *, confidence: float = _CONFIDENCE) -> float:
    """The share of bad items that is not exceeded, with this confidence; arguments as for `bad_interval`."""
    _check(bad, n, population)
    return _upper(bad, n, population, 1 - confidence)


def sample_needed(
    most: float, bad: int = 0, population: int | None = None, *, confidence: float = _CONFIDENCE
) -> int | None:
    """The smallest sample by which `at_most` is no more than `most` if `bad` items of it are bad; None if none is."""
    if not 0 < most < 1:
        raise ValueError(f"A share of bad items is between 0 and 1, not {most:g}.")

    def holds(n: int) -> bool:
        return at_most(bad, n, population, confidence=confidence) <= most

    high = max(bad, 1) if population is None else population
    while population is None and not holds(high):
        high *= 2
    if high < max(bad, 1) or not holds(high):
        return None
    low = max(bad, 1) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _check(bad: int, n: int, population: int | None) -> None:
    if not 0 <= bad <= n or (population is not None and n > population):
        raise ValueError(f"{bad} bad ones of {n} are no sample of {population} items.")


def _upper(bad: int, n: int, population: int | None, outside: float) -> float:
    """The largest share of bad items with which so few, or fewer, are drawn with more than this chance."""
    if population is None:
        return 1.0 if bad == n else beta_quantile(1 - outside, bad + 1, n - bad)
    outside *= 1 + _ROUNDING  # a chance that is exactly that share is no reason to allow for it
    low, high = bad, population - (n - bad) + 1  # with `low` it is likely enough; so many as `high` there cannot be
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _chance(bad, n, middle, population) > outside else (low, middle)
    return low / population if population else 1.0


def _chance(bad: int, n: int, all_bad: int, population: int) -> float:
    """The chance to draw at most `bad` of `all_bad` bad items in `n` of the population."""
    good = population - all_bad
    least = max(0, n - good)
    terms = (
        _log_choose(all_bad, drawn) + _log_choose(good, n - drawn) - _log_choose(population, n)
        for drawn in range(least, min(bad, all_bad, n) + 1)
    )
    return math.fsum(map(math.exp, terms))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
