"""How much of what was retrieved is relevant."""

from dataclasses import dataclass

from ragstone.metrics.rank._lists import Ranking, RankMetric, plugins

__all__ = ["PLUGINS", "Precision"]


@dataclass(frozen=True)
class Precision(RankMetric):
    """`precision` and `precision@k`: the share of the (first k) retrieved passages that are relevant.

    Formula: relevant ones in the first k / k; without k: relevant ones / all that were retrieved.
    Range: 0 to 1, higher is better.
    Needs: passages, labels (passages of the sample that are known to be relevant).
    Evidence: {"places": of the relevant ones in the list, from 1; "retrieved": how many passages the list has,
    "relevant": how many are known to be relevant}.
    Source: Manning et al. 2008, "Introduction to Information Retrieval", §8.3; trec_eval: `P_k`, `set_P`.

    | case | result |
    |---|---|
    | fewer than k were retrieved | the missing ones are not relevant: it divides by k all the same |
    | a passage stands twice | it counts once, at its first place; those after it move up |
    | nothing relevant was retrieved | 0 |
    | no passages | not applicable: no list was recorded |
    | nothing was retrieved | 0 |
    | no passage is known to be relevant | not applicable; trec_eval leaves such questions out |
    """

    stem = "precision"

    def value(self, ranking: Ranking, /) -> float:
        return ranking.hits(self.k) / (self.k or ranking.length or 1)


PLUGINS = plugins(Precision)
