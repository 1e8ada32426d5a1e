"""Whether an answer is right, by its correctness alone, and why it is wrong.

Right and wrong come from the metrics of correctness: from those with a gate (`--fail-under answer_correctness=0.8`),
else from the first of `CORRECTNESS` that has a value, which is right from one half. Metrics of retrieval, of support or
of style say nothing about it. To a question that cannot be answered a refusal is right, and without a metric of
correctness nothing else is right or wrong.

`advise` says what to do next, by the rules of thumb of the evaluation-framework seed (optimising by Ragas metrics): low
recall indicates gaps in the knowledge base, a weak embedder or poorly worded queries; low precision, in addition, a
missing reranker; low correctness with good retrieval the prompt, the sampling, the model or its tuning. The rules for
faithfulness and answer relevancy are ragstone's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ragstone.benchmarks.recorded.aggregate import display_order
from ragstone.benchmarks.recorded.metric_scores import MetricScores
from ragstone.display import Diagnosis
from ragstone.messages import messages
from ragstone.metrics import better
from ragstone.metrics.answerable import answerable, declined
from ragstone.metrics.catalogue import in_language
from ragstone.metrics.elements import element_scores
from ragstone.stats import Estimate
from ragstone.types import Record, Score

CORRECTNESS = ("answer_correctness", "ragas.answer_correctness", "ragchecker.f1", "answer_match", "exact_match")
_LOW = 0.5
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
            reason=texts["correctness_failed"].format(
                metric=failed[0], reason=in_language(scores[failed[0]].reason, language)
            ),
        )
    if deciding and not missed:
        return Diagnosis(True, "", reason=texts["right"].format(scores=_listed(scores, deciding)))
    if possible is False and record.response is not None and record.response.answer.strip():
        return _wrong("false_acceptance", texts, texts["accepted"], 1.0)
    if refused and (possible or missed):
        return _wrong("wrong_refusal", texts, texts["refused_wrongly"], max(missed.values(), default=_LOW))
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
    return gated or ({} if first is None else {first: _LOW})


def deciding_metric(metrics: Mapping[str, MetricScores], gates: Mapping[str, float]) -> tuple[str, float] | None:
    """The metric that alone decides in `explain` which answers of a run are right, with its threshold; None if there is
    none, or if other metrics decide for some answers."""
    gated = [name for name in gates if is_of_correctness(name)]
    known = [name for name in CORRECTNESS if name in metrics]
    if len(gated) > 1 or not (name := next(iter(gated or known), "")) or name not in metrics:
        return None
    deciding = metrics[name]
    others = [np.setdiff1d(metrics[other].places, deciding.places).size for other in known]
    if not deciding.values or max(others, default=0) > deciding.failed:
        return None
    return name, gates.get(name, _LOW)


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
    return [name for name, value in values.items() if value is not None and value < _LOW]


def _listed(scores: Mapping[str, Score], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {scores[name].value:.2f}" for name in names)


BAR = 0.8
_WORST = 10
# Topic of a rule → its metrics; the first one that was scored counts.
_METRICS: Mapping[str, tuple[str, ...]] = {
    "recall": ("context_recall", "ragas.context_recall", "ragchecker.claim_recall", "recall"),
    "precision": ("context_precision", "ragas.context_precision", "ragchecker.context_precision", "context_relevance"),
    "correctness": ("answer_correctness", "ragas.answer_correctness", "ragchecker.f1", "answer_match"),
    "faithfulness": ("faithfulness", "ragas.faithfulness", "groundedness", "ragchecker.faithfulness"),
    "relevancy": ("answer_relevancy", "ragas.answer_relevancy", "answer_relevance"),
}


@dataclass(frozen=True)
class Advice:
    """One rule that applies. `rule` is its key in the messages; `worst` has the samples behind it, worst first."""

    rule: str
    metric: str
    mean: Estimate
    low: bool
    worst: tuple[tuple[str, float], ...]


def metric_for(metrics: Mapping[str, MetricScores], topic: str) -> str:
    """The metric of this topic, with or without a cut-off (`recall`, `recall@5`); "" if none was scored."""
    scored = [name for name in metrics if metrics[name].values and " " not in name]  # "recall@5 fetched": of a stage
    return next((name for known in _METRICS[topic] for name in scored if name.partition("@")[0] == known), "")


def advise(metrics: Mapping[str, MetricScores]) -> list[Advice]:
    """The rules that apply, in the order in which to act: retrieval before generation."""
    advice: list[Advice] = []
    for topic in ("recall", "precision", "correctness", "faithfulness", "relevancy"):
        name = metric_for(metrics, topic)
        if not name:
            continue
        mean = metrics[name].mean()
        if mean.value is None or mean.value >= BAR:
            continue
        rule = _of_correctness(metrics, advice) if topic == "correctness" else topic
        if topic == "recall" and name.partition("@")[0] == "recall" and not any(metrics[name].values):
            rule = "recall_none"
        low = mean.high is not None and mean.high < BAR
        advice.append(Advice(rule, name, mean, low, tuple(metrics[name].worst(_WORST, below=BAR))))
    return advice


def _of_correctness(metrics: Mapping[str, MetricScores], advice: list[Advice]) -> str:
    """Wrong answers are the model's fault only if the passages are known to contain what an answer needs."""
    if any(item.rule in ("recall", "recall_none", "precision") for item in advice):
        return "correctness_too"
    return "correctness" if metric_for(metrics, "recall") else "correctness_alone"
