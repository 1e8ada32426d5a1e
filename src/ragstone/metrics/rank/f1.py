"""Precision and recall of what was retrieved, in one."""

from dataclasses import dataclass

from ragstone.metrics.rank._lists import Ranking, RankMetric, plugins

__all__ = ["F1", "PLUGINS"]


@dataclass(frozen=True)
class F1(RankMetric):
    """`f1` and `f1@k`: the harmonic mean of `precision` and `recall` (of the first k).

    Formula: 2PR / (P + R), and 0 if nothing relevant was retrieved; P and R as `precision@k` and `recall@k`.
    Range: 0 to 1, higher is better.
    Needs: passages, labels (passages of the sample that are known to be relevant).
    Evidence: {"places": of the relevant ones in the list, from 1; "retrieved": how many passages the list has,
    "relevant": how many are known to be relevant}.
    Source: Manning et al. 2008, "Introduction to Information Retrieval", §8.3; trec_eval: `set_F`, without k only.

    | case | result |
    |---|---|
    | fewer than k were retrieved | the missing ones are not relevant: it divides by k all the same |
    | a passage stands twice | it counts once, at its first place; those after it move up |
    | nothing relevant was retrieved | 0 |
    | no passages | not applicable: no list was recorded |
    | nothing was retrieved | 0 |
    | no passage is known to be relevant | not applicable; trec_eval leaves such questions out |
    """

    stem = "f1"

    def value(self, ranking: Ranking, /) -> float:
        hits = ranking.hits(self.k)
        # 2PR / (P + R) with P = hits / k and R = hits / relevant.
        return 2 * hits / ((self.k or ranking.length) + len(ranking.ideal))


PLUGINS = plugins(F1)
