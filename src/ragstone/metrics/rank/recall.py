"""How much of what is relevant was retrieved."""

from dataclasses import dataclass

from ragstone.metrics.rank._lists import Ranking, RankMetric, plugins

__all__ = ["PLUGINS", "Recall"]


@dataclass(frozen=True)
class Recall(RankMetric):
    """`recall` and `recall@k`: the share of the relevant passages that are among the (first k) retrieved.

    Formula: relevant ones in the first k / all that are known to be relevant.
    Range: 0 to 1, higher is better.
    Needs: passages, labels (passages of the sample that are known to be relevant).
    Evidence: {"places": of the relevant ones in the list, from 1; "retrieved": how many passages the list has,
    "relevant": how many are known to be relevant}.
    Source: Manning et al. 2008, "Introduction to Information Retrieval", §8.3; trec_eval: `recall_k`, `set_recall`.

    | case | result |
    |---|---|
    | fewer than k were retrieved | the missing ones are not relevant |
    | a passage stands twice | it counts once, at its first place; those after it move up |
    | nothing relevant was retrieved | 0 |
    | no passages | not applicable: no list was recorded |
    | nothing was retrieved | 0 |
    | no passage is known to be relevant | not applicable; trec_eval leaves such questions out |
    """

    stem = "recall"

    def value(self, ranking: Ranking, /) -> float:
        return ranking.hits(self.k) / len(ranking.ideal)


PLUGINS = plugins(Recall)
