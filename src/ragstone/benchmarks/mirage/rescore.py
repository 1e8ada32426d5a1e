"""`ragstone score mirage`: the official files of predictions and of retrieval, scored to the count."""

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
    three, and are None without. Raises UsageError or DataError."""
    given = [setting for setting in SETTINGS if setting in predictions]
    if not given:
        raise UsageError("No predictions: name at least one file with --base, --oracle or --mixed.")
    questions = read_questions(dataset)
    ids = [question.query_id for question in questions]
    answers = [question.answer for question in questions]
    said = {setting: read_predictions(predictions[setting], ids) for setting in given}
    counts = None
    if len(given) == len(SETTINGS):
        labels = [[em_loose(one, two) for one, two in zip(said[setting], answers, strict=True)] for setting in SETTINGS]
        counts = groups(*labels)
    return {
        "llm": {setting: answer_scores(said[setting], answers) for setting in given},
        "adaptability": None if counts is None else adaptability(counts),
        "groups": counts,
        "n": len(questions),
    }


def rescore_retrieval(
    pool: Path, retrieval: Path, *, tell: Callable[[str], object] | None = None
) -> dict[str, dict[str, float]]:
    """k (as text) → the retriever's scores at k, over the queries that have a list; `tell` is told where these are not
    all. Raises DataError."""
    labels = read_labels(pool)
    found = read_retrieval(retrieval, labels)
    if tell is not None and len(found) < len(labels):
        tell(f"{retrieval} has lists for {len(found):,} of the pool's {len(labels):,} queries; "
             "the scores are over those.")  # fmt: skip
    return {str(k): retrieval_scores(found, labels, k) for k in KS}
