"""Whether the most relevant passages stand first."""

import math
from dataclasses import dataclass
from functools import cache, lru_cache

from ragstone.metrics.rank._lists import Ranking, RankMetric, plugins

__all__ = ["PLUGINS", "Ndcg"]


@dataclass(frozen=True)
class Ndcg(RankMetric):
    """`ndcg` and `ndcg@k`: the discounted gain of the (first k) passages, of the best that any list could have.

    Formula: DCG / ideal DCG, DCG = Σ grade_i / log2(i + 1) over the first k places i; the ideal list holds all that are
    known to be relevant, the highest grade first, cut at k too. The gain is the grade itself, as in trec_eval and
    pytrec_eval. Others take 2^grade - 1 (Burges et al. 2005), which is the same for grades of 0 and 1 and lower where a
    high grade stands late: grades 1, 3 in this order give 0.797 here and 0.710 there.
    Range: 0 to 1, higher is better.
    Needs: passages, labels (passages of the sample that are known to be relevant).
    Evidence: {"places": of the relevant ones in the list, from 1; "retrieved": how many passages the list has,
    "relevant": how many are known to be relevant}.
    Source: Järvelin and Kekäläinen 2002, "Cumulated Gain-Based Evaluation of IR Techniques"; trec_eval:
    `ndcg_cut_k`, `ndcg`.

    | case | result |
    |---|---|
    | fewer than k were retrieved | the missing ones are not relevant |
    | a passage stands twice | it counts once, at its first place; those after it move up |
    | nothing relevant was retrieved | 0 |
    | no passages | not applicable: no list was recorded |
    | nothing was retrieved | 0 |
    | no passage is known to be relevant | not applicable; trec_eval leaves such questions out |
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


PLUGINS = plugins(Ndcg)
