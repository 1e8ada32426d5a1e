"""Whether an answer is right, by its correctness alone, and why it is wrong.

Right and wrong come from the metrics of correctness: from those with a gate (`--fail-under answer_correctness=0.8`),
else from the first of `CORRECTNESS` that has a value, which is right from one half. Metrics of retrieval, of support or
of style say nothing about it. To a question that cannot be answered a refusal is right, and without a metric of
correctness nothing else is right or wrong.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from ragstone.benchmarks.recorded.aggregate import display_order
from ragstone.benchmarks.recorded.metric_scores import MetricScores
from ragstone.display import Diagnosis
from ragstone.messages import messages
from ragstone.metrics import better
from ragstone.metrics.answerable import answerable, declined
from ragstone.metrics.catalogue import in_language
from ragstone.metrics.elements import element_scores
from ragstone.types import Record, Score

CORRECTNESS = (
    "answer_correctness", "ragas.answer_correctness", "ragchecker.f1", "answer_match.judge", "answer_match",
    "exact_match",
)  # fmt: skip
LOW = 0.5
# Cause → the metrics that indicate it, in the order in which to check them.
_CAUSES = {
    "retrieval": ("context_recall", "ragas.context_recall", "ragchecker.claim_recall", "recall"),
    "unfaithful": ("faithfulness", "ragas.faithfulness", "groundedness", "ragchecker.faithfulness"),
    "evasive": ("answer_relevancy", "ragas.answer_relevancy", "answer_relevance"),
}


def explain(record: Record, *, language: str = "en", gates: Mapping[str, float] | None = None) -> Diagnosis:
    """Whether the answer of a record is right, with the cause where it is not. `gates`: the least value by metric (the
    largest, where lower is better). The further below its threshold, the higher the weight."""
    texts = messages(__name__, language)
    scores = {**record.scores, **element_scores(record.scores)}
    deciding = _deciding(scores, gates or {})
    misses = {name: _miss(name, scores[name], least) for name, least in deciding.items()}
    missed = {name: miss for name, miss in misses.items() if miss is not None and miss > 0}
    possible = answerable(record.case)
    refused = (missed or possible is not None) and declined(record.response, scores.values())  # which takes time
    if possible is False and refused:
        return Diagnosis(True, "", reason=texts["refused_rightly"])
    if failed := [name for name, miss in misses.items() if miss is None]:
        return Diagnosis(
            None,
            "",
            reason=texts["is_unsure" if scores[failed[0]].status == "unsure" else "correctness_failed"].format(
                metric=failed[0], reason=in_language(scores[failed[0]].reason, language)
            ),
        )
    if deciding and not missed:
        return Diagnosis(True, "", reason=texts["right"].format(scores=_listed(scores, deciding)))
    if possible is False and record.response is not None and record.response.answer.strip():
        return _wrong("false_acceptance", texts, texts["accepted"], 1.0)
    if refused and (possible or missed):
        return _wrong("wrong_refusal", texts, texts["refused_wrongly"], max(missed.values(), default=LOW))
    if not missed:
        return Diagnosis(None, "", reason=texts["no_correctness"].format(metrics=", ".join(CORRECTNESS)))
    cause, names = next(((cause, low) for cause in _CAUSES if (low := _low(scores, cause))), ("incorrect", []))
    listed = _listed(scores, sorted({*missed, *names}, key=display_order))
    return _wrong(cause, texts, texts["low_scores"].format(scores=listed), max(missed.values()))


def _wrong(cause: str, texts: Mapping[str, str], reason: str, weight: float) -> Diagnosis:
    return Diagnosis(False, "", cause=cause, label=texts[f"cause_{cause}"], reason=reason, weight=weight)


def _deciding(scores: Mapping[str, Score], gates: Mapping[str, float]) -> dict[str, float]:
    """The metrics that decide, and the threshold of each: the gated ones of correctness and of the user's own criteria,
    else the first of `CORRECTNESS` that applies."""
    applying = [name for name, score in scores.items() if score.status != "not_applicable"]
    gated = {name: gates[name] for name in applying if name in gates and is_of_correctness(name)}
    first = next((name for name in CORRECTNESS if name in applying), None)
    return gated or ({} if first is None else {first: LOW})


def deciding_metric(metrics: Mapping[str, MetricScores], gates: Mapping[str, float]) -> tuple[str, float] | None:
    """The metric that alone decides in `explain` which answers of a run are right, with its threshold; None if there is
    none, or if other metrics decide for some answers."""
    gated = [name for name in gates if is_of_correctness(name)]
    known = [name for name in CORRECTNESS if name in metrics]
    if len(gated) > 1 or not (name := next(iter(gated or known), "")) or name not in metrics:
        return None
    deciding = metrics[name]
    others = [np.setdiff1d(metrics[other].places, deciding.places).size for other in known]
    if not deciding.values or max(others, default=0) > deciding.failed + deciding.unsure:
        return None
    return name, gates.get(name, LOW)


def is_of_correctness(name: str) -> bool:
    """Whether a metric can decide that an answer is right."""
    return name in CORRECTNESS or name.startswith("rubric.")


def _miss(name: str, score: Score, threshold: float) -> float | None:
    """How far a score is on the wrong side of its threshold; at most 0 on the right side, None where it failed."""
    if score.value is None:
        return None
    return score.value - threshold if _direction(name, score) == "lower" else threshold - score.value


def _direction(name: str, score: Score) -> str:
    """The better direction; the evidence of a user's rubric states its own."""
    rubric = score.evidence.get("rubric") if isinstance(score.evidence, dict | Mapping) else None
    return str(rubric["better"]) if isinstance(rubric, Mapping) and "better" in rubric else better(name)


def _low(scores: Mapping[str, Score], cause: str) -> list[str]:
    """The low scores that indicate a cause."""
    values = {name: scores[name].value for name in _CAUSES[cause] if name in scores}
    return [name for name, value in values.items() if value is not None and value < LOW]


def _listed(scores: Mapping[str, Score], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {scores[name].value:.2f}" for name in names)
