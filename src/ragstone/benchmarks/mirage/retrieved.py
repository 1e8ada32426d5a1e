"""Retrieval scores with intervals. Each distinct list is scored once, however many questions share it."""

from collections import Counter
from collections.abc import Iterable

from ragstone.benchmarks.mirage.aggregate import MirageTally
from ragstone.benchmarks.mirage.official import KS, retrieval_scores
from ragstone.stats import Estimate

SCORES = ("f1", "precision", "recall", "ndcg", "ndcg_textbook")
_OFFICIAL_DEPTH = max(KS)


def mean_of(values: Counter[float]) -> Estimate:
    """The mean of values in [0, 1] with their frequencies, one per question."""
    return Estimate.of_mean(sorted(values.elements()), total=values.total())


def retrieved(
    tally: MirageTally, retriever: str, chunk: int, k: int, *, source: int | None = None
) -> dict[str, Counter[float]]:
    """Score → its values at k over the questions (of one source). The official NDCG takes its ideal from the
    list of five that the official program retrieves, or from a longer list if k is larger; of a recorded list, from all
    of it, as the official program does with the files that it reads."""
    lists_by_question = tally.found.get((retriever, chunk), {})
    lists = (item for at, item in lists_by_question.items() if source in (None, tally.source_of[at]))
    scores: dict[str, Counter[float]] = {name: Counter() for name in SCORES}
    depth = None if retriever.startswith("run:") else max(k, _OFFICIAL_DEPTH)
    for (found, labels), number in Counter(lists).items():
        relevant = [item == "1" for item in found[:depth]]
        for name, value in retrieval_scores({"": relevant}, {"": labels}, k).items():
            scores[name][value] += number
    return scores


def any_found(tally: MirageTally, retriever: str, chunk: int, k: int) -> Estimate:
    """The share of the questions with at least one supporting chunk among the first k."""
    lists = tally.found.get((retriever, chunk), {}).values()
    return mean_of(Counter(float("1" in found[:k]) for found, _ in lists))


def shown_ks(tally: MirageTally, asked: Iterable[object], retriever: str, chunk: int) -> list[int]:
    """The k of a retriever's rows: the requested ones, up to the length of the lists. A retrieval-only run has one list
    per question for all k."""
    lists_by_question = tally.found.get((retriever, chunk), {})
    deepest = max((len(found) for found, _ in lists_by_question.values()), default=0)
    ks = {k for k in asked if isinstance(k, int) and not isinstance(k, bool)} or tally.ks
    return sorted(k for k in ks if 1 <= k <= max(deepest, *tally.ks))
