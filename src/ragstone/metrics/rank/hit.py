"""Whether anything relevant was retrieved."""

from dataclasses import dataclass

from ragstone.metrics.rank._lists import Ranking, RankMetric, plugins

__all__ = ["PLUGINS", "Hit"]


@dataclass(frozen=True)
class Hit(RankMetric):
    """`hit` and `hit@k`: 1.0 if at least one of the (first k) passages is relevant, else 0.0.

    Formula: 1 if any of the first k is relevant, else 0.
    Range: 0 or 1, higher is better.
    Needs: passages, labels (passages of the sample that are known to be relevant).
    Evidence: {"places": of the relevant ones in the list, from 1; "retrieved": how many passages the list has,
    "relevant": how many are known to be relevant}.
    Source: the usual name for success at k; trec_eval: `success_k`.

    | case | result |
    |---|---|
    | fewer than k were retrieved | the missing ones are not relevant |
    | a passage stands twice | it counts once, at its first place; those after it move up |
    | nothing relevant was retrieved | 0 |
    | no passages | not applicable: no list was recorded |
    | nothing was retrieved | 0 |
    | no passage is known to be relevant | not applicable; trec_eval leaves such questions out |
    """

    stem = "hit"

    def value(self, ranking: Ranking, /) -> float:
        return float(ranking.hits(self.k) > 0)


PLUGINS = plugins(Hit)
