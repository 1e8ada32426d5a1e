"""Measures of a ranked list of passages against labels, as trec_eval computes them. One a module.

`recall` is about the whole list, `recall@5` about its first five; so with all of them. The list is what was retrieved,
in its order; scores of passages make no difference. The labels are the passages of the sample that are known to be
relevant (`relevant`), with a `grade` in their `meta` where some are more relevant than others (1 where none is given);
a passage without a label counts as not relevant. Passages are the same where their ids are. One that was retrieved
twice counts once, at its first place, and those after it move up: a list of trec_eval holds each document once. Where a
benchmark retrieves, the list is as deep as was searched (`meta["ranking"]` of the sample), whatever a model was given.

| case | result |
|---|---|
| fewer than k were retrieved | `precision@k` divides by k all the same; the missing ones are not relevant |
| nothing relevant was retrieved | 0 |
| nothing was retrieved | 0 where a benchmark searched; else not applicable: the list may not have been recorded |
| no passage of the sample is known to be relevant | not applicable; trec_eval leaves such queries out |
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any

from ragstone.metrics.rank import _batch
from ragstone.metrics.rank._lists import RankMetric

__all__ = ["PLUGINS", "RankMetric", "scored_lists"]

PLUGINS: dict[str, Any] = {
    name: plugin
    for module in pkgutil.iter_modules(__path__)
    if not module.name.startswith("_")
    for name, plugin in importlib.import_module(f"{__name__}.{module.name}").PLUGINS.items()
}


def scored_lists(
    run: Mapping[str, Mapping[str, float]], labels: Mapping[str, Mapping[str, float]], measures: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Many lists at once, to the figures of trec_eval: query → measure → value.

    `run`: query → document → score, a number; `labels`: query → document → grade, relevant above 0; `measures`: names
    as `ndcg@10`. The order is trec_eval's: by score, in single precision; of equal scores, the last id first. A query
    without a list, or without a relevant document, is left out, as trec_eval does. Raises UnknownName and UsageError.
    """
    return _batch.scored_lists(run, labels, measures, PLUGINS)
