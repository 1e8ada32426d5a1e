"""The exact official scores of MIRAGE (answers, adaptability, retrieval), and `ragstone score mirage`.

Answers. `em_loose`: an alias, lower-cased, is a substring of the lower-cased prediction; `em_strict`: it equals it;
`f1` is over the sets of lower-cased tokens (separated by whitespace) of the prediction and of all aliases together, so
that a perfect first alias of a question with several aliases scores less than 1.

Adaptability over the `em_loose` labels (b, o, m) of base, oracle and mixed: noise vulnerability o∧¬m, context
acceptability o∧m, context insensitivity ¬b∧¬o, context misinterpretation b∧¬o, shares of the questions that sum to 1;
the total −NV + CA − CI − CM is therefore 2·CA − 1.

Retrieval at k. A chunk is relevant if it is mapped to the query and supports it. Precision divides by k even if fewer
were returned, recall by the supporting chunks of the query; F1 is computed per query and averaged. `ndcg` is the
official one, whose ideal is the retrieved list itself, sorted and then cut at k, so that a retriever that finds one
chunk of three and ranks it first scores 1; `ndcg_textbook` takes its ideal from the labels."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ragstone.datasets.mirage import read_labels, read_predictions, read_questions, read_retrieval
from ragstone.errors import UsageError
from ragstone.metrics.mirage_official import em_loose, em_strict, token_set_f1

KS = (1, 3, 5)
GROUPS = tuple(f"{b}{o}{m}" for b in (0, 1) for o in (0, 1) for m in (0, 1))
"""The eight groups of labels, in the order base, oracle, mixed."""


def answer_scores(predictions: Sequence[str], answers: Sequence[Sequence[str]]) -> dict[str, float]:
    """`em_loose`, `em_strict` and `f1`, means over the questions, in [0, 1]."""
    n = len(answers)
    pairs = list(zip(predictions, answers, strict=True))
    return {
        "em_loose": sum(em_loose(*pair) for pair in pairs) / n,
        "em_strict": sum(em_strict(*pair) for pair in pairs) / n,
        "f1": math.fsum(token_set_f1(*pair) for pair in pairs) / n,
    }


def groups(base: Sequence[bool], oracle: Sequence[bool], mixed: Sequence[bool]) -> dict[str, int]:
    """The number of questions with each combination of labels (see `GROUPS`)."""
    counts = Counter(f"{b:d}{o:d}{m:d}" for b, o, m in zip(base, oracle, mixed, strict=True))
    return {name: counts[name] for name in GROUPS}


def adaptability(counts: Mapping[str, int]) -> dict[str, float]:
    """The four shares and the total, from the counts of `groups`."""
    n = sum(counts.values())

    def share(*names: str) -> float:
        return sum(counts[name] for name in names) / n

    vulnerable, accepted = share("010", "110"), share("011", "111")
    insensitive, misread = share("000", "001"), share("100", "101")
    return {
        "noise_vulnerability": vulnerable,
        "context_acceptability": accepted,
        "context_insensitivity": insensitive,
        "context_misinterpretation": misread,
        "total": accepted - vulnerable - insensitive - misread,
    }


@cache
def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def _gain(relevant: Sequence[bool]) -> float:
    return math.fsum(_discount(rank) for rank, is_relevant in enumerate(relevant, start=1) if is_relevant)


@cache
def _ideal(relevant: int) -> float:
    return math.fsum(_discount(rank) for rank in range(1, relevant + 1))


def retrieval_scores(found: Mapping[str, Sequence[bool]], labels: Mapping[str, int], k: int) -> dict[str, float]:
    """Means over the queries of `found` (query → whether each retrieved chunk is relevant, best first). `labels`: query
    → the number of supporting chunks, at least 1 for each query of `found`."""
    sums: dict[str, list[float]] = {name: [] for name in ("f1", "ndcg", "ndcg_textbook", "precision", "recall")}
    for query, retrieved in found.items():
        top = retrieved[:k]
        hits, supported = sum(top), labels[query]
        precision, recall = hits / k, hits / supported
        gain = _gain(top) if hits else 0.0
        reachable = _ideal(min(k, sum(retrieved)))
        sums["precision"].append(precision)
        sums["recall"].append(recall)
        sums["f1"].append(2 * precision * recall / (precision + recall) if hits else 0.0)
        sums["ndcg"].append(gain / reachable if reachable else 0.0)
        sums["ndcg_textbook"].append(gain / _ideal(min(k, supported)))
    return {name: math.fsum(values) / len(values) for name, values in sums.items()}


SETTINGS = ("base", "oracle", "mixed")


def rescore_answers(dataset: Path, predictions: Mapping[str, Path]) -> dict[str, Any]:
    """`predictions`: a file for each of base, oracle, mixed, or for some of them. Adaptability and the groups need all
    three and are None otherwise. Raises UsageError or DataError."""
    settings = [setting for setting in SETTINGS if setting in predictions]
    if not settings:
        raise UsageError("No predictions: name at least one file with --base, --oracle or --mixed.")
    questions = read_questions(dataset)
    ids = [question.query_id for question in questions]
    answers = [question.answer for question in questions]
    answers_of = {setting: read_predictions(predictions[setting], ids) for setting in settings}
    counts = None
    if len(settings) == len(SETTINGS):
        labels = [
            [em_loose(answer, aliases) for answer, aliases in zip(answers_of[setting], answers, strict=True)]
            for setting in SETTINGS
        ]
        counts = groups(*labels)
    return {
        "llm": {setting: answer_scores(answers_of[setting], answers) for setting in settings},
        "adaptability": None if counts is None else adaptability(counts),
        "groups": counts,
        "n": len(questions),
    }


def rescore_retrieval(
    pool: Path, retrieval: Path, *, warn: Callable[[str], object] | None = None
) -> dict[str, dict[str, float]]:
    """k (as text) → the retriever's scores at k, over the queries that have a list; `warn` is called if some have none.
    Raises DataError."""
    labels = read_labels(pool)
    lists = read_retrieval(retrieval, labels)
    if warn is not None and len(lists) < len(labels):
        warn(f"{retrieval} has lists for {len(lists):,} of the pool's {len(labels):,} queries; "
             "the scores are over those.")  # fmt: skip
    return {str(k): retrieval_scores(lists, labels, k) for k in KS}
