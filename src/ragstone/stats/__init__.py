"""Intervals, paired tests and corrections: all statistics that ragstone prints.

An interval needs at least two independent units (questions, cells); with fewer there is none. Without data a p-value is
1.0. Random procedures are seeded and give the same figures everywhere. Coverages: `docs/what-the-numbers-mean.md`.
"""

from ragstone.stats.bounds import at_most, bad_interval, sample_needed
from ragstone.stats.decision import LEVEL, Decision, DecisionKind, decide, family
from ragstone.stats.estimate import Estimate
from ragstone.stats.intervals import (
    UNSEEN,
    Array,
    Groups,
    Interval,
    Values,
    all_differ,
    apart,
    bounded_interval,
    count_interval,
    decisive_interval,
    difference_interval,
    effective,
    exact_interval,
    gain_interval,
    mean_interval,
    most_trials,
    score_interval,
    score_variance,
    student_quantile,
    units_of,
    wilson,
)
from ragstone.stats.paired import cohen_kappa, holm, mcnemar_exact, paired_test, permutation_paired
from ragstone.stats.repeats import RepeatVariance, widened
from ragstone.stats.samples import Indices, Samples

__all__ = [
    "LEVEL", "UNSEEN", "Array", "Decision", "DecisionKind", "Estimate", "Groups", "Indices", "Interval",
    "RepeatVariance", "Samples", "Values", "all_differ", "apart", "at_most", "bad_interval", "bounded_interval",
    "cohen_kappa", "count_interval", "decide", "decisive_interval", "difference_interval", "effective",
    "exact_interval", "family", "gain_interval", "holm", "mcnemar_exact", "mean_interval", "most_trials",
    "paired_test", "permutation_paired", "sample_needed", "score_interval", "score_variance", "student_quantile",
    "units_of", "widened", "wilson",
]  # fmt: skip
