"""Whether all relevant passages come soon."""

import math
from dataclasses import dataclass

from ragstone.metrics.rank._lists import Ranking, RankMetric, plugins

__all__ = ["PLUGINS", "AveragePrecision"]


@dataclass(frozen=True)
class AveragePrecision(RankMetric):
    """`map` and `map@k`: the average precision; its mean over questions is the mean average precision.

    Formula: Σ precision@i over the places i (up to k) of relevant passages / all that are known to be relevant.
    Range: 0 to 1, higher is better.
    Needs: passages, labels (passages of the sample that are known to be relevant).
    Evidence: {"places": of the relevant ones in the list, from 1; "retrieved": how many passages the list has,
    "relevant": how many are known to be relevant}.
    Source: Manning et al. 2008, "Introduction to Information Retrieval", §8.4; trec_eval: `map_cut_k`, `map`.

    | case | result |
    |---|---|
    | fewer than k were retrieved | the missing ones are not relevant |
    | a passage stands twice | it counts once, at its first place; those after it move up |
    | nothing relevant was retrieved | 0 |
    | no passages | not applicable: no list was recorded |
    | nothing was retrieved | 0 |
    | no passage is known to be relevant | not applicable; trec_eval leaves such questions out |
    """

    stem = "map"

    def value(self, ranking: Ranking, /) -> float:
        places = ranking.places[: ranking.hits(self.k)]
        return math.fsum(hit / place for hit, place in enumerate(places, start=1)) / len(ranking.ideal)


PLUGINS = plugins(AveragePrecision)
