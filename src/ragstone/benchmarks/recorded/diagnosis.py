"""Why an answer is among the worst: which of its scores are low, and what that indicates."""

from ragstone.benchmarks.recorded.aggregate import display_order, lower_is_better
from ragstone.messages import messages
from ragstone.types import Diagnosis, Record, Score

__all__ = ["explain"]

_LOW = 0.5
# Cause → the metrics that indicate it, in the order in which to check them.
_CAUSES = {
    "retrieval": ("context_recall", "ragas.context_recall", "ragchecker.claim_recall", "recall"),
    "unfaithful": ("faithfulness", "ragas.faithfulness", "groundedness", "ragchecker.faithfulness"),
    "evasive": ("answer_relevancy", "ragas.answer_relevancy", "answer_relevance"),
    "incorrect": ("answer_correctness", "ragas.answer_correctness", "ragchecker.f1", "answer_match", "exact_match"),
}


def explain(record: Record, *, language: str = "en") -> Diagnosis:
    """A record is wrong if one of its scores is below one half; the lower its scores, the higher its weight. Values are
    flipped where lower is better; values outside [0, 1] are ignored."""
    texts = messages(__name__, language)
    good = {}
    for name, score in record.scores.items():
        if score.value is not None and 0 <= score.value <= 1:
            good[name] = 1 - score.value if _is_lower_better(name, score) else score.value
    if not good:
        return Diagnosis(None, "", reason=texts["no_score"])
    low = sorted((name for name, value in good.items() if value < _LOW), key=display_order)
    weight = 1 - sum(good.values()) / len(good)
    if not low:
        return Diagnosis(True, "", reason=texts["all_good"], weight=weight)
    cause = next((cause for cause, names in _CAUSES.items() if any(name in low for name in names)), "other")
    reason = texts["low_scores"].format(scores=", ".join(f"{name} {record.scores[name].value:.2f}" for name in low))
    return Diagnosis(False, "", cause=cause, label=texts[f"cause_{cause}"], reason=reason, weight=weight)


def _is_lower_better(name: str, score: Score) -> bool:
    """The evidence of a user's rubric states its direction."""
    evidence = score.evidence if isinstance(score.evidence, dict) else {}
    rubric = evidence.get("rubric")
    if isinstance(rubric, dict) and "better" in rubric:
        return bool(rubric["better"] == "lower")
    return lower_is_better(name)
