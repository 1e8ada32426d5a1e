"""What to do next, by rules of thumb: which of context recall, context precision and answer correctness is low.

The rules are those of the evaluation-framework seed (its section on optimising by Ragas metrics): low recall indicates
gaps in the knowledge base, a weak embedder or poorly worded queries; low precision, in addition, a missing reranker;
low correctness with good retrieval points to the prompt, the sampling parameters, the model or its tuning. The rules
for faithfulness and answer relevancy are ragstone's. The tables label them as rules of thumb.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ragstone.benchmarks.recorded.aggregate import MetricScores
from ragstone.stats import Estimate

__all__ = ["BAR", "Advice", "advise", "metric_for"]

BAR = 0.8
_WORST = 10
# Topic of a rule → its metrics; the first one that was scored counts.
_METRICS: Mapping[str, tuple[str, ...]] = {
    "recall": ("context_recall", "ragas.context_recall", "ragchecker.claim_recall"),
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
    """The metric of this topic; "" if none was scored."""
    return next((name for name in _METRICS[topic] if name in metrics and metrics[name].values), "")


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
        low = mean.high is not None and mean.high < BAR
        advice.append(Advice(rule, name, mean, low, tuple(metrics[name].worst(_WORST, below=BAR))))
    return advice


def _of_correctness(metrics: Mapping[str, MetricScores], advice: list[Advice]) -> str:
    """Wrong answers are the model's fault only if the passages are known to contain what an answer needs."""
    if any(item.rule in ("recall", "precision") for item in advice):
        return "correctness_too"
    return "correctness" if metric_for(metrics, "recall") else "correctness_alone"
