"""The measures of a ranked list. What their docstrings share is in `_SHARED`."""

import inspect
import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeVar

from ragstone.metrics.rank._lists import Family, Ranking, RankMetric, plugins

PLUGINS: dict[str, RankMetric | Family] = {}
_SHARED = """
Needs: passages, labels (passages of the sample that are known to be relevant).
Evidence: {"places": of the relevant ones in the list, from 1; "retrieved": how many passages the list has,
"relevant": how many are known to be relevant}.

| case | result |
|---|---|
| fewer than k were retrieved | the missing ones are not relevant |
| a passage was retrieved twice | it counts once, at its first place; those after it move up |
| nothing relevant was retrieved | 0 |
| no passages | not applicable: no list was recorded |
| nothing was retrieved | 0 |
| no passage is known to be relevant | not applicable; trec_eval leaves such questions out |
"""
Kind = TypeVar("Kind", bound=type[RankMetric])


def _measure(kind: Kind) -> Kind:
    """Registers a measure of the whole list and of its first k, as an immutable value, and completes its docstring."""
    kind.__doc__ = f"{inspect.getdoc(kind)}\n{_SHARED.lstrip()}"
    PLUGINS.update(plugins(dataclass(frozen=True)(kind)))
    return kind


@_measure
class Hit(RankMetric):
    """`hit` and `hit@k`: 1.0 if at least one of the (first k) passages is relevant, else 0.0.

    Formula: 1 if any of the first k is relevant, else 0.
    Range: 0 or 1, higher is better.
    Source: the usual name for success at k; trec_eval: `success_k`.
    """

    stem = "hit"

    def value(self, ranking: Ranking, /) -> float:
        return float(ranking.hits(self.k) > 0)


@_measure
class Recall(RankMetric):
    """`recall` and `recall@k`: the share of the relevant passages that are among the (first k) retrieved.

    Formula: relevant ones in the first k / all that are known to be relevant.
    Range: 0 to 1, higher is better.
    Source: Manning et al. 2008, "Introduction to Information Retrieval", §8.3; trec_eval: `recall_k`, `set_recall`.
    """

    stem = "recall"

    def value(self, ranking: Ranking, /) -> float:
        return ranking.hits(self.k) / len(ranking.ideal)


@_measure
class Precision(RankMetric):
    """`precision` and `precision@k`: the share of the (first k) retrieved passages that are relevant.

    Formula: relevant ones in the first k / k, even if fewer than k were retrieved; without k: relevant ones / all that
    were retrieved.
    Range: 0 to 1, higher is better.
    Source: Manning et al. 2008, "Introduction to Information Retrieval", §8.3; trec_eval: `P_k`, `set_P`.
    """

    stem = "precision"

    def value(self, ranking: Ranking, /) -> float:
        return ranking.hits(self.k) / (self.k or ranking.length or 1)


@_measure
class F1(RankMetric):
    """`f1` and `f1@k`: the harmonic mean of `precision` and `recall` (of the first k).

    Formula: 2PR / (P + R), and 0 if nothing relevant was retrieved; P and R as `precision@k` and `recall@k`.
    Range: 0 to 1, higher is better.
    Source: Manning et al. 2008, "Introduction to Information Retrieval", §8.3; trec_eval: `set_F`, without k only.
    """

    stem = "f1"

    def value(self, ranking: Ranking, /) -> float:
        hits = ranking.hits(self.k)
        # 2PR / (P + R) with P = hits / k and R = hits / relevant.
        return 2 * hits / ((self.k or ranking.length) + len(ranking.ideal))


@_measure
class Mrr(RankMetric):
    """`mrr` and `mrr@k`: 1 / the place of the first relevant passage; the mean over questions is the mean reciprocal
    rank.

    Formula: 1 / place of the first relevant passage, 0 if none is among the (first k) retrieved.
    Range: 0 to 1, higher is better.
    Source: Voorhees 1999, "The TREC-8 Question Answering Track Report"; trec_eval: `recip_rank`.
    """

    stem = "mrr"

    def value(self, ranking: Ranking, /) -> float:
        return 1 / ranking.places[0] if ranking.hits(self.k) else 0.0


@_measure
class AveragePrecision(RankMetric):
    """`map` and `map@k`: the average precision; its mean over questions is the mean average precision.

    Formula: Σ precision@i over the places i (up to k) of relevant passages / all that are known to be relevant.
    Range: 0 to 1, higher is better.
    Source: Manning et al. 2008, "Introduction to Information Retrieval", §8.4; trec_eval: `map_cut_k`, `map`.
    """

    stem = "map"

    def value(self, ranking: Ranking, /) -> float:
        places = ranking.places[: ranking.hits(self.k)]
        return math.fsum(hit / place for hit, place in enumerate(places, start=1)) / len(ranking.ideal)


@_measure
class Ndcg(RankMetric):
    """`ndcg` and `ndcg@k`: the discounted gain of the (first k) passages, divided by that of the best possible list.

    Formula: DCG / ideal DCG, DCG = Σ grade_i / log2(i + 1) over the first k places i; the ideal list holds all that are
    known to be relevant, the highest grade first, cut at k too. The gain is the grade itself, as in trec_eval and
    pytrec_eval. Others take 2^grade - 1 (Burges et al. 2005), which is the same for grades of 0 and 1 and lower if a
    high grade comes late: grades 1, 3 in this order give 0.797 here and 0.710 there.
    Range: 0 to 1, higher is better.
    Source: Järvelin and Kekäläinen 2002, "Cumulated Gain-Based Evaluation of IR Techniques"; trec_eval:
    `ndcg_cut_k`, `ndcg`.
    """

    stem = "ndcg"

    def value(self, ranking: Ranking, /) -> float:
        hits = ranking.hits(self.k)
        if not hits:
            return 0.0
        gained = math.fsum(
            gain * _discount(place) for place, gain in zip(ranking.places[:hits], ranking.gains[:hits], strict=True)
        )
        return gained / _ideal(ranking.ideal[: self.k])


# Places and sets of grades are few, and the same in list after list.


@cache
def _discount(place: int) -> float:
    return 1 / math.log2(place + 1)


@lru_cache(maxsize=4096)
def _ideal(grades: tuple[float, ...]) -> float:
    return math.fsum(grade * _discount(place) for place, grade in enumerate(grades, start=1))
