"""Measures of a ranked list of passages against labels, as trec_eval computes them.

`recall` measures the whole list, `recall@5` its first five passages; the other measures work in the same way. The list
is what the answer was made from, in its order; `recall@5 fetched`, `recall@5 reranked` and `recall@5 prompted` measure
the list at that stage of the system; the scores of passages make no difference. The labels are the passages of the
sample that are known to be relevant (`relevant`), with a `grade` in their `meta` if some are more relevant than others
(1 by default); a passage without a label counts as not relevant. Passages are the same if their ids are. A passage that
was retrieved twice counts once, at its first place, and those after it move up, because a list of trec_eval holds each
document once. If a benchmark retrieves, the list is as deep as its search (`meta["ranking"]` of the sample), whatever a
model was given.

| case | result |
|---|---|
| fewer than k were retrieved | `precision@k` still divides by k; the missing ones are not relevant |
| nothing relevant was retrieved | 0 |
| nothing was retrieved | 0 if a benchmark searched; else not applicable: the list may not have been recorded |
| no passage of the sample is known to be relevant | not applicable; trec_eval leaves such queries out |
"""

from ragstone.metrics.rank._batch import scored_lists
from ragstone.metrics.rank._lists import GOLD_DOCUMENTS, RankMetric, document_of
from ragstone.metrics.rank.measures import PLUGINS

__all__ = ["GOLD_DOCUMENTS", "PLUGINS", "RankMetric", "document_of", "scored_lists"]
