"""How soon the first relevant passage comes."""

from dataclasses import dataclass

from ragstone.metrics.rank._lists import Ranking, RankMetric, plugins

__all__ = ["PLUGINS", "Mrr"]


@dataclass(frozen=True)
class Mrr(RankMetric):
    """`mrr` and `mrr@k`: 1 / the place of the first relevant passage; the mean over questions is the mean reciprocal
    rank.

    Formula: 1 / place of the first relevant passage, 0 if none is among the (first k) retrieved.
    Range: 0 to 1, higher is better.
    Needs: passages, labels (passages of the sample that are known to be relevant).
    Evidence: {"places": of the relevant ones in the list, from 1; "retrieved": how many passages the list has,
    "relevant": how many are known to be relevant}.
    Source: Voorhees 1999, "The TREC-8 Question Answering Track Report"; trec_eval: `recip_rank`.

    | case | result |
    |---|---|
    | fewer than k were retrieved | the missing ones are not relevant |
    | a passage stands twice | it counts once, at its first place; those after it move up |
    | nothing relevant was retrieved | 0 |
    | no passages | not applicable: no list was recorded |
    | nothing was retrieved | 0 |
    | no passage is known to be relevant | not applicable; trec_eval leaves such questions out |
    """

    stem = "mrr"

    def value(self, ranking: Ranking, /) -> float:
        return 1 / ranking.places[0] if ranking.hits(self.k) else 0.0


PLUGINS = plugins(Mrr)
