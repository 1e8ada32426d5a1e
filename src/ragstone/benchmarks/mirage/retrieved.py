"""Scores of what retrievers found, with intervals. A distinct list is scored once, however many questions have it."""

import math
from collections import Counter
from collections.abc import Callable, Iterable

from ragstone.benchmarks.mirage.aggregate import Tally
from ragstone.benchmarks.mirage.official import KS, retrieval_scores
from ragstone.stats import Estimate, bootstrap_mean

__all__ = ["MANY", "SCORES", "mean_of", "retrieved", "shown_ks"]

SCORES = ("f1", "precision", "recall", "ndcg", "ndcg_textbook")
MANY = 2000
"""Above so many questions a mean's interval is the normal one, which is the bootstrap's to three digits by then."""

_Z = 1.959963984540054
_OFFICIAL_DEPTH = max(KS)


def mean_of(values: Counter[float], *, total: int | None = None) -> Estimate:
    """Of values in [0, 1] and how often each occurs; `total` questions were asked, those with a value by default."""
    n = values.total()
    total = n if total is None else total
    if not n:
        return Estimate(total=total)
    mean = math.fsum(value * number for value, number in values.items()) / n
    if n <= MANY:
        return Estimate(mean, *bootstrap_mean(sorted(values.elements())), n, total)
    squares = math.fsum(number * (value - mean) ** 2 for value, number in values.items())
    half = _Z * math.sqrt(squares / (n - 1) / n)
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half), n, total)


def retrieved(
    tally: Tally, retriever: str, chunk: int, k: int, *, within: Callable[[int], bool] | None = None
) -> dict[str, Counter[float]]:
    """Score → its values at k over the questions (those of the sources that are `within`). The official NDCG takes its
    ideal from the list of five that the official program retrieves, or from more where k is more."""
    lists: Iterable[tuple[str, int]]
    held = tally.found.get((retriever, chunk), {})
    lists = held.values() if within is None else (one for at, one in held.items() if within(tally.source_of[at]))
    scores: dict[str, Counter[float]] = {name: Counter() for name in SCORES}
    for (found, labels), number in Counter(lists).items():
        relevant = [one == "1" for one in found[: max(k, _OFFICIAL_DEPTH)]]
        for name, value in retrieval_scores({"": relevant}, {"": labels}, k).items():
            scores[name][value] += number
    return scores


def shown_ks(tally: Tally, asked: Iterable[object], retriever: str, chunk: int) -> list[int]:
    """The k of a retriever's rows: those that were asked for, as far as the lists reach. A run of retrieval alone has
    one list a question, from which all of them are taken."""
    held = tally.found.get((retriever, chunk), {})
    deepest = max((len(found) for found, _ in held.values()), default=0)
    wanted = {k for k in asked if isinstance(k, int) and not isinstance(k, bool)} or tally.ks
    return sorted(k for k in wanted if 1 <= k <= max(deepest, *tally.ks))
