"""`ragstone score mirage`: re-scores the official files of predictions and retrieval, with exactly the official
counts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ragstone.benchmarks.mirage.official import KS, adaptability, answer_scores, em_loose, groups, retrieval_scores
from ragstone.datasets.mirage import read_labels, read_predictions, read_questions, read_retrieval
from ragstone.errors import UsageError

__all__ = ["SETTINGS", "rescore_answers", "rescore_retrieval"]

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
